package verdict

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// exactFlips is the number of pairs up to which all assignments of signs are
// counted: 2^20 take some milliseconds.
const exactFlips = 20

// drawnFlips is how many assignments are drawn where there are more.
const drawnFlips = 200_000

// SignFlip is Fisher's randomisation test for paired differences: were the arms
// the same, each difference could as well have the other sign. It returns the share
// of all assignments of signs whose sum is at least as far from 0 as the one seen
// (two-sided), and the smallest p that as many differences could give. Above 20
// differences assignments are drawn, always the same ones; p is then an estimate
// that is never 0. Without differences both are 1.
func SignFlip(d []float64) (p, smallest float64) {
	if len(d) == 0 {
		return 1, 1
	}
	if len(d) > exactFlips {
		return drawFlips(d), 1.0 / (drawnFlips + 1)
	}
	sum, scale := sums(d)
	limit := math.Abs(sum) - tolerance*scale
	total := 1 << len(d)
	hits := 0
	s := sum
	negative := make([]bool, len(d))
	for i := range total {
		if i > 0 {
			// Gray code: one sign changes from each assignment to the next.
			k := bits.TrailingZeros(uint(i))
			step := 2 * d[k]
			if negative[k] {
				s += step
			} else {
				s -= step
			}
			negative[k] = !negative[k]
		}
		if math.Abs(s) >= limit {
			hits++
		}
	}
	return float64(hits) / float64(total), 2 / float64(total)
}

// tolerance is how far, relative to the sum of the sizes, sums that are equal on
// paper may be apart in floating point.
const tolerance = 1e-12

func sums(d []float64) (sum, scale float64) {
	for _, x := range d {
		sum += x
		scale += math.Abs(x)
	}
	return sum, scale
}

func drawFlips(d []float64) float64 {
	sum, scale := sums(d)
	limit := math.Abs(sum) - tolerance*scale
	rng := rand.New(rand.NewPCG(1, uint64(len(d))))
	hits := 1 // the assignment that was seen
	for range drawnFlips {
		var s float64
		var word uint64
		for i, x := range d {
			if i%64 == 0 {
				word = rng.Uint64()
			}
			if word&1 == 0 {
				x = -x
			}
			word >>= 1
			s += x
		}
		if math.Abs(s) >= limit {
			hits++
		}
	}
	return float64(hits) / (drawnFlips + 1)
}
