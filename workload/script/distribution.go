package script

import (
	"errors"
	"fmt"
	"math"
)

// Bounds that pgbench sets for the parameters.
const (
	minGaussian = 2.0
	minZipfian  = 1.001
	maxZipfian  = 1000.0
)

// checkRange refuses ranges that are empty or whose size does not fit 64 bits signed.
func checkRange(lo, hi int64) error {
	if lo > hi {
		return errors.New("empty range given to random")
	}
	if d := uint64(hi) - uint64(lo); d >= math.MaxInt64 {
		return errors.New("random range is too large")
	}
	return nil
}

// uniform is from lo to hi inclusive.
func (r *Rand) uniform(lo, hi int64) int64 { return lo + int64(r.upTo(uint64(hi)-uint64(lo))) }

// exponential decays over the range: the density at hi is exp(-p) of that at lo.
func (r *Rand) exponential(lo, hi int64, p float64) (int64, error) {
	if !(p > 0) {
		return 0, fmt.Errorf("exponential parameter must be greater than zero (not %s)", fixed(p))
	}
	cut := math.Exp(-p)
	u := 1 - r.Float64()
	return scaled(lo, hi, -math.Log(cut+(1-cut)*u)/p), nil
}

// gaussian has its mean in the middle of the range and p standard deviations to each side.
func (r *Rand) gaussian(lo, hi int64, p float64) (int64, error) {
	if !(p >= minGaussian) {
		return 0, fmt.Errorf("gaussian parameter must be at least %s (not %s)", fixed(minGaussian), fixed(p))
	}
	for {
		if d := r.normal(); d >= -p && d < p {
			return scaled(lo, hi, (d+p)/(p*2)), nil
		}
	}
}

// scaled maps a share of 0 to below 1 onto the range. The bounds hold even for a share that rounding made 1 or that is
// no number.
func scaled(lo, hi int64, share float64) int64 {
	if !(share > 0) {
		return lo
	}
	return min(lo+int64(float64(hi-lo+1)*share), hi)
}

// zipfian gives the k-th value of the range with a weight of k^-s, by Devroye's rejection method (1986, p. 550).
func (r *Rand) zipfian(lo, hi int64, s float64) (int64, error) {
	if !(s >= minZipfian && s <= maxZipfian) {
		return 0, fmt.Errorf("zipfian parameter must be in range [1.001, 1000] (not %s)", fixed(s))
	}
	n := float64(hi - lo + 1)
	if n <= 1 {
		return lo, nil
	}
	b := math.Pow(2, s-1)
	for {
		u, v := r.Float64(), r.Float64()
		x := math.Floor(math.Pow(u, -1/(s-1)))
		t := math.Pow(1+1/x, s-1)
		if v*x*(t-1)/(b-1) <= t/b && x <= n {
			if x == n { // n may have been rounded up
				return hi, nil
			}
			return lo - 1 + int64(x), nil
		}
	}
}
