package doctor

import (
	"fmt"

	"pgtlb/probes"
)

// PageMemory is what /proc/meminfo says, in kB; 0 is unknown.
type PageMemory struct {
	TotalKB      uint64 `json:"total_kb"`
	FreeKB       uint64 `json:"free_kb"`
	AvailableKB  uint64 `json:"available_kb"`
	PageTablesKB uint64 `json:"page_tables_kb"` // of all processes of the machine
	SwapKB       uint64 `json:"swap_kb"`
	// DefaultPageKB is the size of the huge pages that a program gets which asks
	// for no size.
	DefaultPageKB int `json:"default_page_kb"`
}

// lookAtMemory reads /proc/meminfo once, for Commit too: nil where it does not say all
// of that.
func lookAtMemory(f files) (PageMemory, *Commit) {
	m, err := probes.ReadMeminfo(f.tree.Roots())
	if err != nil {
		f.s.unread("/proc/meminfo", err)
		return PageMemory{}, nil
	}
	value := func(p *uint64) uint64 {
		if p == nil {
			return 0
		}
		return *p
	}
	var commit *Commit
	if m.CommitLimit != nil && m.CommittedAS != nil && m.SwapFree != nil {
		commit = &Commit{LimitKB: *m.CommitLimit, PromisedKB: *m.CommittedAS, SwapFreeKB: *m.SwapFree}
	}
	return PageMemory{
		TotalKB: value(m.MemTotal), FreeKB: value(m.MemFree), AvailableKB: value(m.MemAvailable),
		PageTablesKB: value(m.PageTables), SwapKB: value(m.SwapTotal), DefaultPageKB: int(value(m.Hugepagesize)),
	}, commit
}

// keepKB is the memory that must stay outside the pools beyond what is in use
// now: a tenth of the machine, 2 GB at least. Pools that took everything have
// made machines unreachable.
func (m PageMemory) keepKB() uint64 { return max(m.TotalKB/10, 2<<20) }

// othersKB is what is used outside the pools and will be used beside the server
// in huge pages: all that is not available, less the pools, less what the server
// has touched of shared memory in ordinary pages, which moves into the pool, and its
// page tables, of which little is left then.
func (s *Snapshot) othersKB() uint64 {
	m := s.Pages.Memory
	used := m.TotalKB - min(m.AvailableKB, m.TotalKB)
	moves := uint64(0)
	if p := s.Pages.Processes; p != nil {
		moves = p.TouchedKB + p.PageTablesKB
	}
	return used - min(used, s.poolsKB()+moves)
}

// mostPages is the largest pool of one page size that leaves the machine what it
// needs: total memory less keepKB, less what others use, less the pools of other
// sizes. With freed, idle pages of other sizes count as given back.
func (s *Snapshot) mostPages(pageKB int, freed bool) int {
	if pageKB <= 0 {
		return 0
	}
	m := s.Pages.Memory
	taken := m.keepKB() + s.othersKB()
	for _, p := range s.Host.Pools {
		switch {
		case p.PageKB == pageKB:
		case freed:
			taken += kBOf(p.Total-p.Available(), p.PageKB)
		default:
			taken += kBOf(p.Total, p.PageKB)
		}
	}
	return int((m.TotalKB - min(taken, m.TotalKB)) / uint64(pageKB))
}

// rule states mostPages in words.
func (s *Snapshot) rule() string {
	m := s.Pages.Memory
	return fmt.Sprintf("of %s, %s stay for what others use now and %s (a tenth, 2 GB at least) for everything else",
		memory(m.TotalKB), memory(s.othersKB()), memory(m.keepKB()))
}

func checkRAM(s *Snapshot) Check {
	c := Check{
		ID: "ram_floor", Title: "Memory left beside the pools", Status: OK,
		Expected: "the pools leave what others use now and a tenth of the memory, 2 GB at least",
		Why: "Pages of a pool can be used for nothing else, not even when the machine runs out of memory: " +
			"a pool that is too large makes it swap, kill processes or hang at boot.",
		Sources: []string{"/proc/meminfo", "/sys/kernel/mm/hugepages"},
	}
	m := s.Pages.Memory
	if m.TotalKB == 0 || m.AvailableKB == 0 {
		c.Status, c.Found = Unknown, "the memory size is not known: "+s.unreadReason("/proc/meminfo")
		return c
	}
	pools := s.poolsKB()
	c.Found = fmt.Sprintf("the pools take %s of %s, others use %s, %s are available, %s should stay",
		memory(pools), memory(m.TotalKB), memory(s.othersKB()), memory(m.AvailableKB), memory(m.keepKB()))
	if w, ok := s.atMost(); ok {
		c.Found += "; " + w
	}
	if pools == 0 {
		return c
	}
	if pools+s.othersKB()+m.keepKB() <= m.TotalKB {
		return c
	}
	c.Status = Warn
	idle := uint64(0)
	for _, p := range s.Host.Pools {
		idle += kBOf(p.Available(), p.PageKB)
	}
	if m.AvailableKB < m.TotalKB/20 {
		c.Status = Fail
	}
	keep := s.keepsPool()
	for _, p := range s.Host.Pools {
		if spare := p.Available() - s.demand().wants(p.PageKB); spare > 0 && keep == "" {
			do, undo := shrinkPool(s, p.PageKB, p.Persistent()-spare)
			c.Fix, c.Undo = append(c.Fix, do...), append(c.Undo, undo...)
		}
	}
	c.Takes = TakesNothing
	switch {
	case len(c.Fix) > 0:
		c.Found += fmt.Sprintf("; %s of the pools are used by nobody", memory(idle))
	case keep != "" && idle > 0:
		c.Found += fmt.Sprintf("; %s of the pools are free: %s", memory(idle), keep)
		c.Takes = ""
	default:
		c.Found += "; the pools are in use, so a smaller shared_buffers is what gives memory back"
		c.Takes = TakesRestart
	}
	return c
}

// atMost says in words what the backends may take at max_connections, where the
// settings are known.
func (s *Snapshot) atMost() (string, bool) {
	if s.Server == nil || s.Server.Info.MaxConnections == 0 {
		return "", false
	}
	workKB, ok := settingNumber(s, "work_mem")
	if !ok || workKB <= 0 {
		return "", false
	}
	work := uint64(workKB)
	n := s.Server.Info.MaxConnections
	b := bill(s)
	kb := uint64(n) * work
	text := fmt.Sprintf("%s backends with one work_mem (%s) each would take %s", number(n), memory(work), memory(kb))
	if row := b.row(s.inUseKB()); row != nil {
		text += fmt.Sprintf(" and their page tables %s", memory(uint64(row.MaxKB)))
	}
	return text, true
}
