package wire

import (
	"bytes"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// slice is the time slice that a thread in a hurry asks for, the shortest the
	// kernel gives.
	slice = 100 * time.Microsecond
	// patience is the wait for a CPU, per answer, above which a thread is in a hurry.
	// Among backends that execute short statements it waits for 5 to 250 µs per
	// answer, behind a long query for a time slice, some milliseconds.
	patience = 500 * time.Microsecond
	// lookEvery is how often the thread looks how long it waited.
	lookEvery = 50 * time.Millisecond
)

// place is a thread's place among those that wait for a CPU.
//
// At first the thread is patient (SCHED_BATCH): it takes no CPU from a backend
// that executes a statement, but runs when that waits for the next one, and then finds
// several answers at once. With 8 clients on 2 CPUs, that saved a tenth to a fifth of
// its CPU time against a hurry. But what is measured must not be the thread's own
// wait for a CPU. With a rate, and once other work keeps it waiting for longer, it is in a
// hurry, and runs soon after an answer has arrived: with two long queries beside 500
// transactions a second, the median latency was 0.3 ms, instead of 3 ms with patience. It
// gets no more CPU time by that. Kernels before 6.12 know no hurry, and one
// that refuses is as good: the thread then runs as others do.
type place struct {
	was     *unix.SchedAttr // nil if it is not to be touched
	stat    int             // descriptor of the thread's schedstat, -1 once in a hurry
	next    time.Duration   // when to look again
	waited  time.Duration   // for a CPU, in all, at the last look
	answers int             // since the last look
}

// newPlace is the calling thread's.
func newPlace(hurry bool) *place {
	p := &place{stat: -1, next: lookEvery}
	was, err := unix.SchedGetAttr(0, 0)
	if err != nil || was.Policy != unix.SCHED_NORMAL {
		return p // somebody has chosen another policy
	}
	p.was = was
	if !hurry {
		p.stat, err = unix.Open("/proc/thread-self/schedstat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		hurry = err != nil || !p.read() || !p.be(unix.SCHED_BATCH, 0)
	}
	if hurry {
		p.hurry()
	}
	return p
}

// be takes a policy and a time slice, 0 for the usual one, and tells whether it may.
func (p *place) be(policy uint32, slice time.Duration) bool {
	attr := *p.was
	attr.Policy, attr.Runtime = policy, uint64(slice)
	return unix.SchedSetAttr(0, &attr, 0) == nil
}

// hurry is for the rest of the run.
func (p *place) hurry() {
	p.be(unix.SCHED_NORMAL, slice)
	p.closeStat()
}

// answer is told that an answer has been read. The thread hurries if it has had to
// wait for a CPU for too long lately.
func (p *place) answer(now time.Duration) {
	if p.stat < 0 {
		return
	}
	p.answers++
	if now < p.next {
		return
	}
	before := p.waited
	if !p.read() || p.waited-before > patience*time.Duration(p.answers) {
		p.hurry()
	}
	p.answers, p.next = 0, now+lookEvery
}

// read finds out how long the thread has waited for a CPU.
func (p *place) read() bool {
	var b [96]byte
	n, err := unix.Pread(p.stat, b[:], 0)
	if err != nil {
		return false
	}
	// ns on a CPU, ns of waiting for one, how many times it was on one
	fields := bytes.Fields(b[:n])
	if len(fields) != 3 {
		return false
	}
	ns, err := strconv.ParseInt(string(fields[1]), 10, 64)
	p.waited = time.Duration(ns)
	return err == nil
}

// close gives the place back as it was.
func (p *place) close() {
	if p.was != nil {
		_ = unix.SchedSetAttr(0, p.was, 0) // what was set before is allowed
	}
	p.closeStat()
}

func (p *place) closeStat() {
	if p.stat >= 0 {
		_ = unix.Close(p.stat) // nothing is lost with it
	}
	p.stat = -1
}
