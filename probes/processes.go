package probes

import (
	"errors"
	"fmt"
	"time"
)

// lookAgain is how often a process is looked at that has not run meanwhile. Its
// counters stand still; its memory can be taken away by others all the same: by
// reclaim, and by the kernel when it makes huge pages of shared memory.
const lookAgain = 10 * time.Second

// filesPerProcess are schedstat, stat and status.
const filesPerProcess = 3

// errEnded: the pid belongs to another process now.
var errEnded = errors.New("the process has ended")

// process is one process of the server.
type process struct {
	pid   int // in our pid namespace
	start uint64
	// begun is start by the wall clock of when it was first listed.
	begun time.Time
	nspid int // in the server's pid namespace
	role  string
	named bool // role is that of a title of its own
	// ran tells whether the process has run since the read before, or may have:
	// always true for a new one and for one of which it cannot be told.
	ran bool

	schedstat, stat, status procFile
	// runTime is what schedstat said last; 0 where it does not tell, which is
	// also so for a process with several threads.
	runTime uint64
	due     time.Time   // when it is looked at again although it has not run
	round   uint64      // the last read that saw it
	mem     *BackendMem // nil where status does not tell; never written again
	use     *BackendUse // never written again
}

// fill gives a row the figures of this process.
func (p *process) fill(b *Backend) {
	b.Pid, b.StartTicks, b.Mem, b.Use = p.pid, p.start, p.mem, p.use
}

// processTable reads the processes of a server again and again, with their
// files kept open. A process that has slept since the last read costs one short
// file, 3 µs, instead of 13 µs for all.
type processTable struct {
	roots   Roots
	procs   map[int]*process
	title   string // the postmaster's, which its children have at first; read when it is needed
	round   uint64
	now     time.Time // of this round
	maxKept int       // for how many processes the files stay open
	buf     []byte
}

func newProcessTable(roots Roots) *processTable {
	// Half of the files that may be open are left to perf events and the rest.
	return &processTable{roots: roots, procs: map[int]*process{}, buf: make([]byte, 0, 4096),
		maxKept: mayOpen() / 2 / filesPerProcess}
}

// read returns the postmaster and its children as they are now; the processes
// are valid until the next read. The error says why there are none, or why some
// that have not ended are not among them.
func (t *processTable) read(pm postmaster) ([]*process, error) {
	t.round++
	t.now, t.title = time.Now(), ""
	root, err := t.look(pm.pid, pm.pid)
	switch {
	case err != nil:
		return nil, err
	case root.start != pm.start:
		return nil, &Unavailable{What: "the server's processes", Reason: "the postmaster has ended"}
	}
	children, err := listChildren(t.roots, pm.pid)
	if err != nil {
		return nil, err
	}
	list := make([]*process, 0, len(children)+1)
	list = append(list, root)
	var unread error // why the list is not whole
	for _, pid := range children {
		p, err := t.look(pid, pm.pid)
		switch {
		case err == nil:
			list = append(list, p)
		case !gone(err) && !errors.Is(err, errEnded):
			unread = fmt.Errorf("reading process %d of the server: %w", pid, err) // the others may be readable
		}
	}
	t.forget()
	return list, unread
}

// look reads one process, from its open files if it is known.
func (t *processTable) look(pid, postmaster int) (*process, error) {
	p := t.procs[pid]
	if p != nil {
		if err := t.refresh(p, postmaster); err == nil {
			return p, nil
		}
		t.drop(p) // ended; the pid may belong to a new process
	}
	p, err := t.meet(pid)
	if err != nil {
		return nil, err
	}
	if err := t.refresh(p, postmaster); err != nil {
		t.drop(p)
		return nil, err
	}
	return p, nil
}

// meet opens the files of a process that was not known.
func (t *processTable) meet(pid int) (*process, error) {
	p := &process{pid: pid, schedstat: noProcFile(), stat: noProcFile(), status: noProcFile()}
	keep := len(t.procs) < t.maxKept
	for _, f := range []struct {
		into *procFile
		name string
	}{{&p.schedstat, "schedstat"}, {&p.stat, "stat"}, {&p.status, "status"}} {
		var err error
		*f.into, err = openProcFile(pidPath(t.roots, pid, f.name), keep)
		if err != nil && f.into != &p.schedstat { // not every kernel has schedstat
			p.close()
			return nil, err
		}
	}
	// The second looks at many processes that came together are spread.
	p.due = t.now.Add(lookAgain * time.Duration(1+pid%10) / 10)
	t.procs[pid] = p
	return p, nil
}

// refresh reads a process, wholly only if it has run since or it is time.
func (t *processTable) refresh(p *process, postmaster int) error {
	runTime := t.runTime(p)
	p.ran = runTime == 0 || runTime != p.runTime || !p.named
	if p.ran || !t.now.Before(p.due) {
		threads, err := t.measure(p)
		if err != nil {
			return err
		}
		if threads != 1 {
			runTime = 0 // schedstat is about one thread
		}
		if !p.due.After(t.now) {
			p.due = t.now.Add(lookAgain)
		}
	}
	// Read before the figures: what ran in between is seen the next time.
	p.runTime, p.round = runTime, t.round
	if p.named {
		return nil
	}
	return t.name(p, postmaster)
}

// runTime is the CPU time of a process by its scheduler, 0 where that is not told.
func (t *processTable) runTime(p *process) uint64 {
	var err error
	if t.buf, err = p.schedstat.read(t.buf); err != nil {
		return 0 // stat says what is wrong
	}
	n, ok := parseRunTime(t.buf)
	if !ok {
		return 0
	}
	return n
}

// measure reads status, then stat, and returns the number of threads: files that
// are opened anew for each read belong to one process when the start is still
// the same at the end.
func (t *processTable) measure(p *process) (threads uint64, err error) {
	if t.buf, err = p.status.read(t.buf); err != nil {
		return 0, err
	}
	status, err := parseProcStatus(t.buf)
	if err != nil {
		return 0, err
	}
	if t.buf, err = p.stat.read(t.buf); err != nil {
		return 0, err
	}
	stat, err := parseProcStat(t.buf)
	if err != nil {
		return 0, err
	}
	if p.start != 0 && p.start != stat.start {
		return 0, errEnded
	}
	p.start, p.nspid = stat.start, status.nspid
	p.setMem(status)
	if p.use == nil || *p.use != stat.use {
		use := stat.use
		p.use = &use
	}
	return status.threads, nil
}

// setMem keeps the memory that was handed out where it is still true.
func (p *process) setMem(s procStatus) {
	switch {
	case !s.hasMem:
		p.mem = nil
	case p.mem == nil || *p.mem != s.mem:
		mem := s.mem
		p.mem = &mem
	}
}

// name finds out what a process is. A new process takes its title a moment after
// its start.
func (t *processTable) name(p *process, postmaster int) error {
	if p.pid == postmaster {
		p.role, p.named = RolePostmaster, true
		return nil
	}
	if t.title == "" {
		title, err := readTitle(t.roots, postmaster)
		if err != nil {
			return err
		}
		t.title = title
	}
	title, err := readTitle(t.roots, p.pid)
	if err != nil {
		return err
	}
	p.role = roleOfTitle(title, t.title)
	p.named = p.role != roleStarting && p.role != RoleOther
	return nil
}

// forget drops the processes that this round did not see.
func (t *processTable) forget() {
	for _, p := range t.procs {
		if p.round != t.round {
			t.drop(p)
		}
	}
}

func (t *processTable) drop(p *process) {
	p.close()
	delete(t.procs, p.pid)
}

func (t *processTable) close() {
	for _, p := range t.procs {
		t.drop(p)
	}
}

func (p *process) close() {
	p.schedstat.close()
	p.stat.close()
	p.status.close()
}
