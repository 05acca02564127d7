package probes

import (
	"errors"
	"io/fs"
)

// maxKeptProcesses is for how many processes the files stay open between reads,
// two each: perf events need descriptors too.
const maxKeptProcesses = 1000

// process is one process of the server.
type process struct {
	pid          int // in our pid namespace
	start        uint64
	nspid        int // in the server's pid namespace
	role         string
	named        bool // role is that of a title of its own
	status, stat procFile
	mem          BackendMem
	hasMem       bool
	use          BackendUse
	round        uint64 // the last read that saw it
}

// fill gives a row the figures of this process.
func (p *process) fill(b *Backend) {
	b.Pid, b.StartTicks = p.pid, p.start
	use := p.use
	b.Use = &use
	if p.hasMem {
		mem := p.mem
		b.Mem = &mem
	}
}

// processTable reads the processes of a server again and again, with their
// files kept open: 5 to 7 µs for each instead of 20.
type processTable struct {
	roots Roots
	procs map[int]*process
	title string // the postmaster's, which its children have at first
	round uint64
	buf   []byte
}

func newProcessTable(roots Roots) *processTable {
	return &processTable{roots: roots, procs: map[int]*process{}, buf: make([]byte, 0, 4096)}
}

// read returns the postmaster and its children as they are now; the processes
// are valid until the next read. Without any the error says why.
func (t *processTable) read(pm postmaster) ([]*process, error) {
	t.round++
	title, err := readTitle(t.roots, pm.pid)
	if err != nil {
		return nil, err
	}
	t.title = title
	root, err := t.look(pm.pid)
	switch {
	case err != nil:
		return nil, err
	case root.start != pm.start:
		return nil, &Unavailable{What: "the server's processes", Reason: "the postmaster has ended"}
	}
	root.role, root.named = RolePostmaster, true
	children, err := listChildren(t.roots, pm.pid)
	if err != nil {
		return nil, err
	}
	list := make([]*process, 0, len(children)+1)
	list = append(list, root)
	var denied error
	for _, pid := range children {
		p, err := t.look(pid)
		switch {
		case err == nil:
			list = append(list, p)
		case errors.Is(err, fs.ErrPermission):
			denied = err // the others may be readable
		}
	}
	t.forget()
	return list, denied
}

// look reads one process, from its open files if it is known.
func (t *processTable) look(pid int) (*process, error) {
	p := t.procs[pid]
	if p != nil {
		if err := t.refresh(p); err == nil {
			return p, nil
		}
		t.drop(p) // ended; the pid may belong to a new process
	}
	p, err := t.meet(pid)
	if err != nil {
		return nil, err
	}
	if err := t.refresh(p); err != nil {
		t.drop(p)
		return nil, err
	}
	return p, nil
}

// meet opens the files of a process that was not known.
func (t *processTable) meet(pid int) (*process, error) {
	keep := len(t.procs) < maxKeptProcesses
	stat, err := openProcFile(pidPath(t.roots, pid, "stat"), keep)
	if err != nil {
		return nil, err
	}
	status, err := openProcFile(pidPath(t.roots, pid, "status"), keep)
	if err != nil {
		stat.close()
		return nil, err
	}
	p := &process{pid: pid, stat: stat, status: status}
	t.procs[pid] = p
	return p, nil
}

// refresh reads status, then stat: files that are opened anew for each read
// belong to one process when the start is still the same at the end.
func (t *processTable) refresh(p *process) error {
	var err error
	if t.buf, err = p.status.read(t.buf); err != nil {
		return err
	}
	status, err := parseProcStatus(t.buf)
	if err != nil {
		return err
	}
	if t.buf, err = p.stat.read(t.buf); err != nil {
		return err
	}
	stat, err := parseProcStat(t.buf)
	if err != nil {
		return err
	}
	if p.start != 0 && p.start != stat.start {
		return &Unavailable{What: "process", Reason: "the process has ended"}
	}
	p.start, p.nspid = stat.start, status.nspid
	p.mem, p.hasMem, p.use = status.mem, status.hasMem, stat.use
	p.round = t.round
	if p.named {
		return nil
	}
	title, err := readTitle(t.roots, p.pid)
	if err != nil {
		return err
	}
	p.role = roleOfTitle(title, t.title)
	// A new process takes its title a moment after its start.
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
	p.stat.close()
	p.status.close()
	delete(t.procs, p.pid)
}

func (t *processTable) close() {
	for _, p := range t.procs {
		t.drop(p)
	}
}
