package tui

import (
	"slices"
	"time"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

// compare puts a comparison into a pane's title line: the newest value, the
// run's mean since the load started, the baseline's over the same length, and
// the difference. It returns false when not comparing.
func (sc *scene) compare(p *pane, id string, format func(float64) string, st style) bool {
	if !sc.comparing() {
		return false
	}
	m := sc.metric(id)
	row := sc.row(m, "")
	figs := sc.versusRow(m, row)
	p.figs = figs
	now := sc.now(id, "")
	if !now.OK() {
		return true // the run has ended
	}
	p.figs = append(sc.nowFig(now, format, st, "now ", 4), figs...)
	for _, word := range []string{"now ", ""} {
		p.tight = append(p.tight, append([]fig{{word + format(now.V), st, 4}}, figs...))
	}
	if row.Verdict != trial.NotApplicable {
		p.figs = append(p.figs, fig{"│ " + row.VerdictText(), stDim, 5})
	}
	return true
}

// row is what a comparison of run and baseline prints of a metric: the run so far
// against as much of the baseline.
func (sc *scene) row(m probes.Metric, label string) trial.Row {
	scope := ""
	if b := sc.st.Baseline; b != nil {
		if at := slices.IndexFunc(b.Metrics, func(o probes.Metric) bool { return o.ID == m.ID }); at >= 0 {
			scope = b.Metrics[at].Scope
		}
	}
	return trial.PairRow(m, scope, baseFigure(sc.st, m.ID, label), runFigure(sc.st, m.ID, label))
}

// comparing tells whether a baseline is laid under the run.
func (sc *scene) comparing() bool { return sc.st.Compare && sc.st.Baseline != nil }

// versus are the figures of run, baseline and difference; nil when not comparing.
func (sc *scene) versus(id string) []fig {
	if !sc.comparing() {
		return nil
	}
	m := sc.metric(id)
	return sc.versusRow(m, sc.row(m, ""))
}

// versusRow is versus of a metric whose row is there.
func (sc *scene) versusRow(m probes.Metric, row trial.Row) []fig {
	figs := []fig{
		{"run " + figureText(m, runFigure(sc.st, m.ID, "")), stValue, 3},
		{"│ base " + figureText(m, baseFigure(sc.st, m.ID, "")), stBase, 2},
	}
	if row.Verdict != trial.NotApplicable {
		d := difference(row)
		d.text = "│ " + d.text
		figs = append(figs, d)
	}
	return figs
}

// covered says how much of the baseline its figures are: as much from the start
// of its load on as the run has lasted, or all of it.
func covered(b *trial.BaselineState) string {
	if b.Summary == nil {
		return ""
	}
	seconds, whole := b.Summary.Seconds, 0.0
	if n := len(b.Frames); n > 0 {
		whole = (b.Frames[n-1].T - b.Start).Seconds()
	}
	word := "first "
	if b.Ended || seconds > whole-0.5 {
		word = "whole "
	}
	// A tick may come a little early.
	return word + clock(time.Duration((seconds+0.1)*float64(time.Second)))
}

// runFigure is a metric of the current or last run.
func runFigure(st *trial.State, id, label string) trial.Figure {
	if st.Run == nil {
		return trial.Figure{Missing: "no run yet"}
	}
	return st.Run.Summary.Of(id, label)
}

// baseFigure is a metric of the baseline.
func baseFigure(st *trial.State, id, label string) trial.Figure {
	if st.Baseline == nil {
		return trial.Figure{Missing: "no baseline"}
	}
	return st.Baseline.Summary.Of(id, label)
}

// figureText writes a run's figure.
func figureText(m probes.Metric, f trial.Figure) string {
	if !f.OK() {
		return "n/a"
	}
	return valueText(m, f.Value)
}

// totalText writes what a counter grew by; where parts of the run were not read,
// it is the least that it can be.
func totalText(f trial.Figure) string {
	if f.Uncovered > 0 {
		return "≥ " + probes.Short(f.Total)
	}
	return probes.Short(f.Total)
}

// difference says how far the run is from the baseline, green on the better side and
// red on the worse. The sign says it without colour. It is a direction, not a verdict:
// one pair of runs has no known spread.
func difference(row trial.Row) fig {
	switch row.Direction() {
	case 1:
		return fig{row.ShortDifference(), stGood, 0}
	case -1:
		return fig{row.ShortDifference(), stBad, 0}
	}
	return fig{row.ShortDifference(), stPlain, 0}
}
