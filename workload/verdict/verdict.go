package verdict

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Verdict is what the runs allow to say about a difference.
type Verdict string

// The verdicts. Better and Worse are Higher and Lower with a direction.
const (
	Higher  Verdict = "higher"
	Lower   Verdict = "lower"
	Same    Verdict = "same"         // the interval lies inside the margin
	Unclear Verdict = "unclear"      // neither a difference nor its absence is shown
	TooFew  Verdict = "too_few_runs" // no outcome of as many runs could be significant
)

// Rule says when a difference is a result.
type Rule struct {
	// Alpha is the highest p of a result, Confidence of the interval 1 - Alpha.
	Alpha float64
	// Margin is the relative difference below which arms count as the same.
	Margin float64
	// Floor is the noise floor, the relative spread of identical runs; a smaller
	// difference is no result. 0 where it is not known.
	Floor float64
}

const usualAlpha = 0.05

// Usual is the rule that is meant where nobody says otherwise: 5 %, a margin of 1 %.
func Usual(floor float64) Rule { return Rule{Alpha: usualAlpha, Margin: 0.01, Floor: floor} }

// Outcome is the answer for one metric.
type Outcome struct {
	// Ratio is candidate / base: its centre and confidence interval. It is not set by
	// PairedDifference and UnpairedDifference, which set Difference, candidate − base.
	Ratio, Difference Interval
	// P is the chance of a difference at least as large between arms that are the
	// same; SmallestP is the least that as many runs could give.
	P, SmallestP float64
	N            int // pairs, or runs of the smaller arm
	Verdict      Verdict
	// InsideFloor is set where a difference would be significant and is smaller than
	// the noise floor.
	InsideFloor bool
}

// Pair is one block: a run of each arm made one after the other.
type Pair struct{ Base, Cand float64 }

// Paired decides from blocks. Values must be positive: ratios have no other meaning;
// ok is false otherwise.
func Paired(pairs []Pair, rule Rule) (o Outcome, ok bool) {
	d, ok := logRatios(pairs)
	if !ok {
		return Outcome{}, false
	}
	o.N = len(d)
	o.P, o.SmallestP = SignFlip(d)
	shift := Shift(d, 1-rule.Alpha)
	o.ratio(shift, rule)
	return o, true
}

// logRatios are the logarithms of candidate / base; ok is false where a value is not
// positive.
func logRatios(pairs []Pair) (d []float64, ok bool) {
	d = make([]float64, len(pairs))
	for i, p := range pairs {
		if !(p.Base > 0) || !(p.Cand > 0) {
			return nil, false
		}
		d[i] = math.Log(p.Cand / p.Base)
	}
	return d, true
}

// DetectablePaired is the relative difference that 80 of 100 further experiments of as
// many pairs would find under the same rule, noise floor included; NaN where it is
// not known. The spread is that of these runs and as uncertain as they leave it. It
// takes some milliseconds: experiments are drawn for it.
func DetectablePaired(pairs []Pair, rule Rule) float64 {
	d, ok := logRatios(pairs)
	if !ok {
		return math.NaN()
	}
	return detectable(pairedDraws(deviation(d), len(d), true, rule.Alpha), rule)
}

// DetectableUnpaired is DetectablePaired for runs that have nothing to do with each
// other.
func DetectableUnpaired(base, cand []float64, rule Rule) float64 {
	b, okB := logs(base)
	c, okC := logs(cand)
	if !okB || !okC {
		return math.NaN()
	}
	return detectable(unpairedDraws(b, c, rule.Alpha), rule)
}

// Unpaired decides from two lists of runs that have nothing to do with each other.
// Values must be positive; ok is false otherwise.
func Unpaired(base, cand []float64, rule Rule) (o Outcome, ok bool) {
	b, okB := logs(base)
	c, okC := logs(cand)
	if !okB || !okC {
		return Outcome{}, false
	}
	o.N = min(len(b), len(c))
	o.P, o.SmallestP = rankTest(b, c, rule.Alpha), smallestRankP(b, c)
	o.ratio(ShiftBetween(b, c, 1-rule.Alpha), rule)
	return o, true
}

// PairedDifference decides from blocks by candidate − base, for figures that can be
// 0 or whose difference has a meaning of its own, as percentage points have. Margin
// and floor of the rule are in the figures' own unit.
func PairedDifference(pairs []Pair, rule Rule) Outcome {
	d := make([]float64, len(pairs))
	for i, p := range pairs {
		d[i] = p.Cand - p.Base
	}
	o := Outcome{N: len(d)}
	o.P, o.SmallestP = SignFlip(d)
	o.Difference = Shift(d, 1-rule.Alpha)
	o.decide(o.Difference, rule.Alpha, rule.Margin, rule.Floor)
	return o
}

// UnpairedDifference is PairedDifference for runs that have nothing to do with each
// other.
func UnpairedDifference(base, cand []float64, rule Rule) Outcome {
	o := Outcome{N: min(len(base), len(cand)), P: rankTest(base, cand, rule.Alpha), SmallestP: smallestRankP(base, cand)}
	o.Difference = ShiftBetween(base, cand, 1-rule.Alpha)
	o.decide(o.Difference, rule.Alpha, rule.Margin, rule.Floor)
	return o
}

// smallestRankP is the least p that the rank sum test can give for as many runs.
func smallestRankP(base, cand []float64) float64 {
	if len(base) == 0 || len(cand) == 0 {
		return 1
	}
	return min(1, 2/binomial(len(base)+len(cand), len(base)))
}

// Center is the median of runs with its confidence interval, which is infinite for
// fewer than six.
func Center(runs []float64) Interval {
	if len(runs) == 0 {
		return Interval{math.NaN(), math.Inf(-1), math.Inf(1)}
	}
	t := &benchmath.Thresholds{CompareAlpha: usualAlpha}
	// benchmath sorts what it is given.
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(slices.Clone(runs), t), 1-usualAlpha)
	return Interval{s.Center, s.Lo, s.Hi}
}

// rankTest is the two-sided p of the rank sum test.
func rankTest(base, cand []float64, alpha float64) float64 {
	if len(base) == 0 || len(cand) == 0 {
		return 1
	}
	t := &benchmath.Thresholds{CompareAlpha: alpha}
	// benchmath sorts what it is given.
	b := benchmath.NewSample(slices.Clone(base), t)
	c := benchmath.NewSample(slices.Clone(cand), t)
	return benchmath.AssumeNothing.Compare(b, c).P
}

// ratio takes the logarithm of the ratio with its interval.
func (o *Outcome) ratio(shift Interval, rule Rule) {
	o.Ratio = Interval{math.Exp(shift.Center), math.Exp(shift.Lo), math.Exp(shift.Hi)}
	o.decide(shift, rule.Alpha, math.Log1p(rule.Margin), math.Log1p(rule.Floor))
}

// decide draws the conclusion from p and an interval that holds 0 where the arms are
// the same.
func (o *Outcome) decide(shift Interval, alpha, margin, floor float64) {
	significant := o.P <= alpha && !shift.Contains(0)
	switch {
	case o.N == 0 || o.SmallestP > alpha:
		o.Verdict = TooFew
	case shift.Lo >= -margin && shift.Hi <= margin:
		o.Verdict = Same
	case significant && math.Abs(shift.Center) <= floor:
		o.Verdict, o.InsideFloor = Unclear, true
	case significant && shift.Center > 0:
		o.Verdict = Higher
	case significant:
		o.Verdict = Lower
	default:
		o.Verdict = Unclear
	}
}

// Inside tells of a difference whose centre is no further from none than the noise floor.
func (o Outcome) Inside(rule Rule) bool {
	if o.Ratio != (Interval{}) {
		return math.Abs(math.Log(o.Ratio.Center)) <= math.Log1p(rule.Floor)
	}
	return math.Abs(o.Difference.Center) <= rule.Floor
}

// clearFloors is how many noise floors a difference must keep from none to be clear.
const clearFloors = 3

// Clear tells of a difference that needs no adjusted p, however many metrics are asked
// at once: its whole interval lies beyond the margin and at least three noise floors
// from none. The floor must be known, from FloorRuns runs: then not 1 of 100 families of
// metrics without an effect has such a one (TestSimulatedFloor). Six pairs cannot give
// a p that would hold for two metrics, however large the difference.
func (o Outcome) Clear(rule Rule) bool {
	i, margin, floor := o.Difference, rule.Margin, rule.Floor
	if o.Ratio != (Interval{}) {
		i = Interval{Lo: math.Log(o.Ratio.Lo), Hi: math.Log(o.Ratio.Hi)}
		margin, floor = math.Log1p(margin), math.Log1p(floor)
	}
	least := max(margin, clearFloors*floor)
	return (o.Verdict == Higher || o.Verdict == Lower) && (i.Lo > least || i.Hi < -least)
}

func logs(values []float64) ([]float64, bool) {
	out := make([]float64, len(values))
	for i, v := range values {
		if !(v > 0) {
			return nil, false
		}
		out[i] = math.Log(v)
	}
	return out, true
}

// binomial is the number of ways to choose k of n.
func binomial(n, k int) float64 {
	out := 1.0
	for i := 1; i <= k; i++ {
		out *= float64(n-k+i) / float64(i)
	}
	return out
}

// deviation is the standard deviation of a sample; NaN below two values.
func deviation(d []float64) float64 {
	if len(d) < 2 {
		return math.NaN()
	}
	sum, _ := sums(d)
	mean := sum / float64(len(d))
	var ss float64
	for _, x := range d {
		ss += (x - mean) * (x - mean)
	}
	return math.Sqrt(ss / float64(len(d)-1))
}
