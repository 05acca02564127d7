package trial

import (
	"strings"
	"testing"
	"time"

	"pgtlb/probes"
	"pgtlb/workload"
)

// miss makes the reads of a probe late in some samples: what they would have
// given comes with the next read.
func miss(run *Run, probe string, samples ...int) {
	for _, i := range samples {
		batches := run.Samples[i].Batches
		for j := range batches {
			if batches[j].Probe == probe {
				batches[j] = probes.Batch{Probe: probe}
				for _, m := range probes.Catalogue() {
					batches[j].Misses = append(batches[j].Misses, probes.Miss{ID: m.ID, Reason: "its read has not ended"})
				}
			}
		}
	}
}

func TestLateReadsBendNeitherRatesNorTotals(t *testing.T) {
	run := published4kB().run()
	run.Meta.Metrics = nil
	want := Summarize(Frames(published4kB().run()))
	miss(run, "host", lead+3, lead+7, lead+8)
	got := Summarize(Frames(run))
	for _, id := range []string{probes.PageFaults, probes.DTLBLoads, probes.DTLBMissPct, probes.CyclesKernel, probes.Transactions, probes.TPS} {
		w, g := want.Get(id), got.Get(id)
		near(t, id, g.Value, w.Value)
		near(t, id+" in all", g.Total, w.Total)
		if g.Uncovered != 0 {
			t.Errorf("%s leaves out %v s", id, g.Uncovered)
		}
	}
}

func TestTotalThatDoesNotCoverTheWindowSaysSo(t *testing.T) {
	run := published4kB().run()
	miss(run, "host", len(run.Samples)-2, len(run.Samples)-1)
	f := Summarize(Frames(run)).Get(probes.PageFaults)
	near(t, "rate", f.Value, 1397551./25)
	near(t, "total", f.Total, 1397551./25*23)
	near(t, "seconds left out", f.Uncovered, 2)
	if got := FigureText(probes.MustLookup(probes.PageFaults), f); !strings.HasPrefix(got, "≥ 1,285,747 (55,902/s)") {
		t.Errorf("written as %q", got)
	}
	b := BuildBench(run, workload.Result{Transactions: 1000, Elapsed: 25 * time.Second}, 0)
	c := b.Counters[probes.PageFaults]
	if c.PerTxn != nil || c.UncoveredS != f.Uncovered {
		t.Errorf("counted as %+v, want nothing per transaction", c)
	}
	for _, row := range BuildReport(run, nil, ReportOptions{}).Rows {
		if row.Metric == probes.PageFaults && (!strings.HasPrefix(row.Cand.Main, "≥ ") || !strings.Contains(row.Note, "2 s of the time")) {
			t.Errorf("reported as %+v", row)
		}
	}
}

// The file begins with the sample of the load's start; the live session knows
// what was read before.
func TestLiveFiguresAreThoseOfTheRecording(t *testing.T) {
	live := published4kB().run()
	live.Samples[lead].Batches[0].Offset = 2 * time.Millisecond
	late := live.Samples[lead+1].Batches[0]
	late.Offset = -1200 * time.Millisecond // it was begun before the load
	miss(live, "host", lead)
	live.Samples[lead+1].Batches[0] = late
	recorded := &Run{Meta: live.Meta, Samples: live.Samples[lead:], End: live.End}
	a, b := Summarize(Frames(live)), Summarize(Frames(recorded))
	if len(a.Figures) == 0 || !a.Get(probes.PageFaults).OK() {
		t.Fatal("nothing was measured")
	}
	for k, f := range a.Figures {
		if b.Figures[k] != f {
			t.Errorf("%v: live %+v, recorded %+v", k, f, b.Figures[k])
		}
	}
}

// Two loads, one of whose meters is late once: the whole is still the sum.
func TestWholeOfTheLoadsIsTheirSum(t *testing.T) {
	run := &Run{}
	for i := range 11 {
		s := probes.Sample{Seq: uint64(i), T: time.Duration(i) * time.Second}
		for label, tps := range map[string]float64{"a": 100, "b": 10} {
			s.Batches = append(s.Batches, probes.Batch{Probe: "load:" + label, Readings: []probes.Reading{
				{ID: probes.Transactions, Label: label, Value: tps * float64(i)}}})
		}
		if i == 0 {
			s.Marks = []probes.Mark{{Kind: probes.LoadStarted, Label: "a"}, {Kind: probes.LoadStarted, Label: "b"}}
		}
		run.Samples = append(run.Samples, s)
	}
	miss(run, "load:b", 4)
	s := Summarize(Frames(run))
	near(t, "TPS of all", s.Get(probes.TPS).Value, 110)
	near(t, "transactions of all", s.Get(probes.Transactions).Total, 1100)
}

// Where the list of runs knows a run's ends only, and one reading is late there, the
// throughput is that of the time between the readings there are, as in its summary.
func TestListedThroughputOfLateEnds(t *testing.T) {
	for name, late := range map[string]int{"start": lead, "end": lead + 25} {
		run := published4kB().run()
		miss(run, "load", late)
		ends := betweenEnds(run.Samples[:headSamples], run.Samples[len(run.Samples)-tailSamples:])
		near(t, "late at the "+name+": TPS", ends.TPS, Summarize(Frames(run)).Get(probes.TPS).Value)
		if ends.Seconds != 25 {
			t.Errorf("late at the %s: listed over %v s, want 25", name, ends.Seconds)
		}
	}
}

// A mark cuts an interval: its few milliseconds have no line and no point of
// their own, and the backends of the frame before stay.
func TestRestOfAnIntervalIsNotShown(t *testing.T) {
	run := published4kB().run()
	at := lead + 12
	cut := run.Samples[at]
	cut.T += 3 * time.Millisecond
	samples := append(run.Samples[:at+1:at+1], cut)
	for _, s := range run.Samples[at+1:] {
		s.T += 3 * time.Millisecond
		samples = append(samples, s)
	}
	run.Samples = samples
	frames := Frames(run)
	var tl timeline
	for _, f := range frames[:at+2] {
		tl.add(f)
	}
	var st State
	tl.fill(&st)
	if now := st.Now(); now.T != frames[at].T || len(now.Backends) == 0 {
		t.Errorf("now is the frame to %v with %d backends, want that to %v with all", now.T, len(now.Backends), frames[at].T)
	}
	whole := State{History: frames[:at+1]}
	if got, want := PlainLine(&st), PlainLine(&whole); got != want {
		t.Errorf("plain line is %q, want %q", got, want)
	}
	s, _ := seriesOf(probes.TPS, frames)
	if len(s.Points) != 25 {
		t.Errorf("%d points, want one a second", len(s.Points))
	}
	tl.add(frames[at+2])
	for i := range tl.history[:at+2] {
		if len(tl.history[i].Backends) > 0 {
			t.Errorf("frame %d keeps its backends", i)
		}
	}
}
