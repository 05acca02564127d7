package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"math"

	"github.com/prometheus/procfs"
)

// Lock is what may stand in the way of locked memory.
type Lock struct {
	// Limit is "Max locked memory" of the postmaster in bytes, its soft limit;
	// Unlimited is set where there is none, both are empty where it is not known.
	Limit     int64 `json:"limit,omitempty"`
	Unlimited bool  `json:"unlimited,omitempty"`
	Known     bool  `json:"known,omitempty"`
	// ShmGroup is vm.hugetlb_shm_group, whose members may make System V memory of
	// huge pages; nil where it is not known.
	ShmGroup *int64 `json:"shm_group,omitempty"`
}

// lookAtLock reads the limits of the postmaster once, for Limits too: nil where they
// cannot be read.
func lookAtLock(f files, postmaster int) (Lock, *Limits) {
	var l Lock
	if n, ok := f.number("/proc/sys/vm/hugetlb_shm_group"); ok {
		l.ShmGroup = &n
	}
	if postmaster == 0 {
		return l, nil
	}
	limits, err := processLimits(f, postmaster)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			f.deny(fmt.Sprintf("/proc/%d/limits", postmaster), err)
		}
		return l, nil
	}
	l.Known = true
	if l.Unlimited = limits.LockedMemory > math.MaxInt64; !l.Unlimited {
		l.Limit = int64(limits.LockedMemory)
	}
	return l, &Limits{OpenFiles: limits.OpenFiles, Processes: limits.Processes}
}

func processLimits(f files, pid int) (procfs.ProcLimits, error) {
	pfs, err := procfs.NewFS(f.tree.Roots().ProcPath())
	if err != nil {
		return procfs.ProcLimits{}, err
	}
	p, err := pfs.Proc(pid)
	if err != nil {
		return procfs.ProcLimits{}, err
	}
	return p.Limits()
}

func (l Lock) words() string {
	if l.Unlimited {
		return "the postmaster may lock any amount of memory"
	}
	return "the postmaster may lock " + memory(uint64(l.Limit)>>10)
}

// checkLock clears up an old piece of advice. The kernel asks for the right to
// lock memory only for System V memory of huge pages (SHM_HUGETLB: CAP_IPC_LOCK or
// the group vm.hugetlb_shm_group); mmap with MAP_HUGETLB, which PostgreSQL uses,
// needs neither that nor RLIMIT_MEMLOCK.
func checkLock(s *Snapshot) Check {
	c := Check{
		ID: "memlock", Title: "Locked memory limit of the server", Status: OK,
		Why: "PostgreSQL maps its huge pages by mmap, for which the kernel asks neither for RLIMIT_MEMLOCK nor for a " +
			"group. Only System V memory of huge pages (SHM_HUGETLB) needs CAP_IPC_LOCK or membership in " +
			"vm.hugetlb_shm_group, and PostgreSQL makes none: with shared_memory_type = sysv it has no huge pages at all.",
		Sources: []string{"/proc/PID/limits", "/proc/sys/vm/hugetlb_shm_group", "systemd unit files"},
	}
	l := s.Pages.Lock
	switch {
	case s.Server == nil:
		c.Status, c.Found = NotHere, "no server was asked, and one that starts needs no such limit"
		return c
	case !l.Known:
		c.Status = Unknown
		c.Found = fmt.Sprintf("the limits of process %d cannot be read", s.Server.Info.PostmasterPid)
		return c
	}
	c.Found = l.words() + ": that does not matter for huge pages"
	if l.ShmGroup != nil && *l.ShmGroup != 0 {
		c.Found += fmt.Sprintf(", and neither does the group %d of vm.hugetlb_shm_group", *l.ShmGroup)
	}
	if u := s.Pages.Unit; u != nil && u.LimitMEMLOCK != "" {
		c.Found += fmt.Sprintf(" (%s sets LimitMEMLOCK=%s)", u.Name, u.LimitMEMLOCK)
	}
	if s.sysV() {
		c.Status = NotHere
		c.Found = l.words() + "; with shared_memory_type = sysv PostgreSQL has no huge pages whatever the limits are (see shared_memory_type)"
	}
	return c
}
