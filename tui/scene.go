package tui

import (
	"fmt"
	"time"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

// scene is what the panes of one frame look at: the frames in view, on a common
// time axis.
type scene struct {
	st   *trial.State
	last *probes.Frame // the newest that is long enough for rates; nil before the first
	cur  []probes.Frame
	base []probes.Frame // only when comparing
	// origin and baseOrigin are the times in seconds that are 0 on the axis.
	origin, baseOrigin float64
	x0, x1             float64
	from, to           string // what the ends of the time axis are called
	load               bool   // a load of ours runs, or ran in view
	ascii              bool
}

// slack is how much later than the previous frame's end an interval may begin
// and still follow it directly.
const slack = 20 * time.Millisecond

// newScene chooses what is in view. Normally that is the last n intervals, 60
// for a pane; when comparing it is everything since the load started.
func newScene(st *trial.State, n int, ascii bool) *scene {
	sc := &scene{st: st, last: st.Now(), ascii: ascii}
	interval := max(st.Interval, 100*time.Millisecond)
	span := float64(n) * interval.Seconds()
	end := 0.0
	if f := st.Last(); f != nil {
		end = f.T.Seconds()
	}
	if sc.aligned() {
		sc.align(end, span)
	} else {
		sc.origin, sc.x0, sc.x1 = end, -span, 0
		sc.from, sc.to = age(time.Duration(span*float64(time.Second)))+" ago", "now"
		sc.cur = since(st.History, time.Duration((end-span)*float64(time.Second)))
	}
	for i := range sc.cur {
		sc.load = sc.load || sc.cur[i].Get(probes.TPS).OK()
	}
	return sc
}

// aligned tells whether there is a run and a baseline to lay over each other.
func (sc *scene) aligned() bool {
	return sc.comparing() && sc.st.Run != nil
}

// shortest is the least that a comparison's time axis spans, in seconds.
const shortest = 10

func (sc *scene) align(end, span float64) {
	run, base := sc.st.Run, sc.st.Baseline
	sc.origin, sc.baseOrigin = run.Start.Seconds(), base.Start.Seconds()
	if run.From >= 0 && run.From <= len(sc.st.History) {
		sc.cur = sc.st.History[run.From:]
	}
	// What came after the run's end is not part of it.
	if !run.Active && run.Summary != nil && run.Summary.Seconds > 0 {
		end = sc.origin + run.Summary.Seconds
		last := time.Duration(end*float64(time.Second)) + slack
		for len(sc.cur) > 0 && sc.cur[len(sc.cur)-1].T > last {
			sc.cur = sc.cur[:len(sc.cur)-1]
		}
	}
	sc.base = base.Frames
	// With a run that has only begun, what the baseline did next is in view.
	length := 0.0
	if n := len(base.Frames); n > 0 {
		length = base.Frames[n-1].T.Seconds() - sc.baseOrigin
	}
	sc.x0, sc.x1 = 0, max(end-sc.origin, min(span, length), shortest)
	sc.from, sc.to = "load start", clock(time.Duration(sc.x1*float64(time.Second)))
}

// since returns the frames that end after t and one before, so that the line
// enters from the edge.
func since(frames []probes.Frame, t time.Duration) []probes.Frame {
	for i := len(frames) - 1; i >= 0; i-- {
		if frames[i].T < t {
			return frames[i:]
		}
	}
	return frames
}

// axis is the text at the ends of the time axis.
func (sc *scene) axis() string {
	return fmt.Sprintf(" %s → %s ", sc.from, sc.to)
}

// points turns a metric of frames into a series. Missing values and missing
// frames become gaps; a frame too short for a rate is passed over.
func points(frames []probes.Frame, origin float64, id, label string) []point {
	out := make([]point, 0, len(frames))
	gap := true
	var end time.Duration
	for i := range frames {
		f := &frames[i]
		if f.TooShort {
			if f.T-f.Elapsed <= end+slack {
				end = f.T
			}
			continue
		}
		v := f.Of(id, label)
		if !v.OK() {
			gap = true
			continue
		}
		late := len(out) > 0 && f.T-f.Elapsed > end+slack
		out = append(out, point{x: f.T.Seconds() - origin, y: v.V, gap: gap || late})
		gap, end = false, f.T
	}
	return out
}

// line is the current series of a metric.
func (sc *scene) line(id, label string, st style, glyph byte) line {
	return line{points: points(sc.cur, sc.origin, id, label), st: st, glyph: glyph}
}

// baseline is the dotted series of a metric; empty when not comparing.
func (sc *scene) baseline(id, label string) line {
	return line{points: points(sc.base, sc.baseOrigin, id, label), st: stBase, dotted: true, glyph: '.'}
}

// has tells whether any frame in view, or the baseline, holds the metric.
func (sc *scene) has(id string) bool {
	for i := len(sc.cur) - 1; i >= 0; i-- {
		if sc.cur[i].Get(id).OK() {
			return true
		}
	}
	return false
}

// now is the newest value of a metric.
func (sc *scene) now(id, label string) probes.Value {
	if sc.last == nil {
		return probes.Value{Missing: "no sample yet"}
	}
	return sc.last.Of(id, label)
}

// metric is the description of a metric as it was opened, else the catalogue's.
func (sc *scene) metric(id string) probes.Metric {
	for _, m := range sc.st.Metrics {
		if m.ID == id {
			return m
		}
	}
	return probes.MustLookup(id)
}

// settled is the number of frames from which on every source has been read
// twice: the server's are opened after the machine's.
const settled = 3

// why says why none of the metrics can be shown, with what would help. The
// first reason known counts.
func (sc *scene) why(ids ...string) probes.Miss {
	for _, id := range ids {
		if m, known := sc.unavailable(id); known {
			return m
		}
	}
	switch {
	case sc.last == nil:
		return probes.Miss{Reason: "waiting for the first two samples"}
	case len(sc.st.History) < settled:
		return probes.Miss{Reason: "waiting for the second sample"}
	}
	return probes.MissOf(ids[0], sc.last.Get(ids[0]).Missing)
}

// unavailable looks for the reason why a metric cannot be measured: in the
// newest frame, then in what was not there from the start.
func (sc *scene) unavailable(id string) (probes.Miss, bool) {
	if sc.last != nil {
		for _, m := range sc.last.Misses {
			if m.ID == id && m.Reason != "" {
				return m, true
			}
		}
	}
	for _, m := range sc.st.Unavailable {
		if m.ID == id && m.Reason != "" {
			return m, true
		}
	}
	return probes.Miss{}, false
}

// running returns the loads that are on.
func running(st *trial.State) []trial.LoadState {
	var on []trial.LoadState
	for _, l := range st.Loads {
		if l.Status == trial.LoadRunning || l.Status == trial.LoadStarting || l.Status == trial.LoadStopping {
			on = append(on, l)
		}
	}
	return on
}
