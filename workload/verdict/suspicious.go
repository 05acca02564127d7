package verdict

import (
	"math"
	"slices"
)

// Drift is the relative change of identical runs from the first half of an
// experiment to the second, and the two-sided p of Kendall's test for a trend over
// the order of the runs; ok is false for fewer than four.
func Drift(runs []float64) (change, p float64, ok bool) {
	n := len(runs)
	if n < 4 || slices.ContainsFunc(runs, func(v float64) bool { return !(v > 0) }) {
		return 0, 1, false
	}
	first := slices.Sorted(slices.Values(runs[:n/2]))
	second := slices.Sorted(slices.Values(runs[n-n/2:]))
	return median(second)/median(first) - 1, kendall(runs), true
}

// kendall is the two-sided p of a trend in the order of values: how many of all
// orders have at least as many more rises than falls, or the other way round. Ties
// count as neither, which makes p larger.
func kendall(values []float64) float64 {
	n := len(values)
	score := 0
	for i := range values {
		for j := i + 1; j < n; j++ {
			switch {
			case values[j] > values[i]:
				score++
			case values[j] < values[i]:
				score--
			}
		}
	}
	pairs := n * (n - 1) / 2
	if n > exactRanks {
		sd := math.Sqrt(float64(n*(n-1)*(2*n+5)) / 18)
		return math.Erfc(math.Abs(float64(score)) / sd / math.Sqrt2)
	}
	// counts[k] is the share of the orders of i values with k falls.
	counts := []float64{1}
	for i := 2; i <= n; i++ {
		next := make([]float64, len(counts)+i-1)
		for k, c := range counts {
			for f := range i {
				next[k+f] += c / float64(i)
			}
		}
		counts = next
	}
	extreme := (pairs - abs(score)) / 2 // at most as many falls, or rises
	p := 0.0
	for k := 0; k <= extreme && k < len(counts); k++ {
		p += counts[k]
	}
	return min(1, 2*p)
}

func abs(n int) int { return max(n, -n) }

// Outliers are the indices of the runs that lie further from the median than 3.5
// times the scaled median deviation (the modified z-score of Iglewicz and Hoaglin).
// Fewer than five runs have none.
func Outliers(runs []float64) []int {
	if len(runs) < 5 {
		return nil
	}
	m := median(slices.Sorted(slices.Values(runs)))
	away := make([]float64, len(runs))
	for i, v := range runs {
		away[i] = math.Abs(v - m)
	}
	mad := median(slices.Sorted(slices.Values(away)))
	var out []int
	for i, a := range away {
		if mad > 0 && 0.6745*a/mad > 3.5 {
			out = append(out, i)
		}
	}
	return out
}

// TwoModes tells whether runs fall into two groups of at least two each whose gap is
// wider than three times the wider group; low and high are the groups' medians.
// Fewer than six runs have none: four fall so by chance in one case of ten.
func TwoModes(runs []float64) (low, high float64, two bool) {
	if len(runs) < 6 {
		return 0, 0, false
	}
	s := slices.Sorted(slices.Values(runs))
	for k := 2; k <= len(s)-2; k++ {
		gap := s[k] - s[k-1]
		wider := max(s[k-1]-s[0], s[len(s)-1]-s[k])
		if gap > 3*wider && gap > 0 {
			return median(s[:k]), median(s[k:]), true
		}
	}
	return 0, 0, false
}
