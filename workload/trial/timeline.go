package trial

import (
	"slices"
	"time"

	"pgtlb/probes"
)

// How many frames a session keeps for its screen, 12 kB each: an hour at one
// sample per second where a run may be compared from its start on, else what the
// widest chart shows. The recording on disk is whole.
const (
	maxHistory  = 3600
	restHistory = 1200
)

// timeline keeps what a screen needs of the frames seen so far: the history,
// the run they belong to with its figures up to now, and the baseline over the
// same length. The session and a replay both feed one.
type timeline struct {
	history []probes.Frame
	// view is the copy of history that states share until the next frame; nil
	// when it has to be made anew.
	view []probes.Frame
	run  *RunState
	acc  *Accumulator
	// next is the run that begins with the next LoadStarted mark.
	next *RunState
	base *baseline
}

// add takes the next frame.
func (t *timeline) add(f probes.Frame) {
	t.view = nil
	// The backends and histograms of the newest frame that is long enough for
	// rates are shown, those of older ones never.
	for i := len(t.history) - 1; i >= 0 && !f.TooShort; i-- {
		h := &t.history[i]
		h.Backends, h.Hists = nil, nil
		if !h.TooShort {
			break
		}
	}
	// What growth needs of older frames is less, and for a shorter time.
	for i := range t.history {
		if h := &t.history[i]; f.T-h.T > probes.GrowthWindow {
			h.Clients = nil
		}
	}
	most := restHistory
	if t.run != nil {
		most = maxHistory
	}
	if len(t.history) >= most {
		t.history = slices.Delete(t.history, 0, most/10)
	}
	t.history = append(t.history, f)
	if t.run != nil && t.run.Active {
		t.acc.Add(f)
		t.run.Summary = t.acc.Summary()
		t.base.reach(f.T - t.run.Start)
		t.run.Active = !f.Marked(probes.LoadStopped)
	}
	switch {
	case f.Marked(probes.LoadStarted):
		t.begin(f)
	case f.Marked(probes.LoadWarmed) && t.run != nil:
		t.restart(f)
	}
}

// begin starts a run at the end of a frame; those after it are its own.
func (t *timeline) begin(f probes.Frame) {
	run := RunState{}
	if t.next != nil {
		run, t.next = *t.next, nil
	}
	run.Active = true
	t.run = &run
	t.restart(f)
}

// restart begins the measured part of the run at the end of a frame.
func (t *timeline) restart(f probes.Frame) {
	t.run.Start, t.run.Summary = f.T, nil
	t.acc = NewAccumulator()
	t.acc.Begin(f)
	t.base.reach(0)
}

// setBaseline lays another baseline under the run, or none.
func (t *timeline) setBaseline(b *baseline) {
	t.base = b
	if t.run == nil || b == nil {
		return
	}
	b.reach(t.runLength())
}

// runLength is how far the run got.
func (t *timeline) runLength() time.Duration {
	if t.run == nil || t.run.Summary == nil {
		return 0
	}
	return time.Duration(t.run.Summary.Seconds * float64(time.Second))
}

// fill puts everything into a state. States come far more often than frames, so
// they share one copy of the history between two frames.
func (t *timeline) fill(s *State) {
	if t.view == nil {
		t.view = slices.Clone(t.history)
	}
	s.History = t.view
	s.Run, s.Baseline = nil, nil
	if t.run != nil {
		r := *t.run
		r.From = len(s.History)
		for i := range s.History {
			if s.History[i].T > r.Start {
				r.From = i
				break
			}
		}
		s.Run = &r
	}
	if t.base != nil {
		b := t.base.state
		s.Baseline = &b
	}
}

// baseline is a recorded run laid under the current one.
type baseline struct {
	state BaselineState
	meta  Meta
	lead  *probes.Frame // ends where the load starts
	acc   *Accumulator
	used  int // frames of state.Frames that acc holds
}

// newBaseline takes the load window of a run.
func newBaseline(meta Meta, frames []probes.Frame) *baseline {
	b := &baseline{meta: meta, state: BaselineState{Metrics: meta.Metrics,
		Name: meta.Name, Label: RunLabel(meta), Taken: meta.Created, Frames: frames,
	}}
	if from, to, ok := LoadWindow(frames); ok {
		b.state.Frames = frames[from:to]
		if from > 0 {
			b.lead = &frames[from-1]
			b.state.Start = b.lead.T
		}
	}
	for i := range b.state.Frames {
		b.state.Frames[i].Backends = nil
	}
	b.reach(b.length())
	return b
}

func (b *baseline) length() time.Duration {
	if n := len(b.state.Frames); n > 0 {
		return b.state.Frames[n-1].T - b.state.Start
	}
	return 0
}

// reach sums the baseline up over the first part of this length. A shorter
// length than before starts over.
func (b *baseline) reach(length time.Duration) {
	if b == nil {
		return
	}
	limit := b.state.Start + length
	if b.acc == nil || b.used > 0 && b.state.Frames[b.used-1].T > limit+tolerance {
		b.acc, b.used = NewAccumulator(), 0
		if b.lead != nil {
			b.acc.Begin(*b.lead)
		}
	}
	for b.used < len(b.state.Frames) && b.state.Frames[b.used].T <= limit+tolerance {
		b.acc.Add(b.state.Frames[b.used])
		b.used++
	}
	b.state.Summary = b.acc.Summary()
	b.state.Ended = length > b.length()+tolerance
}

// tolerance is how far two runs' ticks may be apart and still count as the same
// moment after the start of load.
const tolerance = 500 * time.Millisecond
