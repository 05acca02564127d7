package trial

import (
	"strings"
	"testing"
	"time"

	"pgtlb/probes"
)

// Faults of other programs must not hide that the server's own die out.
func TestFillEndLooksAtTheServersOwnFaults(t *testing.T) {
	b := builder{meta: published4kB().meta, seconds: 40, tps: 10, latency: time.Millisecond,
		counters: map[string]float64{probes.PageFaultsMinor: 50_000}}
	b.backends = func(second int) []probes.Backend {
		sum := uint64(0)
		for s := 1; s <= second; s++ {
			sum += uint64(2000*max(0, 10-s) + 20)
		}
		return []probes.Backend{{Pid: 7, Role: "client", Mem: &probes.BackendMem{}, Use: &probes.BackendUse{MinorFaults: sum}}}
	}
	fill := FillEnd(Frames(b.run()))
	if !fill.Clear || fill.At-(lead+1) != 9 {
		t.Errorf("ends %d s after the start, clear %v, %q; want 9", fill.At-(lead+1), fill.Clear, fill.Why)
	}
}

func TestFillEnd(t *testing.T) {
	for name, c := range map[string]struct {
		seconds int
		faults  func(int) float64
		clear   bool
		at      int // seconds after the start of the load
		why     string
	}{
		"fills in 10 s": {40, func(s int) float64 { return 100 + 22_000*max(0, 1-float64(s)/10) }, true, 9, "had fallen"},
		"level":         {40, level(120), true, 0, "stayed level"},
		"noisy level":   {40, func(s int) float64 { return 100 + 20*float64(s%3) }, true, 0, "stayed level"},
		"still falling": {40, func(s int) float64 { return 22_000 - 500*float64(s) }, false, 40, "still becoming fewer"},
		"short":         {8, level(120), false, 8, "too short"},
		"not measured":  {40, nil, false, 40, "not measured"},
	} {
		b := builder{meta: published4kB().meta, seconds: c.seconds, tps: 10, latency: time.Millisecond, faults: c.faults}
		fill := FillEnd(Frames(b.run()))
		if fill.Clear != c.clear || fill.At-(lead+1) != c.at || !strings.Contains(fill.Why, c.why) {
			t.Errorf("%s: ends %d s after the start, clear %v, %q; want %d, %v, %q", name, fill.At-(lead+1), fill.Clear, fill.Why, c.at, c.clear, c.why)
		}
	}
}
