package trial

import (
	"cmp"
	"slices"

	"pgtlb/probes"
)

// Chart is one metric over time, from the start of the load on.
type Chart struct {
	Metric string   `json:"metric"`
	Title  string   `json:"title"`
	Unit   string   `json:"unit"`
	Series []Series `json:"series"`
}

// Series is one run's line; Base marks the baseline's.
type Series struct {
	Name   string  `json:"name"`
	Base   bool    `json:"base"`
	Points []Point `json:"points"`
}

// Point is a value X seconds after the start of the load; Y is nil where there
// is none, which breaks the line.
type Point struct {
	X float64  `json:"x"`
	Y *float64 `json:"y"`
}

// Bars are the page tables of the client backends at the end of the load, in
// kB, largest first.
type Bars struct {
	Current []uint64 `json:"current"`
	Base    []uint64 `json:"base,omitempty"`
	// Left is how many smaller ones of the current run are not among them.
	Left int `json:"left,omitempty"`
}

// clientRole is the role of the backends that serve clients.
const clientRole = "client"

// mostBars is how many backends a chart of bars has room for.
const mostBars = 40

// chartsOf draws the report's metrics; one that no run has is left out.
func chartsOf(metrics []probes.Metric, cand, base []probes.Frame) []Chart {
	var out []Chart
	ids := []string{probes.TPS, probes.LatencyP99, probes.ServerPageFaults, probes.PageTables, probes.PageTableMaxBackend}
	if _, _, load := LoadWindow(cand); !load {
		ids[0], ids[1] = probes.ServerTPS, probes.ServerLatencyMean
	}
	if _, ok := seriesOf(ids[2], cand); !ok {
		ids[2] = probes.PageFaults
	}
	for _, id := range ids {
		m, _ := find(metrics, id)
		c := Chart{Metric: id, Title: m.Title, Unit: rateUnit(m)}
		if s, ok := seriesOf(id, base); ok {
			s.Name, s.Base = "baseline", true
			c.Series = append(c.Series, s)
		}
		if s, ok := seriesOf(id, cand); ok {
			s.Name = "current"
			c.Series = append(c.Series, s)
		}
		if len(c.Series) > 0 {
			out = append(out, c)
		}
	}
	return out
}

func seriesOf(id string, frames []probes.Frame) (Series, bool) {
	var s Series
	from, to, _ := LoadWindow(frames)
	if from >= to {
		return s, false
	}
	start := frames[from].T - frames[from].Elapsed
	longest := usual(frames[from:to]) * 5 / 2
	any := false
	for i := from; i < to; i++ {
		f := &frames[i]
		if f.TooShort {
			continue
		}
		p := Point{X: (f.T - start).Seconds()}
		// A level of the last sample can be that after the clients left.
		left := grows(id) && f.Marked(probes.LoadStopped)
		if v := f.Get(id); v.OK() && !left {
			p.Y = &v.V
			any = true
		}
		if f.Elapsed > longest { // samples are missing in between
			s.Points = append(s.Points, Point{X: (f.T - start - f.Elapsed/2).Seconds()})
		}
		s.Points = append(s.Points, p)
	}
	return s, any
}

// barsOf takes the client backends' page tables from the last frame in which
// the load ran; nil where no backend's memory could be read.
func barsOf(cand, base []probes.Frame) *Bars {
	b := &Bars{Current: pageTables(cand), Base: pageTables(base)}
	if len(b.Current) == 0 && len(b.Base) == 0 {
		return nil
	}
	b.Left = max(0, len(b.Current)-mostBars)
	b.Current = b.Current[:min(len(b.Current), mostBars)]
	b.Base = b.Base[:min(len(b.Base), mostBars)]
	return b
}

func pageTables(frames []probes.Frame) []uint64 {
	from, to, _ := LoadWindow(frames)
	for i := to - 1; i >= from; i-- {
		var out []uint64
		for _, b := range frames[i].Backends {
			if b.Role == clientRole && !b.Own && b.Mem != nil {
				out = append(out, b.Mem.PageTables)
			}
		}
		if len(out) > 0 && !(i > from && frames[i].Marked(probes.LoadStopped)) {
			slices.SortFunc(out, func(a, b uint64) int { return cmp.Compare(b, a) })
			return out
		}
	}
	return nil
}
