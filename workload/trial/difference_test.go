package trial

import (
	"testing"

	"pgtlb/probes"
)

func TestDifferenceInWords(t *testing.T) {
	fig := func(v float64) Figure { return Figure{Value: v} }
	none := Figure{Missing: "no PMU here"}
	for _, c := range []struct {
		id         string
		base, cand Figure
		text, long string
		better     int
	}{
		{probes.TPS, fig(54263), fig(58564), "+7.9 %", "+7.93 %", 1},
		{probes.TPS, fig(100), fig(99.99), "0.0 %", "−0.01 %", -1},
		{probes.LatencyMean, fig(0.147), fig(0.137), "−6.8 %", "−6.80 %", 1},
		{probes.LatencyP99, fig(0.3), fig(0.9), "×3.0", "×3.0 (3.0 times as much)", -1},
		{probes.PageFaults, fig(1397551), fig(1044), "÷1,338", "÷1,338 (1,338 times fewer)", 1},
		{probes.PageFaults, fig(473575), fig(4146), "÷114", "÷114 (114 times fewer)", 1},
		{probes.PageFaults, fig(10), fig(19.99), "+99.9 %", "+99.90 %", -1},
		{probes.PageFaults, fig(10), fig(20), "×2.0", "×2.0 (2.0 times as many)", -1},
		{probes.PageFaults, fig(0), fig(20), "from 0", "from 0", -1},
		{probes.PageFaults, fig(20), fig(0), "to 0", "to 0", 1},
		{probes.PageFaults, fig(0), fig(0), "equal", "equal", 0},
		{probes.PageTableMaxBackend, fig(5268), fig(128), "÷41", "÷41 (41 times less)", 1},
		{probes.ClientPageFaults, fig(18839), fig(281), "÷67", "÷67 (67 times fewer)", 1},
		{probes.DTLBMissPct, fig(2.73), fig(2.49), "−0.24 pp", "−0.24 pp", 1},
		{probes.DTLBMissPct, fig(0.45), fig(0.33), "−0.12 pp", "−0.12 pp", 1},
		{probes.DTLBMissPct, fig(1), fig(4), "+3.00 pp", "+3.00 pp", -1},
		{probes.CyclesUser, fig(407.13), fig(422.89), "+3.9 %", "+3.87 %", 0},
		{probes.CyclesUser, none, fig(1), "n/a", "n/a", 0},
		{probes.CyclesUser, fig(1), none, "n/a", "n/a", 0},
	} {
		m := probes.MustLookup(c.id)
		r := PairRow(m, "", c.base, c.cand)
		if r.Difference != c.long || r.Direction() != c.better {
			t.Errorf("%s %v → %v: %q, %+d; want %q, %+d", c.id, c.base, c.cand, r.Difference, r.Direction(), c.long, c.better)
		}
		if missing := r.Difference == "n/a"; missing != (r.Note != "") || missing != (r.Verdict == NotApplicable) {
			t.Errorf("%s %v → %v: %s, note %q", c.id, c.base, c.cand, r.Verdict, r.Note)
		}
		if short, _ := differenceText(m, c.base.Value, c.cand.Value); r.Difference != "n/a" && short != c.text {
			t.Errorf("%s %v → %v: %q in short, want %q", c.id, c.base, c.cand, short, c.text)
		}
	}
}

// The screen asks for a row of each metric each time it is drawn.
func BenchmarkPairRow(b *testing.B) {
	m := probes.MustLookup(probes.TPS)
	for b.Loop() {
		PairRow(m, "", Figure{Value: 54263}, Figure{Value: 58564})
	}
}

func TestSeconds(t *testing.T) {
	for want, got := range map[string]string{
		"25 s": Seconds(25), "2 min 5 s": Seconds(125), "24 h 0 min": Seconds(86400),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
