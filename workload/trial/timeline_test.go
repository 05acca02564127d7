package trial

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"pgtlb/probes"
	"pgtlb/workload"
)

// play feeds the frames of a run to a timeline up to a number of samples.
func play(t *timeline, r *Run, n int) {
	for _, f := range Frames(r)[:n] {
		t.add(f)
	}
}

func TestTimelineFollowsTheRunAndKeepsItsFigures(t *testing.T) {
	r := published4kB().run()
	tl := timeline{next: &RunState{Name: "x"}}
	play(&tl, r, len(r.Samples))
	var st State
	tl.fill(&st)
	if st.Run == nil || st.Run.Active || st.Run.Name != "x" {
		t.Fatalf("run %+v: want the finished run x", st.Run)
	}
	want := Summarize(Frames(r))
	for _, id := range []string{probes.TPS, probes.PageFaults, probes.PageTables, probes.LatencyP99} {
		if got, want := st.Run.Summary.Get(id), want.Get(id); got != want {
			t.Errorf("%s: %+v live, %+v from the file", id, got, want)
		}
	}
	if got := st.History[st.Run.From].T - st.Run.Start; got != time.Second {
		t.Errorf("first frame of the run ends %v after its start", got)
	}
}

func TestBaselineCoversTheSameLengthAsTheRun(t *testing.T) {
	base := newBaseline(published4kB().meta, Frames(published4kB().run()))
	cand := published2MB().run()
	tl := timeline{}
	tl.setBaseline(base)
	play(&tl, cand, lead+1+5)
	var st State
	tl.fill(&st)
	if got, want := st.Baseline.Summary.Seconds, 5.0; got != want {
		t.Errorf("baseline over %v s beside a run of %v s", got, want)
	}
	if st.Baseline.Ended {
		t.Error("the baseline has not ended yet")
	}
	row := PairRow(probes.MustLookup(probes.TPS), "", st.Baseline.Summary.Get(probes.TPS), st.Run.Summary.Get(probes.TPS))
	if row.DiffPct == nil || *row.DiffPct < 7.9 || *row.DiffPct > 8 {
		t.Errorf("TPS %+v, want the published +7.93 %%", row)
	}
	base.reach(time.Hour)
	if !base.state.Ended {
		t.Error("a run longer than the baseline: Ended must say so")
	}
	base.reach(3 * time.Second)
	if got := base.state.Summary.Seconds; got != 3 {
		t.Errorf("a shorter run afterwards: baseline over %v s, want 3", got)
	}
}

func TestTimelineStatesAreNotChangedAfterwards(t *testing.T) {
	r := published4kB().run()
	r.Samples[lead+2].Batches = append(r.Samples[lead+2].Batches, probes.Batch{Probe: "b", Backends: []probes.Backend{{Pid: 1}}})
	frames := Frames(r)
	tl := timeline{}
	for _, f := range frames[:lead+3] {
		tl.add(f)
	}
	var st State
	tl.fill(&st)
	before := len(st.Last().Backends)
	tl.add(frames[lead+3])
	if before == 0 || len(st.Last().Backends) != before {
		t.Errorf("backends of a published state went from %d to %d", before, len(st.Last().Backends))
	}
}

func TestMailboxKeepsTheNewestAndCountsTheRest(t *testing.T) {
	m := newMailbox()
	shown := []probes.Frame{{}}
	m.put(State{Seq: 1}) // of the start: it does not count
	for seq := range uint64(3) {
		m.put(State{Seq: 1 + seq, History: shown})
	}
	s, err := m.next(t.Context())
	if err != nil || s.Seq != 3 || s.Dropped != 2 {
		t.Errorf("got %d with %d dropped, %v", s.Seq, s.Dropped, err)
	}
	m.last = m.last.Add(-2 * droppedFade)
	m.put(State{Seq: 3, History: shown})
	if s, err = m.next(t.Context()); err != nil || s.Dropped != 0 {
		t.Errorf("%d still count as dropped, %v", s.Dropped, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("nothing new: %v", err)
	}
	m.put(State{Seq: 4})
	m.close()
	if s, err := m.next(t.Context()); err != nil || s.Seq != 4 {
		t.Errorf("the last state before the end is lost: %v %v", s.Seq, err)
	}
	for range 2 {
		if _, err := m.next(t.Context()); !errors.Is(err, io.EOF) {
			t.Errorf("after the end: %v", err)
		}
	}
}

func TestStepsComeOneAfterTheOther(t *testing.T) {
	var p steps
	p.plan("a", "b", "c")
	p.update(progress("a", 0, 0))
	p.update(progress("extra", 1, 2))
	p.update(progress("b", 5, 10))
	var got []string
	for _, s := range p.list {
		got = append(got, s.Name+" "+string(s.State))
	}
	want := []string{"a done", "extra done", "b running", "c pending"}
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Fatalf("steps %q, want %q", got, want)
		}
	}
	p.fail()
	if p.list[2].State != StepFailed {
		t.Errorf("the running step did not fail: %+v", p.list[2])
	}
}

func TestReplaySeeksBothWays(t *testing.T) {
	run := published4kB().run()
	store, err := OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := NewReplay(run, store, t.TempDir())
	whole := r.Whole()
	if !whole.Replay.Ended || whole.Run == nil || whole.Run.Active {
		t.Fatalf("whole run: %+v %+v", whole.Replay, whole.Run)
	}
	r.command(Seek{By: -10})
	back := r.state()
	if back.Replay.Pos != len(run.Samples)-10 || !back.Run.Active || len(back.History) != back.Replay.Pos {
		t.Errorf("10 back: %+v, run %+v, %d frames", back.Replay, back.Run, len(back.History))
	}
	r.command(Seek{By: 1000})
	again := r.state()
	if got, want := again.Run.Summary.Get(probes.TPS), whole.Run.Summary.Get(probes.TPS); got != want {
		t.Errorf("after seeking there and back %+v, want %+v", got, want)
	}
	r.command(ToggleLoad{Key: 1})
	if n := r.state().Notices; len(n) == 0 || !n[len(n)-1].Error {
		t.Error("starting a load in a replay is refused with a message")
	}
}

func progress(phase string, done, total int64) workload.Progress {
	return workload.Progress{Phase: phase, Done: done, Total: total}
}

// Growth needs the page tables of older frames for a minute; the rows go at once.
func TestTimelineKeepsPageTablesForAMinute(t *testing.T) {
	rows := []probes.BackendRow{{Backend: probes.Backend{Pid: 1, StartTicks: 1, Role: probes.RoleClient, Mem: &probes.BackendMem{PageTables: 5}}}}
	var tl timeline
	for i := range 100 {
		tl.add(probes.Frame{T: time.Duration(i) * time.Second, Elapsed: time.Second, Backends: rows, Clients: probes.ClientTables(rows)})
	}
	for i, f := range tl.history {
		if kept := f.Clients != nil; kept != (i >= 39) {
			t.Errorf("frame %d keeps the page tables of its clients: %v", i, kept)
		}
	}
	if g := probes.GrowthOfClients(tl.history); !g.Growth.OK() || g.Window != time.Minute || g.Backends != 1 {
		t.Errorf("%+v", g)
	}
}
