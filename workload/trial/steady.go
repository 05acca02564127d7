package trial

import (
	"fmt"

	"pgtlb/probes"
)

// Steady sets the filling of page tables apart from what comes after it, for a
// run alone or for two.
type Steady struct {
	// Notes say for each run where the filling ended and how that was found, or
	// why it cannot be told.
	Notes []string `json:"notes"`
	// Filling and Steady are the rows of the two parts; empty where they cannot
	// be told apart in every run.
	Filling []ReportRow `json:"filling,omitempty"`
	Steady  []ReportRow `json:"steady,omitempty"`
}

// part is a run with its load window cut in two.
type part struct {
	note    string
	clear   bool
	filling *Summary // nil where there was no filling
	steady  *Summary
}

func partsOf(name string, frames []probes.Frame) part {
	from, to, ok := LoadWindow(frames)
	if !ok {
		return part{note: name + ": no load of pgtlb's ran, so there is no filling to set apart"}
	}
	if begun, warm, ok := warmedUp(frames); ok {
		p := part{clear: true, filling: summarize(frames, begun, warm), steady: summarize(frames, from, to)}
		p.note = fmt.Sprintf("%s: warmed up for %s, then measured for %s", name, Seconds(p.filling.Seconds), Seconds(p.steady.Seconds))
		return p
	}
	fill := FillEnd(frames)
	if !fill.Clear {
		return part{note: name + ": " + fill.Why}
	}
	p := part{clear: true, steady: summarize(frames, fill.At, to)}
	if fill.At == from {
		p.note = name + ": " + fill.Why
		return p
	}
	p.filling = summarize(frames, from, fill.At)
	p.note = fmt.Sprintf("%s: page tables filled during the first %s of %s; then %s",
		name, Seconds(p.filling.Seconds), Seconds(p.filling.Seconds+p.steady.Seconds), fill.Why)
	return p
}

// steadyOf compares the parts of the current run with those of the base, nil
// where there is none; of is the base as a whole.
func steadyOf(metrics []probes.Metric, of *Arm, cand, base []probes.Frame) Steady {
	c := partsOf("current", cand)
	if base == nil {
		s := Steady{Notes: []string{c.note}}
		if c.filling != nil {
			s.Filling, s.Steady = partRows(metrics, nil, c.filling, nil), partRows(metrics, nil, c.steady, nil)
		}
		return s
	}
	b := partsOf("baseline", base)
	s := Steady{Notes: []string{b.note, c.note}}
	if c.clear && b.clear && (c.filling != nil || b.filling != nil) {
		// A side that did not fill has no figures there; its whole run is steady.
		s.Filling, s.Steady = partRows(metrics, of, c.filling, b.filling), partRows(metrics, of, c.steady, b.steady)
	}
	return s
}

// partRows lists what a part of a run is told by; nil for no run at all. A side
// that did not have the part has no figures, which the notes explain.
func partRows(metrics []probes.Metric, of *Arm, cand, base *Summary) []ReportRow {
	if cand == nil && base == nil {
		return nil
	}
	var rows []ReportRow
	for _, id := range []string{probes.TPS, probes.LatencyMean, probes.LatencyP99, probes.PageFaultsMinor, probes.PageFaults} {
		m, _ := find(metrics, id)
		if row, ok := reportRow(m, base, cand, PairRow(m, baseScope(of, id), base.Get(id), cand.Get(id))); ok {
			if cand == nil || base == nil {
				row.Note = ""
			}
			rows = append(rows, row)
		}
	}
	return rows
}
