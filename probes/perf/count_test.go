package perf

import (
	"encoding/hex"
	"math"
	"testing"
)

func TestScale(t *testing.T) {
	const big = 1 << 62
	for _, c := range []struct {
		name         string
		prev, cur    []Count
		delta, share float64
		counted      bool
	}{
		{"ran all the time", []Count{{100, 10, 10}}, []Count{{150, 30, 30}}, 50, 1, true},
		{"ran half the time", []Count{{100, 10, 10}}, []Count{{150, 30, 20}}, 100, 0.5, true},
		{"two CPUs scale apart", []Count{{0, 0, 0}, {0, 0, 0}}, []Count{{10, 100, 100}, {10, 100, 25}}, 50, 0.625, true},
		{"one CPU never ran", []Count{{0, 0, 0}, {5, 0, 0}}, []Count{{10, 100, 100}, {5, 100, 0}}, 10, 0.5, true},
		{"no CPU ever ran", []Count{{0, 0, 0}}, []Count{{0, 100, 0}}, 0, 0, false},
		{"task not on a CPU", []Count{{7, 40, 40}}, []Count{{7, 40, 40}}, 0, 1, true},
		{"backwards value", []Count{{8, 0, 0}}, []Count{{7, 10, 10}}, 0, 0, false},
		{"backwards enabled", []Count{{8, 20, 0}}, []Count{{9, 10, 10}}, 0, 0, false},
		{"backwards running", []Count{{8, 20, 20}}, []Count{{9, 30, 10}}, 0, 0, false},
		{"other CPUs", []Count{{8, 0, 0}}, []Count{{9, 10, 10}, {0, 10, 10}}, 0, 0, false},
		{"nothing", nil, nil, 0, 0, false},
		{"large counters keep a small step", []Count{{big, big, big}}, []Count{{big + 3, big + 8, big + 4}}, 6, 0.5, true},
		{"running a little above enabled", []Count{{0, 0, 0}}, []Count{{10, 99, 100}}, 10, 1, true},
	} {
		delta, share, counted := Scale(c.prev, c.cur)
		if delta != c.delta || share != c.share || counted != c.counted {
			t.Errorf("%s: %v, %v, %v; want %v, %v, %v", c.name, delta, share, counted, c.delta, c.share, c.counted)
		}
	}
}

// The buffers were read from the kernel: two groups that took turns on an emulated riscv64 machine, and the software
// group of an x86-64 machine. The answers were computed with exact fractions.
func TestRecordedGroups(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after string
		ids           []uint64
		want          []float64
		share         float64
	}{
		{"cycles:u and instructions, taking turns",
			"02000000000000008c5c5418000000000ca0140d000000001aa63c09000000001a0000000000000030a3b71a000000001b00000000000000",
			"0200000000000000a0cb9a6c00000000207ebf2e000000009ef2cc29000000001a00000000000000545a205e000000001b00000000000000",
			[]uint64{26, 27}, []float64{1367547478.3232749, 2830917884.9881587}, 0.39949449116738706},
		{"cycles:k, taking turns",
			"01000000000000009c0be51800000000086d5b0700000000aaf5e40b000000001c00000000000000",
			"0100000000000000187fb06c00000000b0f3781f00000000ceaef42d000000001c00000000000000",
			[]uint64{28}, []float64{1985665197.6095545}, 0.2877906006953981},
		{"page faults, minor, major, context switches",
			"0400000000000000f9ea390000000000f9ea39000000000039000000000000000f00000000000000390000000000000010000000000000000000000000000000110000000000000006000000000000001200000000000000",
			"0400000000000000f7001f3800000000f7001f3800000000e2920000000000000f00000000000000e292000000000000100000000000000000000000000000001100000000000000b3030000000000001200000000000000",
			[]uint64{15, 16, 17, 18}, []float64{37545, 37545, 0, 941}, 1},
	} {
		prev, cur := decode(t, c.before, c.ids), decode(t, c.after, c.ids)
		for i, want := range c.want {
			delta, share, counted := Scale(prev[i:i+1], cur[i:i+1])
			if !counted || math.Abs(delta-want) > 1e-6*want || math.Abs(share-c.share) > 1e-9 {
				t.Errorf("%s, event %d: %v, ran %v, %v; want %v, %v", c.name, i, delta, share, counted, want, c.share)
			}
		}
	}
}

func decode(t *testing.T, s string, ids []uint64) []Count {
	t.Helper()
	buf, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]Count, len(ids))
	if err := parseGroup(buf, ids, out); err != nil {
		t.Fatal(err)
	}
	return out
}
