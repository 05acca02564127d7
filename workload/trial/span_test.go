package trial

import (
	"math/rand/v2"
	"testing"
	"time"

	"pgtlb/probes"
)

// loadSamples are samples of two loads that are read a little after the tick, a few
// of them not at all. marks are by the number of the sample.
func loadSamples(marks map[int][]probes.Mark, labels ...string) []probes.Sample {
	rng := rand.New(rand.NewPCG(5, 6))
	done := map[string]float64{}
	var out []probes.Sample
	for i := range 20 {
		s := probes.Sample{Seq: uint64(i + 1), T: time.Duration(i) * time.Second, Marks: marks[i]}
		for k, label := range labels {
			done[label] += 1000 * float64(k+1) * (0.9 + 0.2*rng.Float64())
			b := probes.Batch{Probe: "load:" + label, Offset: time.Duration(rng.IntN(50_000_000))}
			if i == 10 {
				b.Offset = -1200 * time.Millisecond // begun before the sample before
			}
			if i == 9 {
				b.Misses = []probes.Miss{{ID: probes.Transactions, Reason: "not read in time"}}
			} else {
				b.Readings = []probes.Reading{{ID: probes.Transactions, Label: label, Value: float64(int(done[label]))}}
			}
			s.Batches = append(s.Batches, b)
		}
		out = append(out, s)
	}
	return out
}

// The list of runs and everything that summarises a run say one TPS and one length.
func TestListedTPS(t *testing.T) {
	mark := func(kind probes.MarkKind, labels ...string) []probes.Mark {
		var out []probes.Mark
		for _, l := range labels {
			out = append(out, probes.Mark{Kind: kind, Label: l})
		}
		return out
	}
	for name, samples := range map[string][]probes.Sample{
		"start to stop": loadSamples(map[int][]probes.Mark{2: mark(probes.LoadStarted, "a"), 17: mark(probes.LoadStopped, "a")}, "a"),
		"two loads, one stops first": loadSamples(map[int][]probes.Mark{0: mark(probes.LoadStarted, "a", "b"), 12: mark(probes.LoadStopped, "a"),
			16: mark(probes.LoadStopped, "b")}, "a", "b"),
		"warm-up": loadSamples(map[int][]probes.Mark{1: mark(probes.LoadStarted, "a"), 6: mark(probes.LoadWarmed, "a"), 19: mark(probes.LoadStopped, "a")}, "a"),
		"warm-up ends at a late read": loadSamples(map[int][]probes.Mark{1: mark(probes.LoadStarted, "a"), 9: mark(probes.LoadWarmed, "a"),
			19: mark(probes.LoadStopped, "a")}, "a"),
		"interrupted": loadSamples(map[int][]probes.Mark{3: mark(probes.LoadStarted, "a")}, "a"),
	} {
		var p span
		for i := range samples {
			p.add(&samples[i])
		}
		want := Summarize(Frames(&Run{Samples: samples}))
		got := p.totals()
		if tps := want.Get(probes.TPS); !tps.OK() || tps.Value <= 0 {
			t.Fatalf("%s: %+v", name, tps)
		}
		near(t, name+": TPS", got.TPS, want.Get(probes.TPS).Value)
		near(t, name+": seconds", got.Seconds, want.Seconds)
		if got.Samples != len(samples) {
			t.Errorf("%s: %d samples", name, got.Samples)
		}
	}
}
