package verdict

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// power is the chance with which a stated effect is to be shown.
const power = 0.8

// drawn is how many experiments are drawn for a statement on power: the share that
// finds an effect is then known within 2 percentage points.
const drawn = 400

// exactPower is the number of pairs up to which the test itself is followed; above
// it the sign-flip test is as good as Student's, which has a formula.
const exactPower = 8

// ranksWider is by how much the two conditions on a result, the p and the interval
// of ranks, ask for more than Student's interval alone (TestSimulatedDetectable).
const ranksWider = 1.04

// draw is an experiment in which only the noise is there, in logarithms. Adding an
// effect moves the differences by as much, so that one draw tells for every effect
// whether it would be found.
type draw struct {
	test   float64 // the least effect whose p and interval are those of a result
	center float64 // of the differences without an effect
	hi     float64 // upper end of their interval
}

// found is the least effect that is found: it passes the test, its estimate lies
// above the noise floor, and the interval does not lie inside the margin.
func (d draw) found(rule Rule) float64 {
	need := d.test
	if rule.Floor > 0 {
		need = max(need, math.Log1p(rule.Floor)-d.center)
	}
	return max(need, math.Log1p(rule.Margin)-d.hi)
}

// detectable is the relative effect that the share power of the experiments finds;
// NaN where no outcome of as many runs could be a result.
func detectable(draws []draw, rule Rule) float64 {
	if len(draws) == 0 {
		return math.NaN()
	}
	need := make([]float64, len(draws))
	for i, d := range draws {
		need[i] = d.found(rule)
	}
	slices.Sort(need)
	return math.Expm1(need[int(math.Ceil(power*float64(len(need))))-1])
}

// noise draws normal variables, always the same ones. Where a standard deviation is
// an estimate, each draw takes one that may have given it.
type noise struct {
	*rand.Rand
	estimated bool
}

func newNoise(n int, estimated bool) noise {
	return noise{rand.New(rand.NewPCG(uint64(n), 80)), estimated}
}

// deviation is a standard deviation that may stand behind one seen in n values.
func (r noise) deviation(seen float64, n int) float64 {
	if !r.estimated {
		return seen
	}
	return seen / r.spread(n)
}

// spread is the standard deviation of n standard normal values.
func (r noise) spread(n int) float64 {
	sum := 0.0
	for range n - 1 {
		z := r.NormFloat64()
		sum += z * z
	}
	return math.Sqrt(sum / float64(n-1))
}

// pairedDraws are experiments of n pairs whose differences have a standard
// deviation; nil where so few pairs can give no result.
func pairedDraws(deviation float64, n int, estimated bool, alpha float64) []draw {
	most := int(math.Floor(alpha / 2 * math.Ldexp(1, min(n, exactFlips)))) // assignments that may be as far from 0, on one side
	limit := rankLimit(alpha/2, signedRanks(n), float64(n*(n+1))/4, float64(n*(n+1)*(2*n+1))/24)
	if most < 1 || limit < 1 || math.IsNaN(deviation) {
		return nil
	}
	r := newNoise(n, estimated)
	out := make([]draw, drawn)
	student := studentQuantile(1-alpha/2, n-1)
	d := make([]float64, n)
	for i := range out {
		sd := r.deviation(deviation, n)
		if n > exactPower {
			middle := sd * r.NormFloat64() / math.Sqrt(float64(n))
			half := ranksWider * sd * student * r.spread(n) / math.Sqrt(float64(n))
			out[i] = draw{half - middle, middle, middle + half}
			continue
		}
		for k := range d {
			d[k] = sd * r.NormFloat64()
		}
		shift := middle(walsh(d), limit)
		out[i] = draw{max(flipThreshold(d, most), -shift.Lo), shift.Center, shift.Hi}
	}
	return out
}

// flipThreshold is the effect above which the sign-flip test counts at most `most`
// assignments on either side. Turning the signs of a set of differences keeps the
// sum as high as it is while the mean of the set, effect included, is not positive.
func flipThreshold(d []float64, most int) float64 {
	sums := make([]float64, 1<<len(d))
	lows := make([]float64, 0, most+1) // the least means; the assignment that was seen is always counted
	for set := 1; set < len(sums); set++ {
		rest := set & (set - 1)
		sums[set] = sums[rest] + d[bits.TrailingZeros(uint(set))]
		mean := sums[set] / float64(bits.OnesCount(uint(set)))
		if len(lows) < most || mean < lows[most-1] {
			at, _ := slices.BinarySearch(lows, mean)
			lows = slices.Insert(lows, at, mean)[:min(len(lows)+1, most)]
		}
	}
	return -lows[most-1]
}

// unpairedDraws are experiments with two lists of runs.
func unpairedDraws(b, c []float64, alpha float64) []draw {
	m, n := len(b), len(c)
	if m < 2 || n < 2 || rankLimit(alpha/2, rankSums(m, n), float64(m*n)/2, float64(m*n*(m+n+1))/12) < 1 {
		return nil
	}
	r := newNoise(m*n, true)
	out := make([]draw, drawn)
	of := func(runs []float64) (mean, square float64) {
		sd := r.deviation(deviation(runs), len(runs)) / math.Sqrt(float64(len(runs)))
		return sd * r.NormFloat64(), math.Pow(sd*r.spread(len(runs)), 2)
	}
	student := studentQuantile(1-alpha/2, m+n-2)
	for i := range out {
		mb, sb := of(b)
		mc, sc := of(c)
		middle, half := mc-mb, student*math.Sqrt(sb+sc)
		out[i] = draw{half - middle, middle, middle + half}
	}
	return out
}

// studentQuantile is the value below which Student's t is with probability p: the
// expansion of Fisher and Cornish about the normal quantile, for 5 and more degrees
// of freedom good to 1 %.
func studentQuantile(p float64, freedom int) float64 {
	z, v := normalQuantile(p), float64(freedom)
	z3 := z * z * z
	z5 := z3 * z * z
	return z + (z3+z)/(4*v) + (5*z5+16*z3+3*z)/(96*v*v) + (3*z5*z*z+19*z5+17*z3-15*z)/(384*v*v*v)
}

// chiQuantile is the value below which a chi-square variable is with probability p.
func chiQuantile(p float64, freedom int) float64 {
	lo, hi := 0.0, float64(freedom)*20+40
	for range 100 {
		mid := (lo + hi) / 2
		if chiShare(mid, freedom) < p {
			lo = mid
		} else {
			hi = mid
		}
	}
	return (lo + hi) / 2
}

// chiShare is the chance that a chi-square variable is below x: the series of the
// incomplete gamma function.
func chiShare(x float64, freedom int) float64 {
	a, h := float64(freedom)/2, x/2
	if h <= 0 {
		return 0
	}
	gamma, _ := math.Lgamma(a + 1)
	term := math.Exp(a*math.Log(h) - h - gamma)
	sum := 0.0
	for k := 1; term > 1e-12*sum || float64(k) < h; k++ {
		sum += term
		term *= h / (a + float64(k))
	}
	return min(1, sum)
}
