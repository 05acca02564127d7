package doctor

import (
	"fmt"

	"pgtlb/probes"
)

// Memory is what /proc/meminfo says, in kB.
type Memory struct {
	TotalKB       uint64 `json:"total_kb"`
	AvailableKB   uint64 `json:"available_kb"`
	CommitLimitKB uint64 `json:"commit_limit_kb"` // what mode 2 of overcommit allows
	CommittedKB   uint64 `json:"committed_kb"`    // Committed_AS: what processes may still come to use
	SwapTotalKB   uint64 `json:"swap_total_kb"`
	SwapFreeKB    uint64 `json:"swap_free_kb"`
	HugetlbKB     uint64 `json:"hugetlb_kb"` // pools of all sizes, used or not
}

func (l looker) memory() {
	m, err := probes.ReadMeminfo(l.roots)
	if err != nil {
		l.s.unread("/proc/meminfo", err)
		return
	}
	kb := func(p *uint64) uint64 {
		if p == nil {
			return 0
		}
		return *p
	}
	mem := &Memory{TotalKB: kb(m.MemTotal), AvailableKB: kb(m.MemAvailable), CommitLimitKB: kb(m.CommitLimit),
		CommittedKB: kb(m.CommittedAS), SwapTotalKB: kb(m.SwapTotal), SwapFreeKB: kb(m.SwapFree), HugetlbKB: kb(m.Hugetlb)}
	if m.Hugetlb == nil { // before Linux 4.15: the default size alone
		mem.HugetlbKB = kb(m.HugePagesTotal) * kb(m.Hugepagesize)
	}
	l.s.System.Memory = mem
}

// tightCommit is the share of CommitLimit from which on mode 2 is close to refusing.
const tightCommit = 0.9

// checkOvercommit is "overcommit": whether the kernel promises more memory than
// it has.
func checkOvercommit(s *Snapshot) Check {
	c := Check{ID: "overcommit", Title: "Memory overcommit",
		Sources: []string{"/proc/sys/vm/overcommit_memory", "/proc/meminfo CommitLimit, Committed_AS"},
		Why: "With 0 the kernel refuses only a single request that is plainly too large, with 1 none at all: when all promises are called in " +
			"at once, it kills a process. With 2 it refuses what goes beyond CommitLimit: PostgreSQL then reports \"out of memory\" for one query and goes on. " +
			"The huge page pool is taken out of the memory that CommitLimit is a share of; what is mapped from the pool is not in Committed_AS."}
	if elsewhere(s, &c) {
		return c
	}
	mode, ok := s.sysctl("vm.overcommit_memory")
	m := s.System.Memory
	switch {
	case !ok:
		return unknown(s, c, "/proc/sys/vm/overcommit_memory")
	case m == nil:
		return unknown(s, c, "/proc/meminfo")
	}
	backed := m.TotalKB - min(m.HugetlbKB, m.TotalKB) + m.SwapTotalKB
	switch mode {
	case 1:
		c.Status, c.Found = Warn, fmt.Sprintf("vm.overcommit_memory is 1: the kernel never refuses; %s are promised, memory and swap without the huge page pool are %s",
			mem(m.CommittedKB), mem(backed))
		c.Expected = "0, or 2 on a machine for PostgreSQL alone"
		c.Fix, c.Undo = persistent(s, "91-postgresql-overcommit.conf", "vm.overcommit_memory=0")
		c.Takes = TakesNothing
	case 2:
		c.strict(s, m)
	default:
		c.Status, c.Found = OK, fmt.Sprintf("vm.overcommit_memory is 0: the kernel refuses by estimate; %s are promised, memory and swap without the huge page pool are %s",
			mem(m.CommittedKB), mem(backed))
		if m.CommittedKB > backed {
			c.Status = Warn
			c.Expected = fmt.Sprintf("at most %s promised, or 2 with a limit on a machine for PostgreSQL alone", mem(backed))
			c.suggestStrict(s, m)
		}
	}
	return c
}

// strict judges mode 2.
func (c *Check) strict(s *Snapshot, m *Memory) {
	share := float64(m.CommittedKB) / float64(max(m.CommitLimitKB, 1))
	c.Status = OK
	c.Found = fmt.Sprintf("vm.overcommit_memory is 2: %s of at most %s are promised (%.0f %%); the limit is %s", mem(m.CommittedKB), mem(m.CommitLimitKB), share*100, limitWords(s, m))
	c.Expected = fmt.Sprintf("less than %.0f %% promised", tightCommit*100)
	if share < tightCommit {
		return
	}
	c.Status = Warn
	ratio, _ := s.sysctl("vm.overcommit_ratio")
	if ratio < 80 {
		c.Fix, c.Undo = persistent(s, "91-postgresql-overcommit.conf", "vm.overcommit_memory=2", "vm.overcommit_ratio=80")
		c.Takes = TakesNothing
	}
}

// limitWords says how the kernel makes CommitLimit.
func limitWords(s *Snapshot, m *Memory) string {
	if kb, ok := s.sysctl("vm.overcommit_kbytes"); ok && kb > 0 {
		return fmt.Sprintf("vm.overcommit_kbytes %s + %s swap", mem(uint64(kb)), mem(m.SwapTotalKB))
	}
	ratio, _ := s.sysctl("vm.overcommit_ratio")
	return fmt.Sprintf("%d %% (vm.overcommit_ratio) of %s memory − %s huge page pool, + %s swap", ratio, mem(m.TotalKB), mem(m.HugetlbKB), mem(m.SwapTotalKB))
}

// suggestStrict offers mode 2 with the smallest ratio that leaves what is promised
// now its room, where there is one.
func (c *Check) suggestStrict(s *Snapshot, m *Memory) {
	base := m.TotalKB - min(m.HugetlbKB, m.TotalKB)
	if base == 0 {
		return
	}
	want := float64(m.CommittedKB)/tightCommit - float64(m.SwapTotalKB)
	ratio := max(80, int(want/float64(base)*100)+1)
	if ratio > 100 {
		c.Expected += "; what is promised now is more than mode 2 could sensibly allow: lower work_mem or max_connections first"
		return
	}
	c.Fix, c.Undo = persistent(s, "91-postgresql-overcommit.conf", fmt.Sprintf("vm.overcommit_ratio=%d", ratio), "vm.overcommit_memory=2")
	c.Takes, c.UndoFirst = TakesNothing, true
}

// mem writes an amount of memory in kB.
func mem[T uint64 | int64 | int](kb T) string { return probes.Memory(float64(kb)) }
