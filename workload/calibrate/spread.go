package calibrate

import (
	"math"
	"slices"
)

// Spread is the centre of some values and how far they reach.
type Spread struct {
	Median float64 `json:"median"`
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
}

// spreadOf is nil for no values.
func spreadOf(values []float64) *Spread {
	if len(values) == 0 {
		return nil
	}
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return &Spread{Median: (v[(n-1)/2] + v[n/2]) / 2, Least: v[0], Most: v[n-1]}
}

// rangePct is the distance of the extremes in percent of the median; nil where
// the median is 0.
func (s Spread) rangePct() *float64 {
	if s.Median == 0 {
		return nil
	}
	p := 100 * (s.Most - s.Least) / s.Median
	return &p
}

// variationPct is the coefficient of variation in percent: the standard
// deviation of the sample over its mean. It is nil for fewer than two values.
func variationPct(values []float64) *float64 {
	n := float64(len(values))
	if n < 2 {
		return nil
	}
	var sum, squares float64
	for _, v := range values {
		sum += v
	}
	mean := sum / n
	if mean == 0 {
		return nil
	}
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	p := 100 * math.Sqrt(squares/(n-1)) / mean
	return &p
}

// present collects the values that are there.
func present[T any](list []T, value func(T) *float64) []float64 {
	var out []float64
	for _, x := range list {
		if v := value(x); v != nil {
			out = append(out, *v)
		}
	}
	return out
}

// quotient is a over b; nil where one is missing or b is 0.
func quotient(a, b *float64) *float64 {
	if a == nil || b == nil || *b == 0 {
		return nil
	}
	q := *a / *b
	return &q
}
