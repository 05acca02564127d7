package trial

import (
	"pgtlb/probes"
	"pgtlb/workload/verdict"
)

// PairRow is the row of a Comparison for one run a side, of whole runs or of equally
// long parts of them: what the live screen and the report of two runs print of a
// metric. m is as the candidate had it opened, baseScope what the base's figure covers,
// empty where that is not known. A single pair has no known spread, so that its verdict is that
// of too few runs. It is pure and takes some microseconds.
func PairRow(m probes.Metric, baseScope string, base, cand Figure) Row {
	r, _ := question{metric: m, base: []Figure{base}, cand: []Figure{cand}, asked: 1, rule: verdict.Usual(0)}.answer()
	r.sameScope(probes.Metric{Scope: baseScope}.Covers(), m.Covers())
	return r
}

// scopeOf is what a run's figure of a metric covers; empty where the run does not tell.
func scopeOf(meta Meta, id string) string {
	m, _ := find(meta.Metrics, id)
	return m.Scope
}

// Direction tells whether the candidate's figure lies on the better side of the
// base's (+1), on the worse (−1), or on neither: the metric has no better side, the
// two are equal, do not cover the same thing, or one is missing. It is a direction and
// no verdict.
func (r Row) Direction() int {
	if r.Base.Center == nil || r.Cand.Center == nil || r.unlike {
		return 0
	}
	return side(r.Better, *r.Base.Center, *r.Cand.Center)
}

// ofPair is the row of a metric where the base and the first candidate have one run
// each.
func (c *Comparison) ofPair(metric string) (Row, bool) {
	if c == nil || c.Arms[0].Runs != 1 || c.Arms[1].Runs != 1 {
		return Row{}, false
	}
	for _, r := range c.Rows {
		if r.Metric == metric && r.CandName == c.Arms[1].Name {
			return r, true
		}
	}
	return Row{}, false
}
