package verdict

import (
	"math"
	"slices"
)

// Interval is a centre with a confidence interval. Lo and Hi are infinite where the
// runs are too few for the confidence that was asked for.
type Interval struct {
	Center, Lo, Hi float64
}

// Finite tells whether the interval has both ends.
func (i Interval) Finite() bool { return !math.IsInf(i.Lo, 0) && !math.IsInf(i.Hi, 0) }

// Contains tells whether a value lies in the interval.
func (i Interval) Contains(v float64) bool { return i.Lo <= v && v <= i.Hi }

// exactRanks is the number of values up to which the distributions of rank
// statistics are computed exactly; above it the normal approximation is as good.
const exactRanks = 100

// Shift is the Hodges-Lehmann estimate of the centre of paired differences, the
// median of the means of all pairs of them with themselves, with the interval that
// belongs to Wilcoxon's signed rank test. confidence is 0.95 for 95 %; the interval
// holds at least that, because ranks allow only steps. From 6 differences on a 95 %
// interval is finite.
func Shift(d []float64, confidence float64) Interval {
	n := len(d)
	if n == 0 {
		return Interval{math.NaN(), math.Inf(-1), math.Inf(1)}
	}
	return middle(walsh(d), rankLimit((1-confidence)/2, signedRanks(n), float64(n*(n+1))/4, float64(n*(n+1)*(2*n+1))/24))
}

// walsh are the means of all pairs of values, each with itself too.
func walsh(d []float64) []float64 {
	out := make([]float64, 0, len(d)*(len(d)+1)/2)
	for i := range d {
		for _, other := range d[i:] {
			out = append(out, (d[i]+other)/2)
		}
	}
	return out
}

// ShiftBetween is the Hodges-Lehmann estimate of how far cand lies above base where
// the runs are not paired, the median of all differences between them, with the
// interval that belongs to the rank sum test of Mann, Whitney and Wilcoxon.
func ShiftBetween(base, cand []float64, confidence float64) Interval {
	m, n := len(base), len(cand)
	if m == 0 || n == 0 {
		return Interval{math.NaN(), math.Inf(-1), math.Inf(1)}
	}
	d := make([]float64, 0, m*n)
	for _, b := range base {
		for _, c := range cand {
			d = append(d, c-b)
		}
	}
	return middle(d, rankLimit((1-confidence)/2, rankSums(m, n), float64(m*n)/2, float64(m*n*(m+n+1))/12))
}

// middle is the median of values and, as the interval, their limit-th from either
// end.
func middle(values []float64, limit int) Interval {
	slices.Sort(values)
	out := Interval{median(values), math.Inf(-1), math.Inf(1)}
	if limit > 0 {
		out.Lo, out.Hi = values[limit-1], values[len(values)-limit]
	}
	return out
}

// rankLimit is the largest k for which the statistic is below k with a chance of at
// most tail; 0 where there is none. counts holds how often each value of the
// statistic occurs; without it mean and variance stand for it.
func rankLimit(tail float64, counts []float64, mean, variance float64) int {
	if counts == nil {
		return max(0, int(math.Floor(mean+normalQuantile(tail)*math.Sqrt(variance))))
	}
	total := 0.0
	for _, c := range counts {
		total += c
	}
	below := 0.0
	for k, c := range counts {
		below += c
		if below > tail*total*(1+1e-12) {
			return k
		}
	}
	return 0
}

// signedRanks counts for how many of the 2^n assignments of signs the positive ranks
// sum to each value; nil above exactRanks.
func signedRanks(n int) []float64 {
	if n > exactRanks {
		return nil
	}
	counts := make([]float64, n*(n+1)/2+1)
	counts[0] = 1
	for r := 1; r <= n; r++ {
		for v := r * (r + 1) / 2; v >= r; v-- {
			counts[v] += counts[v-r]
		}
	}
	return counts
}

// exactSums is exactRanks for each of two lists: there are more ways to choose.
const exactSums = 50

// rankSums counts for how many of the ways to choose m of m+n ranks the statistic of
// Mann and Whitney has each value; nil where there are too many.
func rankSums(m, n int) []float64 {
	if m > exactSums || n > exactSums {
		return nil
	}
	// ways[j][u] counts the choices of j among the ranks seen so far: the j-th one
	// chosen adds the number of ranks below it that were passed over.
	ways := make([][]float64, m+1)
	for j := range ways {
		ways[j] = make([]float64, m*n+1)
	}
	ways[0][0] = 1
	for rank := range m + n {
		for j := min(rank, m-1); j >= max(0, rank-n); j-- {
			for u := 0; u+rank-j <= m*n; u++ {
				ways[j+1][u+rank-j] += ways[j][u]
			}
		}
	}
	return ways[m]
}

// median of sorted values. probes.Median is the same of unsorted ones: this room imports
// no other, and what it draws is sorted already.
func median(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// normalQuantile is the value below which a standard normal variable is with
// probability p.
func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
