package wire

import (
	"math"
	"sync"
	"testing"
	"time"

	"pgtlb/probes"
)

func TestTallyLosesNothing(t *testing.T) {
	const n = 200_000
	tally, sum, spare := NewTally(), NewCounts(), NewCounts()
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(done)
		for i := range n {
			tally.Done(0, time.Duration(i%1000)*time.Microsecond, time.Duration(i%3))
			tally.Failed(0, State{'4', '0', '0', '0', '1'})
			tally.Skipped(0)
		}
	})
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		taken := tally.Take(spare)
		sum.Add(taken)
		taken.Reset()
		spare = taken
	}
	wg.Wait()
	if sum.Transactions != n || sum.Latency.Count() != n || sum.Failed != n || sum.Skipped != n ||
		sum.FailedBy[State{'4', '0', '0', '0', '1'}] != n || sum.LagMax != 2 || sum.LagSum != n/3*3+1 {
		t.Errorf("%+v, latencies %d", sum, sum.Latency.Count())
	}
}

func TestThrottleKeepsItsRate(t *testing.T) {
	const n, threads = 100_000, 4
	th := newThrottle(&Options{Rate: 1000, Seed: 1}, 2, threads)
	var last time.Duration
	var squares float64
	mean := time.Second * threads / 1000
	for range n {
		next := th.draw()
		if next < last {
			t.Fatal("starts go back")
		}
		d := float64(next-last) / float64(mean)
		squares += d * d
		last = next
	}
	// An exponential distribution has a standard deviation of its mean, so the
	// mean of n is within 5/sqrt(n) but once in a million seeds.
	if got := float64(last) / n / float64(mean); math.Abs(got-1) > 5/math.Sqrt(n) {
		t.Errorf("mean distance %.4f of the wanted", got)
	}
	if got := squares / n; math.Abs(got-2) > 0.1 {
		t.Errorf("second moment %.3f, want 2", got)
	}
	again := newThrottle(&Options{Rate: 1000, Seed: 1}, 2, threads)
	for range n {
		again.draw()
	}
	if again.next != last {
		t.Error("the same seed gives other starts")
	}
}

func TestEncodings(t *testing.T) {
	b, mark := BeginBind(nil, "s", 3)
	b = AppendNull(appendParam(b, "xy"))
	b, value := BeginParam(b)
	b = EndParam(append(b, '7'), value)
	b = appendExecuteSync(EndBind(b, mark))
	want := "B\x00\x00\x00\x1e\x00s\x00\x00\x00\x00\x03\x00\x00\x00\x02xy\xff\xff\xff\xff\x00\x00\x00\x017\x00\x01\x00\x00" +
		"D\x00\x00\x00\x06P\x00E\x00\x00\x00\x09\x00\x00\x00\x00\x00S\x00\x00\x00\x04"
	if string(b) != want {
		t.Errorf("\n%q, want\n%q", b, want)
	}
	if got, want := string(AppendSync(AppendExecute(nil))), string(appendExecuteSync(nil)); got != want {
		t.Errorf("%q, %q", got, want)
	}
	if got := string(AppendParse(nil, "s", "SELECT 1")); got != "P\x00\x00\x00\x11s\x00SELECT 1\x00\x00\x00" {
		t.Errorf("%q", got)
	}
	simple, at := BeginQuery(nil)
	if got, want := string(EndQuery(append(simple, "SELECT 1"...), at)), string(AppendQuery(nil, "SELECT 1")); got != want || got != "Q\x00\x00\x00\x0dSELECT 1\x00" {
		t.Errorf("%q, %q", got, want)
	}
}

func BenchmarkTally(b *testing.B) {
	tally := NewTally()
	b.ReportAllocs()
	for b.Loop() {
		tally.Done(0, 123*time.Microsecond, 0)
	}
}

func BenchmarkHistogramAlone(b *testing.B) {
	h := probes.NewHistogram()
	for b.Loop() {
		h.Record(123 * time.Microsecond)
	}
}

func BenchmarkScan(b *testing.B) {
	answer := []byte(msg('2', "") + msg('T', string(make([]byte, 250))) + msg('D', string(make([]byte, 250))) + msg('C', "SELECT 1\x00") + msg('Z', "I"))
	var s scanner
	h := &counter{}
	b.ReportAllocs()
	for b.Loop() {
		if err := s.feed(answer, h); err != nil {
			b.Fatal(err)
		}
	}
}

type counter struct{ n int }

func (c *counter) message(byte, []byte) error { c.n++; return nil }
