package verdict

import (
	"math"
	"slices"
	"testing"
)

// near tells whether two figures agree in as many digits as their source prints.
func near(got, want, digits float64) bool { return math.Abs(got-want) <= digits }

// Darwin's heights of cross- and self-fertilised maize, in eighths of an inch, the
// data of Fisher's first randomisation test (The Design of Experiments, 1935, §21):
// 1,726 of 32,768 assignments have a sum of 314 or more, or of -314 or less.
func TestSignFlipOfDarwinsMaize(t *testing.T) {
	d := []float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}
	p, smallest := SignFlip(d)
	if p != 1726.0/32768 || smallest != 2.0/32768 {
		t.Errorf("p %v, smallest %v", p*32768, smallest*32768)
	}
}

func TestSignFlipByHand(t *testing.T) {
	for _, c := range []struct {
		d []float64
		p float64
	}{
		{nil, 1},
		{[]float64{1}, 1},          // +1 and -1 are equally far
		{[]float64{1, 1, 1}, 0.25}, // two of eight
		{[]float64{1, 2, -3}, 1},   // a sum of 0
		{[]float64{3, 2, 1}, 0.25}, // only all alike reach 6
		{[]float64{3, 2, -1}, 0.5}, // 6, 4, -4, -6
		{[]float64{0, 0, 5}, 1},    // zeros have no sign
		{[]float64{1, 1, 1, 1, 1, 1}, 2.0 / 64},
		{[]float64{0.1, 0.2, 0.3}, 0.25}, // 0.1+0.2 is not 0.3 in floating point
		{[]float64{0.1, 0.2, -0.3}, 1},
	} {
		if p, _ := SignFlip(c.d); !near(p, c.p, 1e-12) {
			t.Errorf("%v: p %v, want %v", c.d, p, c.p)
		}
	}
}

// Where assignments are drawn, the estimate must agree with the exact p: here of 24
// equal differences, of which 20 have one sign, which is a sign test.
func TestDrawnFlipsAgreeWithTheBinomial(t *testing.T) {
	var d []float64
	for i := range 24 {
		d = append(d, 1)
		if i < 6 {
			d[i] = -1
		}
	}
	// R: binom.test(18, 24)$p.value
	p, smallest := SignFlip(d)
	if want := 0.02265584; !near(p, want, 0.0015) || smallest <= 0 {
		t.Errorf("p %v, want %v", p, want)
	}
}

// Hollander and Wolfe (1973), 29f.: depression scores of nine patients.
// R: wilcox.test(y - x, conf.int = TRUE, conf.level = 0.96) gives the pseudomedian
// -0.46 and the interval -0.786 .. -0.010.
func TestShiftOfHollanderAndWolfe(t *testing.T) {
	x := []float64{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30}
	y := []float64{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29}
	var d []float64
	for i := range x {
		d = append(d, y[i]-x[i])
	}
	got := Shift(d, 0.96)
	if !near(got.Center, -0.46, 5e-4) || !near(got.Lo, -0.786, 5e-4) || !near(got.Hi, -0.010, 5e-4) {
		t.Errorf("%+v", got)
	}
}

// Hollander and Wolfe (1973), 69f.: permeability of the human chorioamnion.
// R: wilcox.test(x, y, conf.int = TRUE) gives p 0.2544, location 0.305, interval
// -0.15 .. 0.76.
func TestShiftBetweenOfHollanderAndWolfe(t *testing.T) {
	x := []float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}
	y := []float64{1.15, 0.88, 0.90, 0.74, 1.21}
	got := ShiftBetween(y, x, 0.95)
	if !near(got.Center, 0.305, 5e-4) || !near(got.Lo, -0.15, 5e-3) || !near(got.Hi, 0.76, 5e-3) {
		t.Errorf("%+v", got)
	}
	if p := rankTest(y, x, 0.05); !near(p, 0.2544, 5e-5) {
		t.Errorf("p %v", p)
	}
}

func TestIntervalsNeedRuns(t *testing.T) {
	six := []float64{1, 2, 3, 4, 5, 6}
	if Shift(six[:5], 0.95).Finite() || !Shift(six, 0.95).Finite() {
		t.Error("a 95 % interval of paired runs begins at six")
	}
	if got := Shift(six, 0.95); got.Lo != 1 || got.Hi != 6 || got.Center != 3.5 {
		t.Errorf("%+v", got)
	}
	if ShiftBetween(six[:3], six[:3], 0.95).Finite() || !ShiftBetween(six[:4], six[:4], 0.95).Finite() {
		t.Error("a 95 % interval of unpaired runs begins at four in each arm")
	}
	if Shift(nil, 0.95).Finite() {
		t.Error("no runs have no interval")
	}
}

// The counts of the rank statistics are those of going through all assignments.
func TestRankCountsAreThoseOfAllAssignments(t *testing.T) {
	for n := 1; n <= 10; n++ {
		want := make([]float64, n*(n+1)/2+1)
		for set := range 1 << n {
			sum := 0
			for r := range n {
				if set>>r&1 == 1 {
					sum += r + 1
				}
			}
			want[sum]++
		}
		if got := signedRanks(n); !slices.Equal(got, want) {
			t.Errorf("%d: %v, want %v", n, got, want)
		}
	}
	for m := 1; m <= 5; m++ {
		for n := 1; n <= 5; n++ {
			want := make([]float64, m*n+1)
			for set := range 1 << (m + n) {
				u, chosen := 0, 0
				for i := range m + n {
					if set>>i&1 == 1 {
						u += i - chosen
						chosen++
					}
				}
				if chosen == m {
					want[u]++
				}
			}
			if got := rankSums(m, n); !slices.Equal(got, want) {
				t.Errorf("%d, %d: %v, want %v", m, n, got, want)
			}
		}
	}
	big := rankSums(exactSums, exactSums)
	total := 0.0
	for i, c := range big {
		total += c
		if c <= 0 || math.Abs(c/big[len(big)-1-i]-1) > 1e-6 {
			t.Fatalf("count %d of %d is %v, its mirror %v", i, len(big), c, big[len(big)-1-i])
		}
	}
	if want := binomial(2*exactSums, exactSums); math.Abs(total/want-1) > 1e-6 {
		t.Errorf("all %v, want %v", total, want)
	}
}

func pairsOf(base, cand []float64) []Pair {
	var out []Pair
	for i := range base {
		out = append(out, Pair{base[i], cand[i]})
	}
	return out
}

func TestVerdicts(t *testing.T) {
	base := []float64{100, 101, 99, 100.5, 99.5, 100.2, 100.1, 99.9}
	times := func(f float64, jitter ...float64) []float64 {
		var out []float64
		for i, v := range base {
			out = append(out, v*f*(1+jitter[i%len(jitter)]))
		}
		return out
	}
	floor, _ := Spread(base) // 2 %
	for _, c := range []struct {
		name        string
		cand        []float64
		n           int
		floor       float64
		want        Verdict
		insideFloor bool
	}{
		{"five percent more", times(1.05, 0.001, -0.002), 8, floor, Higher, false},
		{"five percent less", times(0.95, 0.001, -0.002), 8, floor, Lower, false},
		{"1.5 percent more, below the floor", times(1.015, 0.001, -0.002), 8, floor, Unclear, true},
		{"1.5 percent more, floor unknown", times(1.015, 0.001, -0.002), 8, 0, Higher, false},
		{"the same", times(1, 0.002, -0.002), 8, floor, Same, false},
		{"a tenth of a percent more every time", times(1.001, 0), 8, floor, Same, false},
		{"anything", times(1, 0.08, -0.05, 0.02), 8, floor, Unclear, false},
		{"five pairs", times(1.05, 0.001, -0.002), 5, floor, TooFew, false},
		{"no pair", nil, 0, floor, TooFew, false},
	} {
		o, ok := Paired(pairsOf(base[:c.n], c.cand), Usual(c.floor))
		if !ok || o.Verdict != c.want || o.InsideFloor != c.insideFloor || o.N != c.n {
			t.Errorf("%s: %+v", c.name, o)
		}
	}
	if o, ok := Unpaired(base, times(1.05, 0.001, -0.002), Usual(floor)); !ok || o.Verdict != Higher || !near(o.SmallestP, 2.0/12870, 1e-12) {
		t.Errorf("unpaired: %+v", o)
	}
	if o, ok := Unpaired(base[:3], times(1.05, 0)[:3], Usual(floor)); !ok || o.Verdict != TooFew || !near(o.SmallestP, 0.1, 1e-12) {
		t.Errorf("unpaired, three runs: %+v", o)
	}
	if _, ok := Paired([]Pair{{100, 0}}, Usual(0)); ok {
		t.Error("a ratio to 0 was decided")
	}
	if _, ok := Unpaired(base, []float64{-1}, Usual(0)); ok {
		t.Error("a ratio of a negative figure was decided")
	}
}

// The caller's runs keep their order.
func TestRunsKeepTheirOrder(t *testing.T) {
	base, cand := []float64{3, 1, 2, 5}, []float64{9, 7, 8, 6}
	b, c := slices.Clone(base), slices.Clone(cand)
	Unpaired(base, cand, Usual(0))
	Spread(base)
	Drift(base)
	Outliers(base)
	TwoModes(base)
	if !slices.Equal(base, b) || !slices.Equal(cand, c) {
		t.Errorf("%v %v", base, cand)
	}
}

func TestHolm(t *testing.T) {
	// R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")
	got := Holm([]float64{0.01, 0.04, 0.03, 0.005})
	for i, want := range []float64{0.03, 0.06, 0.06, 0.02} {
		if !near(got[i], want, 1e-12) {
			t.Errorf("%v", got)
		}
	}
	if got := Holm([]float64{0.9, 0.8}); got[0] != 1 || got[1] != 1 {
		t.Errorf("%v", got)
	}
}

func TestPairsFor(t *testing.T) {
	// The deviation is 0.9 %, so six runs are expected to be 2.4 % apart.
	quiet := []float64{99, 101, 100, 99, 101, 100}
	if p, ok := PairsFor(0.05, quiet, Usual(0)); !ok || p.Pairs != fewestPairs || p.Hidden || p.Cautious < p.Pairs || !near(p.Floor, 0.024, 0.001) {
		t.Errorf("%+v", p)
	}
	if p, ok := PairsFor(0.01, quiet, Usual(0)); !ok || p.Pairs < 12 || !p.Hidden || p.Cautious != 0 {
		t.Errorf("%+v", p)
	}
	// Two runs 1 % apart: six are expected to be 1 % * 2.534/1.128 apart.
	if p, ok := PairsFor(0.02, []float64{99.5, 100.5}, Usual(0)); !ok || !near(p.Floor, 0.0225, 0.0002) || !p.Hidden {
		t.Errorf("%+v", p)
	}
	// A threefold difference: in units of the median 3^(2.246/2) - 3^-(2.246/2).
	if p, ok := PairsFor(0.02, []float64{100, 300}, Usual(0)); !ok || !near(p.Floor, 3.143, 0.005) {
		t.Errorf("%+v", p)
	}
	if _, ok := PairsFor(0.03, quiet[:1], Usual(0)); ok {
		t.Error("one run tells nothing about the spread")
	}
}

func TestQuantiles(t *testing.T) {
	// R: qt(0.975, c(5, 9, 30)), qchisq(0.2, c(1, 5)), qchisq(0.5, 2)
	for freedom, want := range map[int]float64{5: 2.570582, 9: 2.262157, 30: 2.042272} {
		if got := studentQuantile(0.975, freedom); !near(got, want, 0.01) {
			t.Errorf("t of %d: %v, want %v", freedom, got, want)
		}
	}
	for _, c := range []struct {
		p       float64
		freedom int
		want    float64
	}{{0.2, 1, 0.06418475}, {0.2, 5, 2.342534}, {0.5, 2, 1.386294}} {
		if got := chiQuantile(c.p, c.freedom); !near(got, c.want, 1e-5) {
			t.Errorf("chi-square %v of %d: %v, want %v", c.p, c.freedom, got, c.want)
		}
	}
}

func TestDrift(t *testing.T) {
	change, p, ok := Drift([]float64{100, 99, 98, 97, 96, 95})
	// All fifteen pairs fall: 2/720.
	if !ok || !near(p, 2.0/720, 1e-12) || !near(change, 96.0/99-1, 1e-12) {
		t.Errorf("%v %v %v", change, p, ok)
	}
	// R: cor.test(1:7, c(1, 3, 2, 5, 4, 7, 6), method = "kendall")$p.value
	if p := kendall([]float64{1, 3, 2, 5, 4, 7, 6}); !near(p, 0.03015873, 5e-9) {
		t.Errorf("p %v", p)
	}
	if _, _, ok := Drift([]float64{1, 2, 3}); ok {
		t.Error("three runs have no drift")
	}
}

func TestSuspiciousRuns(t *testing.T) {
	if got := Outliers([]float64{100, 101, 99, 100, 60}); !slices.Equal(got, []int{4}) {
		t.Errorf("%v", got)
	}
	if got := Outliers([]float64{100, 101, 99, 100, 102, 98}); got != nil {
		t.Errorf("%v", got)
	}
	if low, high, two := TwoModes([]float64{100, 80, 101, 81, 100.5, 80.5}); !two || low != 80.5 || high != 100.5 {
		t.Errorf("%v %v %v", low, high, two)
	}
	if _, _, two := TwoModes([]float64{100, 101, 99, 102, 98, 60}); two {
		t.Error("one outlier is no second mode")
	}
}

// Differences are decided as ratios are, in the figures' own unit and with zeros.
func TestVerdictsOnDifferences(t *testing.T) {
	base := []float64{2.73, 2.74, 2.72, 2.73, 2.74, 2.72}
	less := []float64{2.49, 2.51, 2.48, 2.49, 2.51, 2.48}
	rule := Rule{Alpha: 0.05, Margin: 0.03, Floor: 0.02}
	o := PairedDifference(pairsOf(base, less), rule)
	if o.Verdict != Lower || !near(o.P, 2.0/64, 1e-12) || !near(o.Difference.Center, -0.235, 1e-9) || !o.Difference.Finite() {
		t.Errorf("%+v", o)
	}
	if o := UnpairedDifference(base, less, rule); o.Verdict != Lower || !near(o.SmallestP, 2.0/924, 1e-12) {
		t.Errorf("unpaired: %+v", o)
	}
	none := make([]float64, 6)
	if o := PairedDifference(pairsOf(none, none), Rule{Alpha: 0.05}); o.Verdict != Same || o.P != 1 {
		t.Errorf("zeros: %+v", o)
	}
	if o := UnpairedDifference(none, none, Rule{Alpha: 0.05}); o.Verdict != Same {
		t.Errorf("zeros, unpaired: %+v", o)
	}
	if o := PairedDifference(pairsOf(none, base), Rule{Alpha: 0.05, Floor: 3}); o.Verdict != Unclear || !o.InsideFloor {
		t.Errorf("inside the floor: %+v", o)
	}
}

func TestCenter(t *testing.T) {
	// The interval of a median of six runs reaches from the first to the last.
	if c := Center([]float64{3, 1, 2, 6, 5, 4}); c.Center != 3.5 || c.Lo != 1 || c.Hi != 6 {
		t.Errorf("%+v", c)
	}
	if c := Center([]float64{2, 1, 3, 5, 4}); c.Center != 3 || c.Finite() {
		t.Errorf("%+v", c)
	}
	if c := Center(nil); c.Finite() {
		t.Errorf("%+v", c)
	}
}

func TestFloorIsOfTheFirstRuns(t *testing.T) {
	six := []float64{100, 101, 99, 100, 100, 100}
	_, a, _ := Floor(six)
	_, b, ok := Floor(append(slices.Clone(six), 60, 140))
	if !ok || a != b || !near(a, 0.02, 1e-12) {
		t.Errorf("%v %v", a, b)
	}
}

// Four evenly spread values fall into two groups by chance too often to tell of it.
func TestTwoModesNeedSixRuns(t *testing.T) {
	if _, _, two := TwoModes([]float64{100, 101, 120, 121}); two {
		t.Error("of four runs")
	}
	if _, _, two := TwoModes([]float64{100, 101, 100, 120, 121, 120}); !two {
		t.Error("of six runs")
	}
}

// Six pairs give 2/64 = 0.031 for one candidate; two need 2/128, four 2/256 or less.
func TestFewestPairs(t *testing.T) {
	for candidates, want := range map[int]int{1: 6, 2: 7, 3: 7, 4: 8, 6: 8, 7: 9} {
		if got := FewestPairs(candidates); got != want {
			t.Errorf("%d candidates: %d pairs, want %d", candidates, got, want)
		}
	}
}

// A difference is clear where all of its interval lies beyond the margin and three noise
// floors from none.
func TestClear(t *testing.T) {
	pairs := func(cand float64) (out []Pair) {
		for i := range 6 {
			out = append(out, Pair{100 + float64(i), cand * (100 + float64(i)) * (1 + 0.001*float64(i))})
		}
		return out
	}
	for _, c := range []struct {
		cand, floor float64
		want        bool
	}{
		{2, 0.05, true},      // 100 % or more, three floors are 16 % as a factor
		{2, 0.30, false},     // 1.3 × 1.3 × 1.3 = 2.2
		{0.5, 0.05, true},    // half, in the other direction
		{0.5, 0.30, false},   //
		{1.2, 0.05, true},    // 1.05 × 1.05 × 1.05 = 1.158
		{1.155, 0.05, false}, // the nearer end lies below
		{1.004, 0, false},    // identical runs are equal, but within the margin
		{1.02, 0, true},
	} {
		o, _ := Paired(pairs(c.cand), Usual(c.floor))
		if got := o.Clear(Usual(c.floor)); got != c.want {
			t.Errorf("× %v with a floor of %v: clear %v, %+v", c.cand, c.floor, got, o)
		}
	}
	var few []Pair
	for range 3 {
		few = append(few, Pair{1, 100})
	}
	if o, _ := Paired(few, Usual(0.01)); o.Clear(Usual(0.01)) {
		t.Error("three pairs have no verdict, however far apart")
	}
	d := PairedDifference([]Pair{{0, 5}, {0, 6}, {1, 7}, {0, 5}, {0, 6}, {1, 8}}, Rule{Alpha: usualAlpha, Floor: 1})
	if !d.Clear(Rule{Floor: 1}) || d.Clear(Rule{Floor: 2}) {
		t.Errorf("differences from 5 to 7 are clear with a floor of 1 and not with 2: %+v", d)
	}
}
