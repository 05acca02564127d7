package tui

import (
	"pgtlb/probes"
	"pgtlb/workload/trial"
)

// versus are the figures of a comparison: the run's mean since the load
// started, the baseline's over the same length, and the difference. It is nil
// when not comparing. With totals, counters show what they grew by.
func (sc *scene) versus(id, label string, totals bool) []fig {
	base := sc.st.Baseline
	if !sc.st.Compare || base == nil {
		return nil
	}
	m := sc.metric(id)
	b, run := base.Summary.Of(id, label), runFigure(sc.st, id, label)
	word := "run "
	if totals && m.Kind == probes.Counter {
		word = "total "
	}
	figs := []fig{
		{word + figureText(m, run, totals), stValue, 3},
		{"│ base " + figureText(m, b, totals), stBase, 2},
	}
	if b.OK() && run.OK() {
		d := difference(m, b, run)
		d.text = "│ " + d.text
		figs = append(figs, d)
	}
	return figs
}

// runFigure is a metric of the current or last run.
func runFigure(st *trial.State, id, label string) trial.Figure {
	if st.Run == nil {
		return trial.Figure{Missing: "no run yet"}
	}
	return st.Run.Summary.Of(id, label)
}

// figureText writes a run's figure.
func figureText(m probes.Metric, f trial.Figure, totals bool) string {
	if !f.OK() {
		return "n/a"
	}
	if totals && m.Kind == probes.Counter {
		return totalText(f)
	}
	return valueText(m, f.Value)
}

// totalText writes what a counter grew by; where parts of the run were not read,
// it is the least that it can be.
func totalText(f trial.Figure) string {
	if f.Uncovered > 0 {
		return "≥ " + trial.Short(f.Total)
	}
	return trial.Short(f.Total)
}

// difference says how far the run is from the baseline, green on the better
// side and red on the worse. The sign says it without colour. It is a direction,
// not a verdict: one pair of runs has no known spread.
func difference(m probes.Metric, base, run trial.Figure) fig {
	d := trial.Difference(m, base, run)
	switch {
	case d.Better > 0:
		return fig{d.Text, stGood, 0}
	case d.Better < 0:
		return fig{d.Text, stBad, 0}
	}
	return fig{d.Text, stPlain, 0}
}
