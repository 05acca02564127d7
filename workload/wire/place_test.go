//go:build linux

package wire

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestPlaceIsGivenBack: patient until it has waited too long, then in a hurry, and in
// the end as before.
func TestPlaceIsGivenBack(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	policy := func() uint32 {
		t.Helper()
		a, err := unix.SchedGetAttr(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return a.Policy
	}
	if policy() != unix.SCHED_NORMAL {
		t.Skip("need: the usual scheduling policy")
	}
	p := newPlace(false)
	if p.stat < 0 {
		t.Skip("need: a kernel that says how long a thread waited for a CPU (CONFIG_SCHED_INFO)")
	}
	if policy() != unix.SCHED_BATCH {
		t.Error("not patient at first")
	}
	for now := time.Duration(0); now < 3*lookEvery; now += lookEvery / 100 {
		p.waited = time.Hour // more than it can have waited since
		p.answer(now)
	}
	if policy() != unix.SCHED_BATCH || p.stat < 0 {
		t.Error("in a hurry without having waited")
	}
	p.waited = -time.Hour
	p.answer(time.Hour)
	if policy() != unix.SCHED_NORMAL || p.stat >= 0 {
		t.Error("still patient after an hour's wait")
	}
	p.close()
	p.close()
	if a, err := unix.SchedGetAttr(0, 0); err != nil || *a != *p.was {
		t.Errorf("%v: left with %+v, was %+v", err, a, p.was)
	}

	p = newPlace(true)
	defer p.close()
	if policy() != unix.SCHED_NORMAL {
		t.Error("patient with a rate")
	}
}
