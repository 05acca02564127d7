package trial

import (
	"math"
	"strconv"

	"pgtlb/probes"
)

// Diff is the difference between two figures in words.
type Diff struct {
	// Text is short, for the screen: "−7.3 %", "÷27", "×3.1", "+0.24 pp", "n/a".
	Text string
	// Long is for reports: "−7.34 %", "÷27 (27 times fewer)".
	Long string
	// Pct is 100 × (candidate − base) / base where Known is true.
	Pct   float64
	Known bool
	// Better is +1 where the candidate's figure is on the better side, −1 on the
	// worse, 0 where they are equal, the metric has no better side, or a figure
	// is missing. It is a direction and no verdict.
	Better int
	// Why says what is missing where Text is "n/a".
	Why string
}

// Difference puts the difference of two figures into words: percentage points
// for percentages, a factor from a twofold change on, percent for the rest. Both
// figures are rates or levels, so windows of different length can be held
// against each other.
func Difference(m probes.Metric, base, cand Figure) Diff {
	switch {
	case !base.OK():
		return Diff{Text: "n/a", Long: "n/a", Why: "baseline: " + base.Missing}
	case !cand.OK():
		return Diff{Text: "n/a", Long: "n/a", Why: cand.Missing}
	}
	d := Diff{Better: side(m, base.Value, cand.Value)}
	if base.Value > 0 {
		d.Pct, d.Known = 100*(cand.Value-base.Value)/base.Value, true
	}
	switch b, c := base.Value, cand.Value; {
	case m.Percent():
		d.Text = signed(c-b, 2) + " pp"
		d.Long = d.Text
	case b == c:
		d.Text, d.Long = "equal", "equal"
	case b <= 0 || c < 0:
		d.Text, d.Long = "from "+probes.Short(b), "from "+probes.Number(b)
	case c == 0:
		d.Text, d.Long = "to 0", "to 0"
	case c/b >= 2:
		d.Text, d.Long = "×"+factor(c/b), "×"+factor(c/b)+" ("+factor(c/b)+" times "+as(m)+")"
	case b/c >= 2:
		d.Text, d.Long = "÷"+factor(b/c), "÷"+factor(b/c)+" ("+factor(b/c)+" times "+fewer(m)+")"
	default:
		d.Text, d.Long = signed(d.Pct, 1)+" %", signed(d.Pct, 2)+" %"
	}
	return d
}

// side tells whether cand is better (+1) or worse (−1) than base.
func side(m probes.Metric, base, cand float64) int {
	up := 0
	switch {
	case cand > base:
		up = 1
	case cand < base:
		up = -1
	}
	switch m.Better {
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
	return m.Kind == probes.Counter && m.Unit != "s" || m.ID == probes.ClientPageFaults
}
