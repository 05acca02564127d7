package perf

import (
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// Ask opens each of the events on one CPU for the machine and, with a postmaster's pid, on that process, and closes it
// at once. It says what may be opened, not that it counts: that is SelfTest's. Events that this CPU does not have are
// left out.
func Ask(o Options, ids ...string) Asked {
	cpu, _ := readCPU(o) // an unreadable cpuinfo costs only the raw events
	events, _ := catalogue(cpu)
	a := Asked{Facts: readFacts(o, events)}
	a.Facts.Scope = System()
	for _, e := range events {
		if !slices.Contains(ids, e.ID) {
			continue
		}
		a.Answers = append(a.Answers, Answer{e, System(), openOnce(e, target{pid: -1, cpu: firstCPU(o)})})
		if o.Scope.Postmaster != 0 {
			a.Answers = append(a.Answers, Answer{e, o.Scope, openOnce(e, target{pid: o.Scope.Postmaster, cpu: -1})})
		}
	}
	return a
}

// firstCPU is the first CPU that is online; 0 where the list cannot be read.
func firstCPU(o Options) int {
	o.Scope = System()
	ts, err := targets(o, nil)
	if err != nil || len(ts) == 0 {
		return 0
	}
	return ts[0].cpu
}

// openOnce opens one event, closes it and returns the error number, 0 for success.
func openOnce(e Event, on target) syscall.Errno {
	fd, err := unix.PerfEventOpen(e.attr(true, false, false), on.pid, on.cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return toErrno(err)
	}
	// The descriptor was only asked for its existence; nothing is lost when closing it fails.
	_ = unix.Close(fd)
	return 0
}
