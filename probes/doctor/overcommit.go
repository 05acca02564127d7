package doctor

import "fmt"

// Commit is what /proc/meminfo says of promised memory and of swap, in kB.
type Commit struct {
	LimitKB    uint64 `json:"limit_kb"`     // CommitLimit: what mode 2 of overcommit allows
	PromisedKB uint64 `json:"promised_kb"`  // Committed_AS: what processes may still come to use
	SwapFreeKB uint64 `json:"swap_free_kb"` // of PageMemory.SwapKB
}

// ordinaryKB is the memory outside the huge page pools.
func (s *Snapshot) ordinaryKB() uint64 {
	return s.Pages.Memory.TotalKB - min(s.poolsKB(), s.Pages.Memory.TotalKB)
}

// tightCommit is the share of CommitLimit from which on mode 2 is close to refusing.
const tightCommit = 0.9

// strictPercent is the share of ordinary memory that mode 2 may promise: the rest is
// for the kernel and its caches.
const strictPercent = 80

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
	m := s.System.Commit
	switch {
	case !ok:
		return unknown(s, c, "/proc/sys/vm/overcommit_memory")
	case m == nil:
		return unknown(s, c, "/proc/meminfo")
	}
	backed := s.ordinaryKB() + s.Pages.Memory.SwapKB
	switch mode {
	case 1:
		c.Status, c.Found = Warn, fmt.Sprintf("vm.overcommit_memory is 1: the kernel never refuses; %s are promised, memory and swap without the huge page pool are %s",
			memory(m.PromisedKB), memory(backed))
		c.Expected = "0, or 2 on a machine for PostgreSQL alone"
		c.Fix, c.Undo = persistent(s, "91-pgtlb-overcommit.conf", "vm.overcommit_memory=0")
		c.Takes = TakesNothing
	case 2:
		c.strict(s, m)
	default:
		c.Status, c.Found = OK, fmt.Sprintf("vm.overcommit_memory is 0: the kernel refuses by estimate; %s are promised, memory and swap without the huge page pool are %s",
			memory(m.PromisedKB), memory(backed))
		if m.PromisedKB > backed {
			c.Status = Warn
			// No ratio up to 100 would leave what is promised now its room in mode 2.
			c.Expected = fmt.Sprintf("at most %s promised: fewer sessions, or less else on the machine", memory(backed))
		}
	}
	return c
}

// strict judges mode 2.
func (c *Check) strict(s *Snapshot, m *Commit) {
	share := float64(m.PromisedKB) / float64(max(m.LimitKB, 1))
	c.Status = OK
	c.Found = fmt.Sprintf("vm.overcommit_memory is 2: %s of at most %s are promised (%.0f %%); the limit is %s", memory(m.PromisedKB), memory(m.LimitKB), share*100, limitWords(s))
	c.Expected = fmt.Sprintf("less than %.0f %% promised", tightCommit*100)
	if share < tightCommit {
		return
	}
	c.Status = Warn
	want := s.ordinaryKB() / 100 * strictPercent
	// The kernel goes by the one of the two that was written last, and makes the
	// other 0.
	if kb, ok := s.sysctl("vm.overcommit_kbytes"); ok && kb > 0 {
		if uint64(kb) < want {
			c.Fix, c.Undo = persistent(s, "91-pgtlb-overcommit.conf", "vm.overcommit_memory=2", fmt.Sprintf("vm.overcommit_kbytes=%d", want))
		}
	} else if ratio, _ := s.sysctl("vm.overcommit_ratio"); ratio < strictPercent {
		c.Fix, c.Undo = persistent(s, "91-pgtlb-overcommit.conf", "vm.overcommit_memory=2", fmt.Sprintf("vm.overcommit_ratio=%d", strictPercent))
	}
	if c.Takes = TakesNothing; len(c.Fix) == 0 {
		c.Takes, c.Expected = "", c.Expected+": fewer sessions, or less else on the machine"
	}
}

// limitWords says how the kernel makes CommitLimit.
func limitWords(s *Snapshot) string {
	m := s.Pages.Memory
	if kb, ok := s.sysctl("vm.overcommit_kbytes"); ok && kb > 0 {
		return fmt.Sprintf("vm.overcommit_kbytes %s + %s swap", memory(uint64(kb)), memory(m.SwapKB))
	}
	ratio, _ := s.sysctl("vm.overcommit_ratio")
	return fmt.Sprintf("%d %% (vm.overcommit_ratio) of %s memory − %s huge page pool, + %s swap", ratio, memory(m.TotalKB), memory(s.poolsKB()), memory(m.SwapKB))
}
