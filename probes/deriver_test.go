package probes

import (
	"testing"
	"testing/synctest"
	"time"
)

// frames derives what samples say.
func frames(samples []Sample) []Frame {
	var d Deriver
	var out []Frame
	for i := range samples {
		out = append(out, d.Next(&samples[i]))
	}
	return out
}

// ticking makes a sample per second of one counter that grows by 100 a second;
// late lists the samples whose read did not end in time.
func ticking(n int, late ...int) []Sample {
	out := make([]Sample, n)
	for i := range out {
		b := Batch{Probe: "x", Readings: []Reading{{ID: TLBShootdowns, Value: float64(100 * i)}}}
		for _, l := range late {
			if l == i {
				b = Batch{Probe: "x", Misses: []Miss{{ID: TLBShootdowns, Reason: "late"}}}
			}
		}
		out[i] = Sample{Seq: uint64(i), T: time.Duration(i) * time.Second, Batches: []Batch{b}}
	}
	return out
}

func TestValueAfterALateReadCoversAllTheTimeSinceTheLastOne(t *testing.T) {
	fs := frames(ticking(6, 2, 3))
	for i, want := range map[int]Value{
		0: {Missing: reasonFirst},
		1: {V: 100, Delta: 100, Elapsed: time.Second},
		2: {Missing: "late"},
		3: {Missing: "late"},
		4: {V: 100, Delta: 300, Since: time.Second, Elapsed: 3 * time.Second},
		5: {V: 100, Delta: 100, Since: 4 * time.Second, Elapsed: time.Second},
	} {
		if got := fs[i].Get(TLBShootdowns); got != want {
			t.Errorf("frame %d: %+v, want %+v", i, got, want)
		}
	}
}

func TestCounterLeftOutOfOneReadIsNotNew(t *testing.T) {
	s := ticking(3)
	s[1].Batches[0].Readings = []Reading{{ID: Commits, Value: 1}}
	if v := frames(s)[2].Get(TLBShootdowns); v.Delta != 200 || v.Elapsed != 2*time.Second {
		t.Errorf("%+v, want 200 in 2 s", v)
	}
}

func TestProbeThatWasTakenOutStartsAnew(t *testing.T) {
	s := ticking(3)
	s[1].Batches = nil
	if v := frames(s)[2].Get(TLBShootdowns); v.Missing != reasonFirst {
		t.Errorf("%+v, want no figure: it may be another load's counter", v)
	}
}

func TestTooShortForARate(t *testing.T) {
	at := []int{0, 1000, 2000, 3000, 3300, 3305, 4305, 5305, 5315, 6315, 6815, 7315, 7815, 8315}
	short := map[int]bool{3305: true, 5315: true}
	samples := make([]Sample, len(at))
	for i, ms := range at {
		samples[i].T = time.Duration(ms) * time.Millisecond
	}
	for i, f := range frames(samples) {
		if f.TooShort != short[at[i]] {
			t.Errorf("the frame to %d ms is too short: %v", at[i], f.TooShort)
		}
	}
}

// A probe that is late at most ticks: whatever is read, the deltas add up to
// the growth from the first read to the last.
func TestSlowProbesTotalsAreWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &fakeProbe{name: "slow", took: 900 * time.Millisecond}
		got := sampling(t, time.Second, 9500*time.Millisecond, nil, slow)
		var total float64
		var covered, first, last time.Duration
		var reads []float64
		for i, f := range frames(got) {
			if b := batchOf(got[i], "slow"); b != nil && len(b.Readings) > 0 {
				reads, last = append(reads, b.Readings[0].Value), got[i].T+b.Offset
				if len(reads) == 1 {
					first = last
				}
			}
			if v := f.Get(Commits); v.OK() {
				total += v.Delta
				covered += v.Elapsed
			}
		}
		if len(reads) < 3 {
			t.Fatalf("reads %v: too few to tell", reads)
		}
		if want := reads[len(reads)-1] - reads[0]; total != want || covered != last-first {
			t.Errorf("%v over %v, want %v over %v", total, covered, want, last-first)
		}
	})
}
