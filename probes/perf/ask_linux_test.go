package perf

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAsk(t *testing.T) {
	a := Ask(Options{Scope: Tree(os.Getpid()), Binary: "/opt/pgtlb"}, PageFaults, CyclesUser)
	if len(a.Answers) != 4 {
		t.Fatalf("answers %+v", a.Answers)
	}
	for i, want := range []struct {
		id    string
		scope Scope
	}{{PageFaults, System()}, {PageFaults, Tree(os.Getpid())}, {CyclesUser, System()}, {CyclesUser, Tree(os.Getpid())}} {
		got := a.Answers[i]
		if got.Event.ID != want.id || got.Scope != want.scope {
			t.Errorf("answer %d is of %s, %s", i, got.Event.ID, got.Scope)
		}
		if os.Geteuid() == 0 && got.Event.ID == PageFaults && got.Errno != 0 && got.Errno != unix.EPERM {
			t.Errorf("root may not count page faults, %s: %v", got.Scope, got.Errno)
		}
	}
	if got := a.Answers[3].Errno; got != a.Facts.CyclesUser {
		t.Errorf("cycles:u of the own process: %v, of the own thread: %v", got, a.Facts.CyclesUser)
	}
	if a.Facts.Scope != System() || a.Facts.Binary != "/opt/pgtlb" {
		t.Errorf("facts %+v", a.Facts)
	}
	if alone := Ask(Options{}, PageFaults); len(alone.Answers) != 1 || alone.Answers[0].Scope != System() {
		t.Errorf("without a postmaster: %+v", alone.Answers)
	}
}
