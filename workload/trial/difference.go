package trial

import (
	"math"
	"strconv"

	"pgtlb/probes"
)

// differenceText puts the difference of two figures into words: percentage points
// for percentages, a factor from a twofold change on, percent for the rest. long is for
// a row: "−7.34 %", "÷27 (27 times fewer)", "+0.24 pp"; short for the ends of an
// interval: "−7.3 %", "÷27". Both figures are rates or levels, so windows of different
// length can be held against each other. Nothing else writes a difference.
func differenceText(m probes.Metric, base, cand float64) (short, long string) {
	same := func(s string) (string, string) { return s, s }
	switch {
	case m.Percent():
		return same(signed(cand-base, 2) + " pp")
	case base == cand:
		return same("equal")
	case base <= 0 || cand < 0:
		return "from " + probes.Short(base), "from " + probes.Number(base)
	case cand == 0:
		return same("to 0")
	case cand/base >= 2:
		f := factor(cand / base)
		return "×" + f, "×" + f + " (" + f + " times " + as(m) + ")"
	case base/cand >= 2:
		f := factor(base / cand)
		return "÷" + f, "÷" + f + " (" + f + " times " + fewer(m) + ")"
	}
	pct := 100 * (cand - base) / base
	return signed(pct, 1) + " %", signed(pct, 2) + " %"
}

// side tells whether cand is better (+1) or worse (−1) than base.
func side(better probes.Better, base, cand float64) int {
	up := 0
	switch {
	case cand > base:
		up = 1
	case cand < base:
		up = -1
	}
	switch better {
	case probes.Up:
		return up
	case probes.Down:
		return -up
	}
	return 0
}

// signed writes a number with its sign; what rounds to zero has none.
func signed(v float64, decimals int) string {
	s := strconv.FormatFloat(math.Abs(v), 'f', decimals, 64)
	switch zero, _ := strconv.ParseFloat(s, 64); {
	case zero == 0:
		return s
	case v < 0:
		return probes.Minus + s
	}
	return "+" + s
}

// factor writes a factor of at least two: "2.4", "27", "1,338". It is cut and
// not rounded, so that no factor says more than there is.
func factor(f float64) string {
	if f < 10 {
		return strconv.FormatFloat(math.Floor(f*10)/10, 'f', 1, 64)
	}
	return probes.Number(math.Floor(f))
}

// fewer is the word for a smaller figure: what is counted becomes fewer, time
// and memory less.
func fewer(m probes.Metric) string {
	if countable(m) {
		return "fewer"
	}
	return "less"
}

func as(m probes.Metric) string {
	if countable(m) {
		return "as many"
	}
	return "as much"
}

// countable tells things that are counted from amounts.
func countable(m probes.Metric) bool {
	return m.Kind == probes.Counter && m.Unit != "s" || m.Unit == "faults"
}
