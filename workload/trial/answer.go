package trial

import (
	"fmt"
	"math"
	"slices"

	"pgtlb/probes"
	"pgtlb/workload/verdict"
)

// question is one metric of two arms.
type question struct {
	metric     probes.Metric
	base, cand []Figure // one per run
	pairs      [][2]int // nil where the runs are not paired
	identical  []float64
	// asked is how many questions of this kind are judged together: the candidates
	// for the primary metric, else 1.
	asked int
	rule  verdict.Rule // its floor is filled in here
}

// answer is the row; ok is false where no run has a figure.
func (q question) answer() (r Row, ok bool) {
	m := q.metric
	r = Row{Metric: m.ID, Title: m.Title, Unit: rateUnit(m), Better: m.Better, Scope: m.Covers(), Verdict: NotApplicable, Difference: "n/a"}
	base, cand := known(q.base), known(q.cand)
	if len(base) == 0 && len(cand) == 0 {
		r.Note = q.cand[0].Missing
		return r, false
	}
	r.Base, r.Cand = estimate(base), estimate(cand)
	r.N = min(len(q.base), len(q.cand))
	switch {
	case len(base) == 0:
		r.Note = "baseline: " + q.base[0].Missing
		return r, true
	case len(cand) == 0:
		r.Note = q.cand[0].Missing
		return r, true
	}
	q.decide(&r, base, cand)
	if n := len(q.base) + len(q.cand); q.pairs == nil && len(base)+len(cand) < n {
		r.note(fmt.Sprintf("measured in %d of %d runs of the base and %d of %d of the other", len(base), len(q.base), len(cand), len(q.cand)))
	}
	r.note(scaledText(min(leastRun(q.base), leastRun(q.cand))))
	return r, true
}

// scaledText says that a perf counter did not run all the time; empty where it nearly
// did.
func scaledText(pct float64) string {
	if pct >= leastRunning {
		return ""
	}
	return fmt.Sprintf("counted only %.0f %% of the time and scaled up", pct)
}

func estimate(runs []float64) Estimate {
	if len(runs) == 0 {
		return Estimate{}
	}
	c := verdict.Center(runs)
	return Estimate{finite(c.Center), finite(c.Lo), finite(c.Hi)}
}

// finite is nil for what is no number.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func leastRun(figures []Figure) float64 {
	least := 100.0
	for _, f := range figures {
		if f.OK() {
			least = min(least, running(f))
		}
	}
	return least
}

// decide compares runs that both arms have.
func (q question) decide(r *Row, base, cand []float64) {
	both := q.both()
	if q.pairs != nil && len(both) < len(q.pairs) {
		r.note(fmt.Sprintf("measured in %d of %d pairs", len(both), len(q.pairs)))
	}
	zeros := slices.ContainsFunc(slices.Concat(base, cand), func(v float64) bool { return !(v > 0) })
	ratio := !zeros && !q.metric.Percent()
	middle := verdict.Center(base).Center
	rule := q.rule
	floor, relative, known := verdict.Floor(q.identical)
	if known {
		r.NoiseFloorPct = finite(100 * relative)
	}
	var o verdict.Outcome
	if ratio {
		if r.NoiseFloorPct != nil {
			rule.Floor = relative
		}
		var seen float64
		shared := rule // the first step of Holm's method, which is its strictest
		shared.Alpha /= float64(q.asked)
		if q.pairs != nil {
			o, _ = verdict.Paired(both, rule)
			seen = verdict.DetectablePaired(both, shared)
		} else {
			o, _ = verdict.Unpaired(base, cand, rule)
			seen = verdict.DetectableUnpaired(base, cand, shared)
		}
		r.DiffPct, r.DiffLoPct, r.DiffHiPct = asPct(o.Ratio.Center), asPct(o.Ratio.Lo), asPct(o.Ratio.Hi)
		if !o.Ratio.Finite() {
			r.DiffLoPct, r.DiffHiPct = nil, nil
		}
		if !math.IsNaN(seen) {
			r.DetectablePct = finite(100 * seen)
		}
	} else {
		rule.Margin, rule.Floor = rule.Margin*math.Abs(middle), floor
		if q.pairs != nil {
			o = verdict.PairedDifference(both, rule)
		} else {
			o = verdict.UnpairedDifference(base, cand, rule)
		}
		q.points(r, o, middle)
	}
	r.N, r.SmallestP = o.N, &o.SmallestP
	if o.N > 1 {
		r.P = &o.P
	}
	q.words(r, o, middle, ratio)
	q.verdict(r, o)
	r.InsideNoiseFloor = known && o.Inside(rule)
	r.clear = len(q.identical) >= verdict.FloorRuns && o.Clear(rule)
	if zeros && o.N > 1 && !q.metric.Percent() {
		r.note("some runs have 0, which has no ratio: decided by the differences")
	}
}

// both are the pairs whose runs both have the figure.
func (q question) both() []verdict.Pair {
	var out []verdict.Pair
	for _, p := range q.pairs {
		if b, c := q.base[p[0]], q.cand[p[1]]; b.OK() && c.OK() {
			out = append(out, verdict.Pair{Base: b.Value, Cand: c.Value})
		}
	}
	return out
}

// asPct is a ratio as a difference in percent.
func asPct(ratio float64) *float64 { return finite(100 * (ratio - 1)) }

// points fills in a difference that is no ratio.
func (q question) points(r *Row, o verdict.Outcome, middle float64) {
	if middle > 0 {
		r.DiffPct = finite(100 * o.Difference.Center / middle)
	}
	if q.metric.Percent() {
		r.DiffPP = finite(o.Difference.Center)
		if o.Difference.Finite() {
			r.DiffLoPP, r.DiffHiPP = finite(o.Difference.Lo), finite(o.Difference.Hi)
		}
	}
}

// words write the difference and its interval. The centre is laid on the base's
// median, so that factors and percent read as those of two figures do; where there is no
// ratio the difference is written as the amount that it is.
func (q question) words(r *Row, o verdict.Outcome, middle float64, ratio bool) {
	single := len(q.base) == 1 && len(q.cand) == 1
	if !ratio && !single && !q.metric.Percent() {
		r.Difference = amount(q.metric, o.Difference.Center, o.Difference)
		if o.Difference.Finite() {
			r.Interval = amount(q.metric, o.Difference.Lo, o.Difference) + " … " + amount(q.metric, o.Difference.Hi, o.Difference)
		}
		return
	}
	i, on := o.Difference, func(v float64) float64 { return middle + v }
	if ratio {
		i, on = o.Ratio, func(v float64) float64 { return middle * v }
	}
	center := on(i.Center)
	if single {
		center = q.cand[0].Value // itself, not by way of logarithms
	}
	_, r.Difference = differenceText(q.metric, middle, center)
	// An end below 0, which no metric has, is not written as a share of the base.
	if i.Finite() && middle > 0 && on(i.Lo) >= 0 {
		lo, _ := differenceText(q.metric, middle, on(i.Lo))
		hi, _ := differenceText(q.metric, middle, on(i.Hi))
		r.Interval = lo + " … " + hi
	}
}

// amount writes a difference in the metric's own unit: "−109/s", "+264 MB". What is
// nothing beside the interval that it belongs to comes of rounding.
func amount(m probes.Metric, v float64, in verdict.Interval) string {
	const nothing = 1e-4
	switch {
	case math.Abs(v) <= nothing*max(math.Abs(in.Lo), math.Abs(in.Hi)) && in.Finite():
		return "equal"
	case v > 0:
		return "+" + Level(m, v)
	case v < 0:
		return probes.Minus + Level(m, -v)
	}
	return "equal"
}

// verdict draws the conclusion and says in the note what a reader must know.
func (q question) verdict(r *Row, o verdict.Outcome) {
	better, worse := Better, Worse
	if q.metric.Better == probes.Down {
		better, worse = Worse, Better
	}
	switch o.Verdict {
	case verdict.TooFew:
		r.Verdict = TooFewRuns
		if o.N > 1 {
			r.note(fmt.Sprintf("%s cannot give a p below %s", runsText(o.N, q.pairs != nil), PText(o.SmallestP)))
		}
	case verdict.Same:
		r.Verdict = Same
	case verdict.Higher:
		r.Verdict = better
	case verdict.Lower:
		r.Verdict = worse
	case verdict.Unclear:
		r.Verdict = Unclear
		r.heldBack = o.InsideFloor
		if o.InsideFloor {
			r.note(fmt.Sprintf("%s was seen (p %s), inside the noise floor of %s: not a result", brief(r.Difference), PText(o.P), q.floorText(r)))
		}
	}
	if q.metric.Better == probes.Neither && r.Verdict != TooFewRuns {
		if r.Verdict == Better || r.Verdict == Worse {
			r.note("differs; neither side is the better one")
		}
		r.Verdict = NotApplicable
	}
}

// runsText says how many runs an answer rests on.
func runsText(n int, paired bool) string {
	if paired {
		return probes.Plural(n, "pair")
	}
	return probes.Plural(n, "run") + " per arm"
}

func (q question) floorText(r *Row) string {
	floor, _, ok := verdict.Floor(q.identical)
	if ok && q.metric.Percent() {
		return probes.Number(floor) + " percentage points"
	}
	if r.NoiseFloorPct != nil {
		return probes.Number(*r.NoiseFloorPct) + " %"
	}
	return Level(q.metric, floor)
}

// PText writes a p value: never 0, and no more digits than it has.
func PText(p float64) string {
	switch {
	case p < 0.001:
		return "< 0.001"
	case p < 0.1:
		return fmt.Sprintf("%.3f", p)
	}
	return fmt.Sprintf("%.2f", p)
}
