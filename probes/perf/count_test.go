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

// The first three were read from the kernel of an emulated riscv64 machine: a raw event that its counters do not have, the
// same in a group with cycles:u, and cycles:u with instructions of two threads of a process, inherited by its children. The
// others were made by hand.
func TestRecordedGroupsOfParts(t *testing.T) {
	type want struct {
		delta, share float64
		counted      bool
	}
	for _, c := range []struct {
		name          string
		before, after []string // one per CPU or task
		ids           [][]uint64
		want          []want // one per event
	}{
		{"never scheduled",
			[]string{"01000000000000008494120200000000000000000000000000000000000000001c00000000000000"},
			[]string{"0100000000000000787de0ef02000000000000000000000000000000000000001c00000000000000"},
			[][]uint64{{28}}, []want{{0, 0, false}}},
		{"a group that is never scheduled because of one member",
			[]string{"02000000000000007c74d50700000000000000000000000000000000000000001d0000000000000000000000000000001e00000000000000"},
			[]string{"0200000000000000782d684002000000000000000000000000000000000000001d0000000000000000000000000000001e00000000000000"},
			[][]uint64{{29, 30}}, []want{{0, 0, false}, {0, 0, false}}},
		{"inherited by children, two threads",
			[]string{"0200000000000000000000000000000000000000000000000000000000000000350000000000000000000000000000003600000000000000",
				"0200000000000000000000000000000000000000000000000000000000000000370000000000000000000000000000003800000000000000"},
			[]string{"020000000000000058893273000000005889327300000000d63705350000000035000000000000007027c6ef000000003600000000000000",
				"0200000000000000601ed90700000000601ed9070000000035c57a000000000037000000000000007e01f70d000000003800000000000000"},
			// 889534422 + 8045877, 4022740848 + 234291582
			[][]uint64{{53, 54}, {55, 56}}, []want{{897580299, 1, true}, {4257032430, 1, true}}},
		{"two CPUs, a quarter and all of the time",
			[]string{"01000000000000000000000000000000000000000000000000000000000000000100000000000000",
				"01000000000000000000000000000000000000000000000000000000000000000200000000000000"},
			[]string{"01000000000000000010000000000000000400000000000064000000000000000100000000000000",
				"01000000000000000010000000000000001000000000000032000000000000000200000000000000"},
			// 100 x 4096/1024 + 50; (1024 + 4096) / 8192
			[][]uint64{{1}, {2}}, []want{{450, 0.625, true}}},
		{"a counter that wrapped",
			[]string{"010000000000000000100000000000000010000000000000ffffffffffffffff0100000000000000"},
			[]string{"01000000000000000020000000000000002000000000000005000000000000000100000000000000"},
			[][]uint64{{1}}, []want{{0, 0, false}}},
	} {
		for i, w := range c.want {
			var prev, cur []Count
			for m := range c.before {
				prev, cur = append(prev, decode(t, c.before[m], c.ids[m])[i]), append(cur, decode(t, c.after[m], c.ids[m])[i])
			}
			delta, share, counted := Scale(prev, cur)
			if delta != w.delta || share != w.share || counted != w.counted {
				t.Errorf("%s, event %d: %v, ran %v, %v; want %+v", c.name, i, delta, share, counted, w)
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
