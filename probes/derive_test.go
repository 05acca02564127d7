package probes

import (
	"encoding/json"
	"math"
	"testing"
	"time"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(1, math.Abs(b)) }

// pair builds two samples one second apart on the sampler's clock.
func pair(prev, cur Batch) (*Sample, *Sample) {
	return &Sample{Seq: 1, T: time.Second, Batches: []Batch{prev}},
		&Sample{Seq: 2, T: 2 * time.Second, Batches: []Batch{cur}}
}

// derive makes the frame of the second of two samples; the first may be nil.
func derive(prev, cur *Sample) Frame {
	var d Deriver
	if prev != nil {
		d.Next(prev)
	}
	return d.Next(cur)
}

func TestDeriveCounterUsesTheProbesOwnTimes(t *testing.T) {
	p, c := pair(
		Batch{Probe: "x", Readings: []Reading{{ID: TLBShootdowns, Value: 100}}},
		Batch{Probe: "x", Offset: time.Second, Readings: []Reading{{ID: TLBShootdowns, Value: 160}}})
	f := derive(p, c)
	if v := f.Get(TLBShootdowns); v.Delta != 60 || v.V != 30 {
		t.Errorf("got %+v, want 60 in 2 s", v)
	}
	if f.Elapsed != time.Second {
		t.Errorf("elapsed %v", f.Elapsed)
	}
}

func TestDeriveNeverInventsAFigure(t *testing.T) {
	p, c := pair(
		Batch{Probe: "x", Readings: []Reading{{ID: Commits, Value: 100}}},
		Batch{Probe: "x", Readings: []Reading{{ID: Commits, Value: 40}, {ID: Rollbacks, Value: 3}},
			Misses: []Miss{{ID: DTLBLoads, Reason: "no PMU"}}})
	f := derive(p, c)
	for id, why := range map[string]string{
		Commits: reasonBackwards, Rollbacks: reasonFirst, DTLBLoads: "no PMU", TPS: "not measured",
	} {
		if v := f.Get(id); v.OK() || v.Missing != why {
			t.Errorf("%s: %+v, want missing because %q", id, v, why)
		}
	}
	if v := f.Get(ServerTPS); v.OK() {
		t.Errorf("server TPS of a counter that went backwards: %+v", v)
	}
	first := derive(nil, c)
	if v := first.Get(Commits); v.Missing != reasonFirst {
		t.Errorf("first sample: %+v", v)
	}
}

// Two CPUs, the second with its counter on for half of the time: 1000 + 2x500.
func TestDeriveScalesEachCPU(t *testing.T) {
	perf := func(id string, a, b Part) Reading { return Reading{ID: id, Group: "A", Parts: []Part{a, b}} }
	p, c := pair(
		Batch{Probe: "perf", Readings: []Reading{
			perf(DTLBLoads, Part{0, 0, 0}, Part{0, 0, 0}), perf(DTLBLoadMisses, Part{0, 0, 0}, Part{0, 0, 0})}},
		Batch{Probe: "perf", Readings: []Reading{
			perf(DTLBLoads, Part{1000, 100, 100}, Part{500, 100, 50}), perf(DTLBLoadMisses, Part{10, 100, 100}, Part{20, 100, 50})}})
	f := derive(p, c)
	if v := f.Get(DTLBLoads); v.Delta != 2000 || v.RunningPct != 75 {
		t.Errorf("loads %+v, want 2000 at 75 %%", v)
	}
	if v := f.Get(DTLBMissPct); !near(v.V, 2.5) {
		t.Errorf("miss rate %+v, want 50/2000 = 2.5 %%", v)
	}
}

func TestDeriveRefusesARatioAcrossGroups(t *testing.T) {
	part := func(id, g string, n uint64) Reading { return Reading{ID: id, Group: g, Parts: []Part{{n, n, n}}} }
	p, c := pair(
		Batch{Probe: "perf", Readings: []Reading{part(DTLBLoads, "A", 1), part(DTLBLoadMisses, "B", 1)}},
		Batch{Probe: "perf", Readings: []Reading{part(DTLBLoads, "A", 9), part(DTLBLoadMisses, "B", 9)}})
	if f := derive(p, c); f.Get(DTLBMissPct).OK() {
		t.Errorf("ratio of two groups: %+v", f.Get(DTLBMissPct))
	}
}

// 100 x (20 + 10 + 5) / 1000 of one group that ran half of the time: both parts are scaled, and the ratio is that of what
// was counted. Walks of another group would not be of the same moments.
func TestCeilingOfPageWalks(t *testing.T) {
	walks := func(group string, scale uint64, ids ...string) Batch {
		b := Batch{Probe: "perf", Readings: []Reading{{ID: WalkUserCycles, Group: "walks", Parts: []Part{{1000 * scale, 2000 * scale, 1000 * scale}}}}}
		for i, id := range ids {
			n := []uint64{20, 10, 5}[i] * scale
			b.Readings = append(b.Readings, Reading{ID: id, Group: group, Parts: []Part{{n, 2000 * scale, 1000 * scale}}})
		}
		return b
	}
	intel := []string{WalkUserLoad, WalkUserStore, WalkUserInstr}
	p, c := pair(walks("walks", 1, intel...), walks("walks", 3, intel...))
	f := derive(p, c)
	if v := f.Get(WalkCeilingPct); !near(v.V, 3.5) || !near(v.RunningPct, 50) || !near(v.Over/v.Under, 3.5) {
		t.Errorf("ceiling %+v, want 3.5 %% at 50 %% running", v)
	}
	p, c = pair(walks("walks", 1, WalkUserData, WalkUserInstr), walks("walks", 3, WalkUserData, WalkUserInstr))
	f = derive(p, c)
	if v := f.Get(WalkCeilingPct); !near(v.V, 3) {
		t.Errorf("ceiling of an ARM CPU %+v, want 3 %%", v)
	}
	p, c = pair(walks("other", 1, intel...), walks("other", 3, intel...))
	f = derive(p, c)
	if v := f.Get(WalkCeilingPct); v.OK() {
		t.Errorf("ceiling across groups: %+v", v)
	}
	p, c = pair(walks("walks", 1), walks("walks", 3))
	f = derive(p, c)
	if v := f.Get(WalkCeilingPct); v.OK() {
		t.Errorf("ceiling without walks: %+v", v)
	}
}

func TestDeriveTellsANeverScheduledCounterFromZero(t *testing.T) {
	r := func(v, en, run uint64) Reading { return Reading{ID: Instructions, Parts: []Part{{v, en, run}}} }
	p, c := pair(Batch{Probe: "perf", Readings: []Reading{r(0, 100, 0)}}, Batch{Probe: "perf", Readings: []Reading{r(0, 900, 0)}})
	f := derive(p, c)
	if v := f.Get(Instructions); v.Missing != reasonNotRun {
		t.Errorf("%+v", v)
	}
}

func hist(ms ...int) *Histogram {
	h := NewHistogram()
	for _, m := range ms {
		h.Record(time.Duration(m) * time.Millisecond)
	}
	return h
}

func TestDeriveLoadsTogetherAndApart(t *testing.T) {
	batch := func(a, b float64, ha, hb *Histogram) Batch {
		return Batch{Probe: "load", Readings: []Reading{
			{ID: Transactions, Label: "a", Value: a}, {ID: Transactions, Label: "b", Value: b},
			{ID: Latency, Label: "a", Hist: ha}, {ID: Latency, Label: "b", Hist: hb}}}
	}
	p, c := pair(batch(10, 20, nil, nil), batch(13, 21, hist(1, 1, 2), hist(9)))
	f := derive(p, c)
	for k, want := range map[Key]float64{
		{TPS, "a"}: 3, {TPS, "b"}: 1, {TPS, ""}: 4,
		{LatencyP50, "a"}: 1, {LatencyP50, "b"}: 9, {LatencyMean, ""}: 3.25,
	} {
		if v := f.Values[k]; !v.OK() || math.Abs(v.V-want) > 0.01*want {
			t.Errorf("%v: %+v, want %v", k, v, want)
		}
	}
	if n := c.Batches[0].Readings[2].Hist.Count(); n != 3 {
		t.Errorf("deriving changed the sample's histogram: %d values", n)
	}
}

func TestPartOfTheLoadsIsNotTheWhole(t *testing.T) {
	load := func(label string, n float64) Batch {
		return Batch{Probe: "load:" + label, Readings: []Reading{{ID: Transactions, Label: label, Value: n}}}
	}
	late := Batch{Probe: "load:b", Misses: []Miss{{ID: Transactions, Reason: "late"}}}
	for name, s := range map[string][2][]Batch{
		"one is late":       {{load("a", 10), load("b", 10)}, {load("a", 13), late}},
		"one has just come": {{load("a", 10)}, {load("a", 13), load("b", 2)}},
	} {
		f := derive(&Sample{T: time.Second, Batches: s[0]}, &Sample{T: 2 * time.Second, Batches: s[1]})
		if v := f.Get(TPS); v.OK() || v.Missing == "not measured" {
			t.Errorf("%s: %+v, want a reason and no figure", name, v)
		}
		if v := f.Of(TPS, "b"); v.OK() || v.Missing == "not measured" {
			t.Errorf("%s: it has the figure %+v", name, v)
		}
		if v := f.Of(TPS, "a"); v.V != 3 {
			t.Errorf("%s: the other load's is %+v", name, v)
		}
	}
}

func TestNoFaultsWhereNoProcessCouldBeReadBefore(t *testing.T) {
	p, c := pair(
		Batch{Probe: "backends", Backends: []Backend{{Pid: 1, StartTicks: 7}}},
		Batch{Probe: "backends", Backends: []Backend{{Pid: 1, StartTicks: 7, Use: &BackendUse{MinorFaults: 9}}}})
	f := derive(p, c)
	if v := f.Get(ServerPageFaults); v.Missing != reasonFirst {
		t.Errorf("%+v", v)
	}
}

// TestBareRowsMakeNoSpike: after a batch of rows without processes each of them
// looks new, and none of them is.
func TestBareRowsMakeNoSpike(t *testing.T) {
	old := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	p, c := pair(
		Batch{Probe: "backends", Backends: []Backend{{Pid: 1, Started: old}}},
		Batch{Probe: "backends", Backends: []Backend{{Pid: 1, StartTicks: 7, Started: old, Use: &BackendUse{MinorFaults: 9e6}}}})
	p.At, c.At = old.Add(time.Hour), old.Add(time.Hour+2*time.Second)
	f := derive(p, c)
	if v := f.Get(ServerPageFaults); v.Missing != reasonFirst {
		t.Errorf("%+v", v)
	}
}

func TestBackendRatesNeedTheSameProcess(t *testing.T) {
	b := func(pid int, start, pte, user uint64) Backend {
		return Backend{Pid: pid, StartTicks: start, Mem: &BackendMem{PageTables: pte}, Use: &BackendUse{User: user}}
	}
	p, c := pair(
		Batch{Probe: "backends", Backends: []Backend{b(1, 7, 100, 0), b(2, 7, 100, 0)}},
		Batch{Probe: "backends", Backends: []Backend{b(1, 7, 160, 50), b(2, 8, 900, 0)}})
	rows := derive(p, c).Backends
	if r := rows[0].Rates; r == nil || r.PageTables != 60 || r.UserPct != 50 {
		t.Errorf("rates %+v", r)
	}
	if rows[1].Rates != nil {
		t.Errorf("a reused pid has rates: %+v", rows[1].Rates)
	}
}

func TestServerPageFaultsAreTheProcessesOwn(t *testing.T) {
	began := func(start uint64) time.Time { // those with 9 after the first look
		return time.Date(2026, 3, 1, 12, 0, int(start)-8, 0, time.UTC)
	}
	b := func(pid int, start, min, maj uint64, own bool) Backend {
		return Backend{Pid: pid, StartTicks: start, Started: began(start), Own: own, Use: &BackendUse{MinorFaults: min, MajorFaults: maj}}
	}
	p, c := pair(
		Batch{Probe: "backends", Backends: []Backend{b(1, 7, 1000, 5, false), b(2, 7, 500, 0, false), b(3, 7, 10, 0, true),
			{Pid: 5, StartTicks: 7}, b(6, 7, 900, 0, false)}},
		Batch{Probe: "backends", Offset: time.Second, Backends: []Backend{
			b(1, 7, 1040, 7, false), // 42 more
			b(2, 9, 30, 0, false),   // another process with the pid of one that ended
			b(3, 7, 99, 0, true),    // pgtlb's own
			{Pid: 4},                // not readable
			{Pid: 5, StartTicks: 7, Use: &BackendUse{MinorFaults: 5e6}}, // not readable before
			b(6, 7, 10, 0, false),  // went backwards
			b(8, 7, 3e6, 0, false), // began before and was not listed
			{Pid: 9, StartTicks: 7, Use: &BackendUse{MinorFaults: 4e6}}, // nobody knows when it began
		}})
	p.At, c.At = began(8), began(10)
	f := derive(p, c)
	if v := f.Get(ServerPageFaults); v.Delta != 72 || v.V != 36 {
		t.Errorf("%+v, want 72 in 2 s", v)
	}
	first := derive(nil, c)
	if v := first.Get(ServerPageFaults); v.OK() {
		t.Errorf("first sample: %+v", v)
	}
	c.Batches[0].Misses = []Miss{{ID: PageTableBackendsSum, Reason: "too many open files"}}
	part := derive(p, c)
	if v := part.Get(ServerPageFaults); v.Missing != "too many open files" {
		t.Errorf("with a process that was not read: %+v", v)
	}
}

func TestClientPageFaultsAreTheLoadsFromEachBeginning(t *testing.T) {
	of := func(pid int, app string, min, maj uint64) Backend {
		return Backend{Pid: pid, Role: RoleClient, App: app, Use: &BackendUse{MinorFaults: min, MajorFaults: maj}}
	}
	const load = "pgtlb point-select"
	own := of(4, SetupName, 1e6, 0)
	own.Own = true
	backends := []Backend{of(1, load, 1000, 6), of(2, load, 500, 0), of(3, "psql", 9e6, 0), own, {Pid: 5, Role: RoleClient, App: load}}
	_, c := pair(Batch{}, Batch{Probe: "backends", Backends: backends})
	for name, test := range map[string]struct {
		backends []Backend
		misses   []Miss
		want     Value
	}{
		"mean of those that are read": {backends, nil, Value{V: 753}},
		"no load":                     {backends[2:4], nil, Value{Missing: "not measured"}},
		"some could not be read":      {backends, []Miss{{ID: PageTableBackendsSum, Reason: "too many open files"}}, Value{Missing: "too many open files"}},
	} {
		c.Batches[0].Backends, c.Batches[0].Misses = test.backends, test.misses
		f := derive(nil, c) // also in the first sample: it is no rate
		if v := f.Get(ClientPageFaults); v.V != test.want.V || v.Missing != test.want.Missing {
			t.Errorf("%s: %+v, want %+v", name, v, test.want)
		}
	}
}

func TestSampleSurvivesJSON(t *testing.T) {
	p, c := pair(
		Batch{Probe: "load", Readings: []Reading{{ID: Transactions, Label: "a", Value: 1}}},
		Batch{Probe: "load", Readings: []Reading{{ID: Transactions, Label: "a", Value: 5}, {ID: Latency, Label: "a", Hist: hist(1, 2, 3)}}})
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var back Sample
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	a, b := derive(p, c), derive(p, &back)
	for k, v := range a.Values {
		if b.Values[k] != v {
			t.Errorf("%v: %+v live, %+v from the file", k, v, b.Values[k])
		}
	}
}

func TestCatalogueIsWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Catalogue() {
		if m.ID == "" || m.Title == "" || m.Unit == "" || m.Kind == "" || m.Better == "" || m.Source == "" || m.Meaning == "" {
			t.Errorf("metric with a gap: %+v", m)
		}
		if seen[m.ID] {
			t.Errorf("metric %s twice", m.ID)
		}
		seen[m.ID] = true
	}
}

func TestHistogramAtMostAndBounds(t *testing.T) {
	h := hist(1, 5, 10)
	h.Record(0)
	h.Record(2 * time.Hour)
	if n := h.AtMost(5 * time.Millisecond); n != 3 {
		t.Errorf("at most 5 ms: %d, want 1 µs, 1 ms and 5 ms", n)
	}
	if h.Count() != 5 {
		t.Errorf("count %d", h.Count())
	}
}

func FuzzHistogramJSON(f *testing.F) {
	good, _ := json.Marshal(hist(1, 2))
	f.Add(good)
	f.Add([]byte(`"HISTFAAA"`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var h Histogram
		if json.Unmarshal(data, &h) == nil && h.packed != nil {
			_ = h.QuantileMS(0.5)
		}
	})
}
