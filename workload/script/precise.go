package script

import "math"

// PostgreSQL takes exp, ln and pow from the C library, whose last bit is nearly always right. math's are not that
// exact, and 15 digits of the result show it. So here these three are computed with twice the digits and rounded once.

// twofold is a number of about 106 bits: the sum of hi and of lo, which is below half a unit in the last place of hi.
type twofold struct{ hi, lo float64 }

// sum2 and product2 are exact.
func sum2(a, b float64) twofold {
	s := a + b
	v := s - a
	return twofold{s, (a - (s - v)) + (b - v)}
}

func product2(a, b float64) twofold {
	p := a * b
	return twofold{p, math.FMA(a, b, -p)}
}

// quick is sum2 for numbers of which a is the larger.
func quick(a, b float64) twofold {
	s := a + b
	return twofold{s, b - (s - a)}
}

func (a twofold) add(b twofold) twofold {
	s := sum2(a.hi, b.hi)
	return quick(s.hi, s.lo+a.lo+b.lo)
}

func (a twofold) mul(b twofold) twofold {
	p := product2(a.hi, b.hi)
	return quick(p.hi, p.lo+(math.FMA(a.hi, b.lo, float64(a.lo*b.hi))))
}

func (a twofold) div(b twofold) twofold {
	q := a.hi / b.hi
	p := b.mul(twofold{q, 0})
	return quick(q, ((a.hi-p.hi)-p.lo+a.lo)/b.hi)
}

// inverse is 1/n.
func inverse(n float64) twofold {
	q := 1 / n
	return twofold{q, math.FMA(-q, n, 1) / n}
}

// ln2 in three parts; the first has 32 bits, so that its product with an exponent is exact.
const (
	ln2a = 0x1.62e42feep-01
	ln2b = 0x1.a39ef35793c76p-33
	ln2c = 0x1.cc01f97b57a08p-87
)

// logarithm is the natural logarithm of a positive, finite number.
func logarithm(x float64) twofold {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2
		e--
	}
	// 2 artanh(s) = 2 (s + s³/3 + s⁵/5 …), |s| < 0.172: 19 terms leave less than 2^-95
	s := sum2(m, -1).div(sum2(m, 1))
	square := s.mul(s)
	series := inverse(37)
	for n := 35.0; n >= 1; n -= 2 {
		series = series.mul(square).add(inverse(n))
	}
	k := float64(e)
	log := s.mul(series)
	log = twofold{2 * log.hi, 2 * log.lo}
	return log.add(product2(k, ln2c)).add(product2(k, ln2b)).add(twofold{k * ln2a, 0})
}

// exponential is e to the power of x.
func exponential(x twofold) float64 {
	switch {
	case x.hi > 710:
		return math.Inf(1)
	case x.hi < -746:
		return 0
	}
	k := math.Round(x.hi / math.Ln2)
	r := x.add(twofold{-k * ln2a, 0}).add(product2(-k, ln2b)).add(product2(-k, ln2c))
	const halvings = 4
	r = twofold{r.hi / (1 << halvings), r.lo / (1 << halvings)}
	series := twofold{1, 0} // |r| < 0.022: 13 terms leave less than 2^-100
	for n := 13.0; n >= 1; n-- {
		series = series.mul(r).mul(inverse(n)).add(twofold{1, 0})
	}
	for range halvings {
		series = series.mul(series)
	}
	return math.Ldexp(series.hi, int(k))
}

func exactExp(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return math.Exp(x)
	}
	return exponential(twofold{x, 0})
}

func exactLog(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 1) {
		return math.Log(x)
	}
	return logarithm(x).hi
}

func exactPow(x, y float64) float64 {
	rough := math.Pow(x, y) // exact in the special cases, and right in its sign
	if x == 0 || y == 0 || math.Abs(x) == 1 || math.IsNaN(rough) || math.IsInf(x, 0) || math.IsInf(y, 0) {
		return rough
	}
	log := logarithm(math.Abs(x))
	if math.Abs(y*log.hi) > 1000 { // beyond the range of doubles, and maybe of the product
		return rough
	}
	return math.Copysign(exponential(log.mul(twofold{y, 0})), rough)
}
