package script

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// bigExp is e to the power of x by its series, with 300 bits.
func bigExp(x *big.Float) *big.Float {
	one := func(v float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(v) }
	// halve until the series is short, square back
	n := 0
	r := new(big.Float).SetPrec(300).Set(x)
	for r.Sign() != 0 && r.MantExp(nil) > -8 {
		r.Quo(r, one(2))
		n++
	}
	sum, term := one(1), one(1)
	for i := 1.0; i < 40; i++ {
		term.Mul(term, r)
		term.Quo(term, one(i))
		sum.Add(sum, term)
	}
	for range n {
		sum.Mul(sum, sum)
	}
	return sum
}

// TestPrecise: the three functions are the double nearest to the true value, which is at hand with 300 bits.
func TestPrecise(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 3000 {
		x := r.NormFloat64() * 100
		want, _ := bigExp(new(big.Float).SetFloat64(x)).Float64()
		if got := exactExp(x); got != want {
			t.Errorf("exp(%v) = %v, want %v", x, got, want)
		}
		// the logarithm of x is right when e to the power of it is x to 100 bits
		x = math.Exp(r.NormFloat64() * 50)
		log := logarithm(x)
		sum := new(big.Float).SetPrec(300).SetFloat64(log.hi)
		sum.Add(sum, new(big.Float).SetFloat64(log.lo))
		back := bigExp(sum)
		back.Quo(back, new(big.Float).SetFloat64(x))
		back.Sub(back, big.NewFloat(1))
		if back.Sign() != 0 && back.MantExp(nil) > -90 {
			t.Errorf("ln(%v) is off by %v", x, back)
		}
		// whole powers are exact in big numbers
		base, n := 1+r.Float64()*20, 1+r.IntN(100)
		power := new(big.Float).SetPrec(300).SetFloat64(1)
		for range n {
			power.Mul(power, new(big.Float).SetFloat64(base))
		}
		want, _ = power.Float64()
		if got := exactPow(base, float64(n)); got != want {
			t.Errorf("pow(%v, %d) = %v, want %v", base, n, got, want)
		}
	}
	inf := math.Inf(1)
	for _, c := range [][3]float64{{0, 0, 1}, {2, 1024, inf}, {2, -1075, 0}, {2, -1074, 0x1p-1074}, {-2, 3, -8}, {-2, 2, 4}, {-2, 0.5, math.NaN()}, {0, -1, inf}, {inf, -1, 0}, {-1, inf, 1}, {1, inf, 1},
		{2, 1e300, inf}, {0.5, 1e300, 0}, {0x1p-1074, 0.5, 0x1p-537}, {1e308, 1, 1e308}, {4, 0.5, 2}} {
		if got := exactPow(c[0], c[1]); got != c[2] && !(math.IsNaN(got) && math.IsNaN(c[2])) {
			t.Errorf("pow(%v, %v) = %v, want %v", c[0], c[1], got, c[2])
		}
	}
	for _, c := range [][2]float64{{0, 1}, {710, inf}, {709.782712893384, 1.797693134862273e308}, {-746, 0}, {-1e300, 0}, {inf, inf}, {-inf, 0}} {
		if got := exactExp(c[0]); got != c[1] && math.Abs(got/c[1]-1) > 1e-13 {
			t.Errorf("exp(%v) = %v, want %v", c[0], got, c[1])
		}
	}
}
