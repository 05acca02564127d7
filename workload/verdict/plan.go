package verdict

import (
	"math"
	"slices"
)

// power is the chance with which an effect of the planned size is to be shown.
const power = 0.8

// FewestPairs is the number of pairs from which on the paired test can give p <= 0.05:
// 2 / 2^6 = 0.031.
const FewestPairs = 6

// Spread is the noise floor of identical runs, (most - least) / median; ok is false
// for fewer than two runs or values that are not positive.
func Spread(runs []float64) (spread float64, ok bool) {
	if len(runs) < 2 || slices.ContainsFunc(runs, func(v float64) bool { return !(v > 0) }) {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(runs))
	return (sorted[len(sorted)-1] - sorted[0]) / median(sorted), true
}

// FloorRuns is how many identical runs the noise floor is taken from. The range of
// runs grows with their number: taken from all of them it would hide more, the more
// pairs are made. Simulated at a standard deviation of 2 %, a 5 % effect is then
// found by 6 pairs in 44 and by 12 in 23 of 100 experiments; with the range of the
// first six by 12 pairs in 55 (TestSimulatedFloor).
const FloorRuns = 6

// Floor is the noise floor of a machine: the spread of the first FloorRuns of
// identical runs, in the order in which they were made.
func Floor(identical []float64) (floor float64, ok bool) {
	return Spread(identical[:min(len(identical), FloorRuns)])
}

// detectable is the relative effect that n differences with a standard deviation
// show; it is never below the noise floor.
func detectable(deviation float64, n int, rule Rule) float64 {
	if math.IsNaN(deviation) || n == 0 {
		return math.NaN()
	}
	z := normalQuantile(1-rule.Alpha/2) + normalQuantile(power)
	return max(math.Expm1(z*deviation/math.Sqrt(float64(n))), rule.Floor)
}

// Plan is how many pairs an effect takes.
type Plan struct {
	Pairs int
	// Hidden is set where the effect is smaller than the noise floor: no number of
	// pairs makes it a result.
	Hidden bool
}

// PairsFor tells how many pairs a relative effect takes on a machine whose identical
// runs gave these figures; ok is false for fewer than two. The two runs of a pair
// are taken to vary independently, which is the worst case: what they share cancels.
func PairsFor(effect float64, identical []float64, rule Rule) (p Plan, ok bool) {
	d, positive := logs(identical)
	if !positive || len(d) < 2 || effect <= 0 {
		return Plan{}, false
	}
	spread, _ := Spread(identical)
	z := (normalQuantile(1-rule.Alpha/2) + normalQuantile(power)) * deviation(d) * math.Sqrt2 / math.Log1p(effect)
	// Two pairs more make up for the deviation being estimated from few runs.
	return Plan{Pairs: max(FewestPairs, int(math.Ceil(z*z))+2), Hidden: effect <= spread}, true
}

// Holm adjusts the p values of several questions asked of the same runs, so that the
// chance of any false result among them stays at alpha. The order is kept.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case p[a] < p[b]:
			return -1
		case p[a] > p[b]:
			return 1
		}
		return 0
	})
	out := make([]float64, len(p))
	highest := 0.0
	for rank, i := range order {
		highest = max(highest, min(1, p[i]*float64(len(p)-rank)))
		out[i] = highest
	}
	return out
}
