package probes

import (
	"bytes"
	"cmp"
	"os"
	"slices"
	"time"
)

// BusyProcess is a process with the CPU time that it used between two looks.
type BusyProcess struct {
	Pid    int
	Name   string  // as the kernel has it, 15 bytes at most
	CPUPct float64 // of one CPU
}

// BusyReader finds the processes of the machine that use most CPU time. It is not
// for every tick: it reads a file of each process.
type BusyReader struct {
	roots  Roots
	server int // the postmaster's pid, 0 where it is not known
	at     time.Time
	atTick uint64 // the same in ticks since the boot
	before map[int]usedCPU
}

// usedCPU is what a process has used since its start, in ticks.
type usedCPU struct{ start, ticks uint64 }

// NewBusyReader returns a reader that leaves out this process and the server whose
// postmaster has that pid, with its children.
func NewBusyReader(roots Roots, postmaster int) *BusyReader {
	return &BusyReader{roots: roots, server: postmaster}
}

// Look returns the most busy processes since the look before, most first, at most
// n; none at the first look.
func (r *BusyReader) Look(n int) ([]BusyProcess, error) {
	pids, err := ListPids(r.roots)
	if err != nil {
		return nil, err
	}
	up, err := sinceBoot()
	if err != nil {
		return nil, err
	}
	now, tick, seen := time.Now(), uint64(up*ticksPerSecond/time.Second), make(map[int]usedCPU, len(pids))
	elapsed := now.Sub(r.at).Seconds() * ticksPerSecond
	var out []BusyProcess
	for _, pid := range pids {
		b, err := os.ReadFile(pidPath(r.roots, pid, "stat"))
		if err != nil {
			continue // it has ended, or is hidden
		}
		st, err := parseProcStat(b)
		if err != nil || pid == os.Getpid() || r.server != 0 && (pid == r.server || st.ppid == r.server) {
			continue
		}
		used := usedCPU{st.start, st.use.User + st.use.Kernel}
		seen[pid] = used
		before := r.before[pid]
		switch {
		case before.start == used.start:
		case used.start < r.atTick:
			continue // it was there and was not read
		default:
			before.ticks = 0 // it began since
		}
		if used.ticks > before.ticks && !r.at.IsZero() {
			out = append(out, BusyProcess{pid, commandName(b), 100 * float64(used.ticks-before.ticks) / elapsed})
		}
	}
	r.at, r.atTick, r.before = now, tick, seen
	slices.SortFunc(out, func(a, b BusyProcess) int { return cmp.Or(cmp.Compare(b.CPUPct, a.CPUPct), a.Pid-b.Pid) })
	return out[:min(n, len(out))], nil
}

// commandName is the name in parentheses in /proc/PID/stat.
func commandName(stat []byte) string {
	from, to := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if from < 0 || to < from {
		return ""
	}
	return Clean(string(stat[from+1 : to]))
}
