package perf

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// standIns opens software events under the names of hardware events: cpu-clock counts always, dummy never does. So
// the machinery of groups, layouts and self-test runs on machines without a PMU.
func standIns(t *testing.T, o Options, dead ...string) *Set {
	t.Helper()
	openSoftware(t, o)
	s := &Set{opts: o, events: map[string]Event{}, find: func() ([]target, error) { return targets(o, nil) },
		how: how{inherit: o.Scope.Postmaster != 0, atomic: true}}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	for _, p := range plans()[1:] {
		u := &unit{plan: p.of(func(id string) bool { return slices.Contains(intelIDs(), id) })}
		u.reset(intelIDs())
		for _, id := range u.want {
			e := Event{ID: id, Title: id, Type: typeSoftware, Config: unix.PERF_COUNT_SW_CPU_CLOCK}
			if slices.Contains(dead, id) {
				e.Config = unix.PERF_COUNT_SW_DUMMY
			}
			s.events[id] = e
		}
		s.units = append(s.units, u)
	}
	if missing, err := s.attach(s.units); err != nil || len(missing) > 0 {
		t.Fatalf("attach: %v, %v", missing, err)
	}
	return s
}

// intelIDs are the events of the fullest case.
func intelIDs() []string {
	events, _ := catalogue(CPU{Vendor: "GenuineIntel", Family: 6, Model: 0x6a})
	out := make([]string, len(events))
	for i, e := range events {
		out[i] = e.ID
	}
	return out
}

func groupOf(s *Set, id string) string {
	for _, e := range s.Events() {
		if e.ID == id {
			return e.Group
		}
	}
	return ""
}

func ids(ms []Missing) []string {
	var out []string
	for _, m := range ms {
		out = append(out, m.ID)
	}
	slices.Sort(out)
	return out
}

func TestSelfTestGivesUpTheDead(t *testing.T) {
	for name, c := range map[string]struct{ dead, missing []string }{
		"none":              {nil, nil},
		"one":               {[]string{DTLBLoads}, []string{DTLBLoads}},
		"load walks":        {[]string{WalkCyclesLoad}, []string{Cycles, WalkCyclesLoad}},
		"store walks":       {[]string{WalkCyclesStore}, []string{WalkCyclesStore}},
		"a user space walk": {[]string{WalkUserStore}, []string{WalkUserCycles, WalkUserInstr, WalkUserLoad, WalkUserStore}},
		"one of each":       {[]string{Instructions, DTLBLoadMisses}, []string{DTLBLoadMisses, Instructions}},
		"a leader":          {[]string{CyclesUser}, []string{CyclesUser}},
		"a whole plan":      {[]string{Cycles, DTLBLoads, DTLBLoadMisses, WalkCyclesLoad}, []string{Cycles, DTLBLoadMisses, DTLBLoads, WalkCyclesLoad}},
		"all but cycles:u":  {[]string{CyclesKernel, Instructions, WalkCyclesStore}, []string{CyclesKernel, Instructions, WalkCyclesStore}},
	} {
		t.Run(name, func(t *testing.T) {
			s := standIns(t, Options{}, c.dead...)
			all := len(s.Events())
			missing, err := s.SelfTest(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if got := ids(missing); !slices.Equal(got, c.missing) {
				t.Errorf("missing %v, want %v", got, c.missing)
			}
			for _, m := range missing {
				if m.State != NotCounted || m.Reason == "" {
					t.Errorf("%+v", m)
				}
				if s.has(m.ID) {
					t.Errorf("%s is missing and open", m.ID)
				}
			}
			if open := len(s.Events()); open+len(missing) != all {
				t.Errorf("%d of %d events are open, %d missing", open, all, len(missing))
			}
			for _, p := range [][2]string{{CyclesUser, CyclesKernel}, {DTLBLoads, DTLBLoadMisses}, {Cycles, WalkCyclesLoad}} {
				if a, b := groupOf(s, p[0]), groupOf(s, p[1]); a != "" && b != "" && a != b {
					t.Errorf("%s is in %q, %s in %q", p[0], a, p[1], b)
				}
			}
			got := measure(t, s, func() {
				if err := churn(); err != nil {
					t.Fatal(err)
				}
			})
			for _, e := range s.Events() {
				if got[e.ID] == 0 {
					t.Errorf("%s stays at 0 after the self-test", e.ID)
				}
			}
		})
	}
}

func TestSelfTestOfATree(t *testing.T) {
	h, err := startHelper("tree")
	if err != nil {
		t.Fatal(err)
	}
	defer h.stop()
	s := standIns(t, Options{Scope: Tree(h.cmd.Process.Pid)}, DTLBLoads)
	missing, err := s.SelfTest(context.Background())
	if err != nil || !slices.Equal(ids(missing), []string{DTLBLoads}) {
		t.Fatalf("missing %v, %v", missing, err)
	}
	got := measure(t, s, func() {
		if err := h.do("old", 5000); err != nil {
			t.Fatal(err)
		}
	})
	for _, e := range s.Events() {
		if got[e.ID] == 0 {
			t.Errorf("%s does not count the tree after the self-test", e.ID)
		}
	}
	if len(got) != len(s.events)-1 {
		t.Errorf("%d events count, want %d", len(got), len(s.events)-1)
	}
}

func TestSelfTestStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, o := range []Options{{}, {Scope: Tree(1)}} {
		s := standIns(t, o, DTLBLoads)
		all := len(s.Events())
		if _, err := s.SelfTest(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", o.Scope, err)
		}
		if n := len(s.Events()); n != all {
			t.Errorf("%s: %d of %d events are open after a cancelled self-test", o.Scope, n, all)
		}
	}
}

// A unit that is tried event by event when the test is cut short gets its groups back.
func TestCutShortWhileAlone(t *testing.T) {
	s := standIns(t, Options{})
	for _, u := range s.units {
		if err := u.close(); err != nil {
			t.Fatal(err)
		}
		u.goAlone()
	}
	if _, err := s.attach(s.units); err != nil {
		t.Fatal(err)
	}
	if groupOf(s, DTLBLoads) == groupOf(s, DTLBLoadMisses) {
		t.Fatal("the events are not alone")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.SelfTest(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if groupOf(s, DTLBLoads) != groupOf(s, DTLBLoadMisses) || groupOf(s, DTLBLoads) == "" {
		t.Error("the events stay alone after a cancelled self-test")
	}
}

// Where every event counts alone, what fails is the layout: the next one is tried, and the best one kept.
func TestAdvance(t *testing.T) {
	u := &unit{plan: plans()[1]}
	want := []string{CyclesUser, CyclesKernel, Instructions}
	u.reset(want)
	stuck := trial{alive: []string{CyclesUser, Instructions}, dead: []silence{{Missing{ID: CyclesKernel}, true}}}
	if dropped, _ := u.advance(stuck, nil); len(dropped) != 0 || !u.alone {
		t.Fatalf("first: dropped %v, alone %v", dropped, u.alone)
	}
	if dropped, _ := u.advance(trial{alive: want}, nil); len(dropped) != 0 || u.alone || u.at != 0 {
		t.Fatalf("all alive alone: dropped %v, alone %v, at %d", dropped, u.alone, u.at)
	}
	if dropped, _ := u.advance(stuck, nil); len(dropped) != 0 || !u.layouts[u.at].exclusive {
		t.Fatalf("stuck together: dropped %v, layout %s", dropped, u.layouts[u.at])
	}
	u.at = len(u.layouts) - 1
	stuck.at = u.at
	dropped, restart := u.advance(stuck, []trial{stuck})
	if !restart || len(dropped) != 1 || dropped[0].ID != CyclesKernel || u.at != 0 || !slices.Equal(u.want, stuck.alive) {
		t.Fatalf("at the end: dropped %v, at %d, want %v", dropped, u.at, u.want)
	}
}

func TestSilent(t *testing.T) {
	events := map[string]Event{"a": {}, "b": {}, "c": {}, "q": {quiet: true}}
	read := func(a, b, c Count) []Reading {
		return []Reading{{ID: "a", Per: []Count{a}}, {ID: "b", Per: []Count{b}}, {ID: "c", Per: []Count{c}}, {ID: "q", Per: []Count{c}}}
	}
	got := silent(read(Count{}, Count{}, Count{}), read(Count{1, 9, 9}, Count{0, 9, 0}, Count{0, 9, 9}), events)
	if len(got) != 2 {
		t.Fatalf("silent: %+v", got)
	}
	if b := got["b"]; b.stuck || !strings.Contains(b.missing.Reason, "never scheduled") || !strings.Contains(b.missing.Remedy, "nmi_watchdog") {
		t.Errorf("never scheduled: %+v", b)
	}
	if c := got["c"]; !c.stuck || !strings.Contains(c.missing.Reason, "stays at 0") || !strings.Contains(c.missing.Remedy, "filter") {
		t.Errorf("stays at 0: %+v", c)
	}
}

// An event that ran and stayed at 0 can only be helped by taking turns; one that never ran by smaller groups.
func TestNextLayout(t *testing.T) {
	u := &unit{plan: plans()[1]}
	u.reset([]string{CyclesUser, CyclesKernel, Instructions})
	for _, c := range []struct {
		at    int
		stuck bool
		want  string
	}{
		{0, false, "cycles_user+cycles_kernel, instructions"},
		{0, true, "cycles_user+instructions, cycles_kernel (taking turns)"},
		{3, true, "cycles_user, cycles_kernel, instructions (taking turns)"},
	} {
		next := u.next(trial{at: c.at, dead: []silence{{stuck: c.stuck}}})
		if got := u.layouts[next].String(); got != c.want {
			t.Errorf("after %d, stuck %v: %s, want %s", c.at, c.stuck, got, c.want)
		}
	}
	if next := u.next(trial{at: len(u.layouts) - 1}); next != len(u.layouts) {
		t.Errorf("after the last: %d", next)
	}
}

func TestBestTrial(t *testing.T) {
	two := []string{CyclesUser, Instructions}
	got := bestTrial([]trial{{at: 0, alive: two[:1]}, {at: 1, alive: two}, {at: 2, alive: two}})
	if got.at != 1 {
		t.Errorf("best is %d, want the first with most living events", got.at)
	}
}
