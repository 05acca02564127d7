package probes

import (
	"fmt"
	"os"
	"time"

	"github.com/prometheus/procfs"
)

// CPUTime is what all CPUs of the machine together have done since the boot.
type CPUTime struct {
	Busy, Idle time.Duration
	// Steal is what a hypervisor gave to other guests. A kernel that does not
	// count it has none of it in its Busy and Idle either.
	Steal    time.Duration
	HasSteal bool
}

// ReadCPUTime reads /proc/stat.
func ReadCPUTime(roots Roots) (CPUTime, error) {
	path := roots.ProcPath("stat")
	b, err := os.ReadFile(path)
	if err != nil {
		return CPUTime{}, unreadable(path, err, "")
	}
	t, err := parseCPUTimes(b)
	if err != nil {
		return CPUTime{}, fmt.Errorf("reading %s: %w", path, err)
	}
	return CPUTime{Busy: ticks(t.user + t.kernel), Idle: ticks(t.idle), Steal: ticks(t.steal), HasSteal: t.hasSteal}, nil
}

func ticks(n uint64) time.Duration { return time.Duration(n) * (time.Second / ticksPerSecond) }

// LoadAverage is the machine's load average of the last minute.
func LoadAverage(roots Roots) (float64, error) {
	pfs, err := procfs.NewFS(roots.ProcPath())
	if err != nil {
		return 0, fmt.Errorf("reading the load average: %w", err)
	}
	l, err := pfs.LoadAvg()
	if err != nil {
		return 0, fmt.Errorf("reading the load average: %w", err)
	}
	return l.Load1, nil
}

// FamilyCPU is the CPU time, user and kernel, of a process, of its children and
// of the children that it has had: all that a PostgreSQL server has used since
// its start, when the process is the postmaster.
func FamilyCPU(roots Roots, pid int) (time.Duration, error) {
	pfs, err := procfs.NewFS(roots.ProcPath())
	if err != nil {
		return 0, fmt.Errorf("reading the CPU time of process %d: %w", pid, err)
	}
	// A child that ends while its family is read would be counted twice or not
	// at all: then everything is read again.
	for range familyTries {
		sum, stable, err := familyCPU(pfs, roots, pid)
		if err != nil {
			return 0, fmt.Errorf("reading the CPU time of process %d and its children: %w", pid, err)
		}
		if stable {
			return sum, nil
		}
	}
	return 0, fmt.Errorf("reading the CPU time of process %d and its children: they end too fast", pid)
}

const familyTries = 20

// familyCPU reads a family once; stable tells that no child has ended meanwhile.
func familyCPU(pfs procfs.FS, roots Roots, pid int) (sum time.Duration, stable bool, err error) {
	before, err := statOf(pfs, pid)
	if err != nil {
		return 0, false, err
	}
	children, err := listChildren(roots, pid)
	if err != nil {
		return 0, false, err
	}
	n := uint64(before.UTime + before.STime)
	for _, c := range children {
		s, err := statOf(pfs, c)
		if err != nil {
			return 0, false, nil // it has ended: read again
		}
		n += uint64(s.UTime+s.STime) + reaped(s)
	}
	after, err := statOf(pfs, pid)
	if err != nil {
		return 0, false, err
	}
	return ticks(n + reaped(after)), reaped(before) == reaped(after), nil
}

// reaped is what the children that a process has waited for had used, in ticks.
func reaped(s procfs.ProcStat) uint64 { return uint64(max(0, s.CUTime) + max(0, s.CSTime)) }

func statOf(pfs procfs.FS, pid int) (procfs.ProcStat, error) {
	p, err := pfs.Proc(pid)
	if err != nil {
		return procfs.ProcStat{}, err
	}
	return p.Stat()
}
