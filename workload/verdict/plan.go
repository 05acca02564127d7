package verdict

import (
	"math"
	"slices"
)

// fewestPairs is the number of pairs from which on the paired test can give p <= 0.05:
// 2 / 2^6 = 0.031.
const fewestPairs = 6

// FewestPairs is the number of pairs from which on one of several candidates can
// give an adjusted p of at most 0.05: twice as many candidates take one pair more.
func FewestPairs(candidates int) int {
	n := fewestPairs
	for p := 2 / math.Pow(2, float64(n)); p*float64(candidates) > 0.05; p /= 2 {
		n++
	}
	return n
}

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

// Floor is the noise floor of a machine, the spread of the first FloorRuns of
// identical runs in the order in which they were made: most - least in the runs' own
// unit, and relative to their median, which is NaN where that is not positive. ok is
// false for fewer than two runs.
func Floor(identical []float64) (width, relative float64, ok bool) {
	sorted := slices.Sorted(slices.Values(identical[:min(len(identical), FloorRuns)]))
	if len(sorted) < 2 {
		return 0, 0, false
	}
	width, relative = sorted[len(sorted)-1]-sorted[0], math.NaN()
	if m := median(sorted); m > 0 {
		relative = width / m
	}
	return width, relative, true
}

// Plan is how many pairs an effect takes. It rests on a standard deviation that few
// runs tell little about: of two runs the true one may be several times as large.
type Plan struct {
	// Pairs is the number if the machine varies as the runs make likely.
	Pairs int
	// Cautious is the number if it varies as much as 80 of 100 machines with such
	// runs do at most; 0 where the effect is then hidden.
	Cautious int
	// Floor is the noise floor, relative, to be expected of FloorRuns runs: their
	// range is wider than that of fewer.
	Floor float64
	// Hidden is set where the effect is smaller than Floor, or above it by so little
	// that no affordable number of pairs makes it a result.
	Hidden bool
}

// rangeOfSix is the mean range of FloorRuns normal values in standard deviations;
// that of two is 1.128 (the constants d2 of quality control).
const rangeOfSix = 2.534

// floorAt is the noise floor to be expected at a standard deviation of the logarithms:
// most - least in units of the median, with the range to both sides of it alike.
func floorAt(deviation float64) float64 { return 2 * math.Sinh(rangeOfSix*deviation/2) }

// mostPairs is how many pairs are looked at.
const mostPairs = 1000

// PairsFor tells how many pairs a relative effect takes on a machine whose identical
// runs gave these figures; ok is false for fewer than two. The two runs of a pair
// are taken to vary independently, which is the worst case: what they share cancels.
func PairsFor(effect float64, identical []float64, rule Rule) (p Plan, ok bool) {
	d, positive := logs(identical)
	if !positive || len(d) < 2 || effect <= 0 {
		return Plan{}, false
	}
	seen, freedom := deviation(d), len(d)-1
	likely := seen / unbiased(len(d))
	p.Floor = floorAt(likely)
	p.Pairs, p.Hidden = pairsAt(effect, likely, rule)
	wide := seen / math.Sqrt(chiQuantile(1-power, freedom)/float64(freedom))
	if n, hidden := pairsAt(effect, wide, rule); !hidden {
		p.Cautious = n
	}
	return p, true
}

// unbiased is by what the standard deviation of n values is too small on average.
func unbiased(n int) float64 {
	return math.Sqrt(2/float64(n-1)) * math.Gamma(float64(n)/2) / math.Gamma(float64(n-1)/2)
}

// pairsAt is the number of pairs at a standard deviation of the runs. Of a hidden
// effect it is what the test alone takes.
func pairsAt(effect, deviation float64, rule Rule) (n int, hidden bool) {
	enough := func(n int) bool {
		return detectable(pairedDraws(deviation*math.Sqrt2, n, false, rule.Alpha), rule) <= effect
	}
	rule.Floor = floorAt(deviation)
	if effect <= rule.Floor || !enough(mostPairs) {
		hidden, rule.Floor = true, 0
	}
	lo, hi := fewestPairs-1, mostPairs // enough at hi, or nothing is
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; enough(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi, hidden
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
