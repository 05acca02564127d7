package trial

import (
	"math"
	"testing"
	"time"

	"pgtlb/probes"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6*math.Max(1, math.Abs(want)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestSummaryOfAKnownRun(t *testing.T) {
	frames := Frames(published4kB().run())
	s := Summarize(frames)
	near(t, "seconds", s.Seconds, 25)
	near(t, "TPS", s.Get(probes.TPS).Value, 54263)
	near(t, "TPS of the scenario", s.Of(probes.TPS, "point-select").Value, 54263)
	near(t, "transactions", s.Get(probes.Transactions).Total, 54263*25)
	near(t, "latency", s.Get(probes.LatencyP99).Value, 0.147)
	near(t, "faults", s.Get(probes.PageFaults).Total, 1397551)
	near(t, "faults per second", s.Get(probes.PageFaults).Value, 1397551./25)
	near(t, "dTLB miss rate", s.Get(probes.DTLBMissPct).Value, 2.73)
	pt := s.Get(probes.PageTables)
	near(t, "PageTables at the start", pt.Start, 40_000)
	near(t, "PageTables at the end", pt.End, 434_176)
	near(t, "PageTables", pt.Value, 434_176)
	if f := s.Get(probes.WalkCyclesPct); f.OK() {
		t.Errorf("a figure that was never measured is %+v", f)
	}
	if n := s.Latency[""].Count(); n != 2500 {
		t.Errorf("%d latencies, want 2500", n)
	}
}

// A ratio over a window is that of the totals: the mean of the ratios would be
// (10 + 1) / 2 here.
func TestRatioComesFromTotals(t *testing.T) {
	frame := func(loads, misses float64) probes.Frame {
		return probes.Frame{Elapsed: time.Second, Values: map[probes.Key]probes.Value{
			{ID: probes.DTLBLoads}:      {V: loads, Delta: loads},
			{ID: probes.DTLBLoadMisses}: {V: misses, Delta: misses},
			{ID: probes.DTLBMissPct}:    {V: 100 * misses / loads, Over: 100 * misses, Under: loads, RunningPct: 80},
		}}
	}
	s := Summarize([]probes.Frame{frame(100, 10), frame(900, 9)})
	near(t, "miss rate", s.Get(probes.DTLBMissPct).Value, 1.9)
	near(t, "running", s.Get(probes.DTLBMissPct).RunningPct, 80)
}

func TestMissingIntervalsDoNotDiluteARate(t *testing.T) {
	there := probes.Frame{Elapsed: time.Second, Values: map[probes.Key]probes.Value{
		{ID: probes.PageFaults}: {V: 50, Delta: 50}, {ID: probes.RunQueue}: {V: 4},
	}}
	gone := probes.Frame{Elapsed: time.Second, Values: map[probes.Key]probes.Value{
		{ID: probes.PageFaults}: {Missing: "counter went backwards"},
	}, Misses: []probes.Miss{{ID: probes.RunQueue, Reason: "file vanished"}, {ID: probes.DTLBLoads, Reason: "no PMU"}}}
	s := Summarize([]probes.Frame{there, gone, there, gone})
	near(t, "rate", s.Get(probes.PageFaults).Value, 50)
	near(t, "total", s.Get(probes.PageFaults).Total, 100)
	near(t, "mean level", s.Get(probes.RunQueue).Value, 4)
	if got := s.Get(probes.DTLBLoads).Missing; got != "no PMU" {
		t.Errorf("reason is %q", got)
	}
}

// When the sample of the stop is taken, the clients' page tables may be gone.
func TestLevelIsThatBeforeTheClientsLeft(t *testing.T) {
	b := published4kB()
	full := b.gauges[probes.PageTables]
	b.gauges[probes.PageTables] = func(second int) float64 {
		if second >= b.seconds {
			return 41_000
		}
		return full(second)
	}
	s := Summarize(Frames(b.run()))
	near(t, "PageTables", s.Get(probes.PageTables).Value, 434_176)
	near(t, "largest", s.Get(probes.PageTables).Max, 434_176)
}

func TestAccumulatorAgreesWithItselfAtEveryTick(t *testing.T) {
	frames := Frames(published4kB().run())
	from, to, ok := LoadWindow(frames)
	if !ok || from != lead+1 || to != len(frames) {
		t.Fatalf("window is %d to %d of %d, %v", from, to, len(frames), ok)
	}
	a := NewAccumulator()
	a.Begin(frames[from-1])
	var early *Summary
	for i := from; i < to; i++ {
		a.Add(frames[i])
		if i == from+4 {
			early = a.Summary()
		}
	}
	whole, first := Summarize(frames), summarize(frames, from, from+5)
	for k, f := range whole.Figures {
		if got := a.Summary().Figures[k]; got != f {
			t.Errorf("%v: accumulated %+v, summarized %+v", k, got, f)
		}
	}
	for k, f := range first.Figures {
		if early.Figures[k] != f {
			t.Errorf("%v: after 5 s %+v, first 5 s of the run %+v", k, early.Figures[k], f)
		}
	}
	if early.Latency[""].Count() != 500 {
		t.Errorf("an earlier summary changed: %d latencies", early.Latency[""].Count())
	}
}

// Over a window a figure per transaction is that of the rates: an interval without
// one, here the first, in which no transaction ended, has its part in it.
func TestPerTransactionIsThatOfTheRates(t *testing.T) {
	frame := func(faults, done float64) probes.Frame {
		f := probes.Frame{Elapsed: time.Second, Values: map[probes.Key]probes.Value{
			{ID: probes.ServerPageFaults}:       {V: faults, Delta: faults},
			{ID: probes.Transactions}:           {V: done, Delta: done},
			{ID: probes.TPS}:                    {V: done, Delta: done},
			{ID: probes.ServerPageFaultsPerTxn}: {Missing: "no transaction ended in this interval"},
		}}
		if done > 0 {
			f.Values[probes.Key{ID: probes.ServerPageFaultsPerTxn}] = probes.Value{V: faults / done}
		}
		return f
	}
	s := Summarize([]probes.Frame{frame(900, 0), frame(100, 500), frame(100, 500)})
	near(t, "faults per transaction", s.Get(probes.ServerPageFaultsPerTxn).Value, 1.1)
}
