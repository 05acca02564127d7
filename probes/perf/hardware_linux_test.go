package perf

import (
	"context"
	"slices"
	"testing"
)

// openTested opens a set, runs its self-test and logs what is missing.
func openTested(t *testing.T, o Options) *Set {
	t.Helper()
	s, missing, err := Open(o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	more, err := s.SelfTest(context.Background())
	if err != nil {
		t.Fatalf("SelfTest: %v", err)
	}
	for _, m := range append(missing, more...) {
		t.Logf("missing %s: %s: %s [%s]", m.ID, m.State, m.Reason, m.Remedy)
	}
	return s
}

// measure returns the scaled counts of what happens in f, by event id. Events that are not counted are not in it.
func measure(t *testing.T, s *Set, f func()) map[string]float64 {
	t.Helper()
	before := mustRead(t, s)
	f()
	after := mustRead(t, s)
	out := map[string]float64{}
	for i, a := range after {
		if a.ID != before[i].ID || a.Group != before[i].Group {
			t.Fatalf("reads do not match: %s in %s after %s in %s", a.ID, a.Group, before[i].ID, before[i].Group)
		}
		delta, share, counted := Scale(before[i].Per, a.Per)
		t.Logf("%-18s %-10s %14.0f  ran %3.0f %%  counted %v", a.ID, a.Group, delta, 100*share, counted)
		if counted {
			out[a.ID] = delta
		}
	}
	return out
}

func mustRead(t *testing.T, s *Set) []Reading {
	t.Helper()
	r, missing, err := s.Read(nil)
	if err != nil || len(missing) > 0 {
		t.Fatalf("Read: %v, missing %v", err, missing)
	}
	return r
}

// TestHardwareCounts proves on a machine with a PMU that cycles in both modes, instructions and dTLB load misses are
// counted system wide and in a tree, together or by turns.
func TestHardwareCounts(t *testing.T) {
	events, _ := catalogue(CPU{})
	if errno := tryOpen(events, CyclesUser); errno != 0 {
		t.Skipf("need: a CPU with hardware counters (cycles:u does not open: %v)", errno)
	}
	for _, scope := range []Scope{System(), Tree(1)} {
		t.Run(scope.String(), func(t *testing.T) {
			s := openTested(t, Options{Scope: scope})
			got := measure(t, s, func() {
				for range 20 {
					if err := churn(); err != nil {
						t.Fatal(err)
					}
				}
			})
			for _, id := range []string{CyclesUser, CyclesKernel, Instructions, DTLBLoadMisses} {
				open := slices.ContainsFunc(s.Events(), func(e Event) bool { return e.ID == id })
				if !open {
					t.Errorf("%s is not open", id)
				}
				if scope == System() && got[id] == 0 {
					t.Errorf("%s stayed at 0 under load", id)
				}
			}
		})
	}
}
