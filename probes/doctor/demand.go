package doctor

import (
	"fmt"

	"pgtlb/probes"
)

// demand is what the server, running or planned, asks of the huge page pool.
type demand struct {
	asked  string // huge_pages; empty for a planned server
	pageKB int    // wanted size; 0 unknown
	need   int    // pages; 0 unknown
	exact  bool   // need is the server's own or measured; else it is an upper bound
	why    string // why need is unknown
	own    int    // pages that the running server holds
	// room is how many surplus pages the kernel may still add when a program asks
	// (nr_overcommit_hugepages), if it finds the memory.
	room        int
	pool        probes.Pool
	hasPool     bool
	unsupported bool
}

// demand works out the demand from the facts.
func (s *Snapshot) demand() demand {
	d := demand{pageKB: s.Pages.Memory.DefaultPageKB}
	if s.Server != nil {
		h := s.Server.Info.HugePages
		d.asked, d.unsupported = h.Requested, h.Unsupported
		if h.WantedKB > 0 {
			d.pageKB = h.WantedKB
		}
	}
	switch {
	case d.unsupported:
		d.why = "the server says that it cannot have huge pages here (shared_memory_size_in_huge_pages is -1)"
	case d.pageKB == 0:
		d.why = "the huge page size of the machine is not known"
	default:
		d.need, d.exact = s.needed(d.pageKB)
		if d.need == 0 {
			d.why = "how much shared memory the server takes is not known"
		}
	}
	if p := s.pool(d.pageKB); p != nil {
		d.pool, d.hasPool = *p, true
		d.room = max(s.Pages.Kernel.Overcommit[d.pageKB]-p.Surplus, 0)
	}
	if s.onHugePages() && s.Server.Info.HugePages.PageKB == d.pageKB {
		d.own = d.need
		if c := s.cluster(); c != nil && c.PageKB == d.pageKB {
			d.own = pagesFor(c.SizeKB, d.pageKB)
		}
	}
	return d
}

// needed is how many pages of a size the shared memory takes, 0 unknown.
func (s *Snapshot) needed(pageKB int) (n int, exact bool) {
	if s.Server != nil {
		i := s.Server.Info
		// From 15 on the server says it; before it is the address space at its
		// largest, which is more than the shared memory.
		if i.HugePages.Needed > 0 && i.HugePages.WantedKB == pageKB && i.VersionNum >= 150000 {
			return i.HugePages.Needed, true
		}
		if kb := s.sharedKB(); kb > 0 {
			return pagesFor(kb, pageKB), true
		}
		if i.HugePages.WantedKB == pageKB {
			return i.HugePages.Needed, false
		}
		return 0, false
	}
	return pagesFor(s.sharedKB(), pageKB), true
}

// sharedKB is the size of the server's shared memory, running or planned; 0
// unknown. From a mapping of huge pages it is rounded up to these.
func (s *Snapshot) sharedKB() uint64 {
	if s.Server == nil {
		return s.plannedKB()
	}
	if kb := s.Server.Info.SharedMemoryKB; kb > 0 {
		return kb
	}
	if c := s.cluster(); c != nil {
		return c.SizeKB
	}
	return 0
}

// plannedKB is the shared memory of a server that does not run: what was said of
// it, else what the log of a failed start says; 0 where neither does.
func (s *Snapshot) plannedKB() uint64 {
	if st := s.Pages.Start; s.PlannedKB == 0 && st != nil && !st.Later {
		return uint64(st.NeedBytes+1023) / 1024
	}
	return s.PlannedKB
}

// unplanned tells that there is neither a server nor the size of a planned one.
func (s *Snapshot) unplanned() bool { return s.Server == nil && s.plannedKB() == 0 }

// sysV tells whether the server makes its shared memory by System V calls: then it
// has no huge pages.
func (s *Snapshot) sysV() bool {
	if s.Server == nil {
		return false
	}
	t, _ := s.Server.Exam.Setting("shared_memory_type")
	return t.Value == "sysv"
}

// cluster is the examined server among those of the machine; nil where it is
// not seen.
func (s *Snapshot) cluster() *probes.Cluster {
	if s.Server == nil || s.Server.Info.PostmasterPid == 0 {
		return nil
	}
	for i := range s.Pages.Clusters {
		if s.Pages.Clusters[i].Pid == s.Server.Info.PostmasterPid {
			return &s.Pages.Clusters[i]
		}
	}
	return nil
}

// onHugePages tells whether the examined server is proved to run on them.
func (s *Snapshot) onHugePages() bool {
	return s.Server != nil && s.Server.Info.HugePages.InUse == "on"
}

// inUseKB is the page size that the server's shared memory has, or where no
// server runs would have without huge pages.
func (s *Snapshot) inUseKB() int {
	if s.Server != nil && s.Server.Info.HugePages.PageKB > 0 {
		return s.Server.Info.HugePages.PageKB
	}
	return s.granuleKB()
}

// granuleKB is the size of the machine's ordinary pages. It shows in the huge
// page sizes: a table of 8-byte entries that is one page large maps 2 MB with
// 4 kB pages, 32 MB with 16 kB and 512 MB with 64 kB (the last two on arm64).
func (s *Snapshot) granuleKB() int {
	switch {
	case s.pool(512<<10) != nil:
		return 64
	case s.pool(32<<10) != nil && s.pool(64) == nil:
		return 16
	}
	return 4
}

// available is how many pages the server can have: its own, those that nobody
// has or was promised, and those that the kernel may add.
func (d demand) available() int { return d.own + d.pool.Available() + d.room }

// short is how many pages the pool lacks for the server to start on it.
func (d demand) short() int {
	if d.need == 0 {
		return 0
	}
	return max(d.need-d.available(), 0)
}

// wants is how many free pages of a size the server still has a use for: for its
// next start, all of them while it does not hold them now.
func (d demand) wants(pageKB int) int {
	if d.pageKB != pageKB || d.asked == "off" {
		return 0
	}
	return max(d.need-d.own, 0)
}

// target is the size of the pool with which the server can start.
func (d demand) target() int { return d.pool.Persistent() + d.short() }

// words states the demand: "2,109 pages of 2 MB (4.1 GB) needed, 2,065 available".
func (d demand) words() string {
	text := pages(d.need, d.pageKB) + " needed"
	if !d.exact {
		text = "at most " + text + " (measured by the address space, because servers before 15 do not say it)"
	}
	if !d.hasPool {
		return text + ", and this machine has no pool of that size"
	}
	text += fmt.Sprintf(", %s available (pool %s, free %s, of these reserved %s", number(d.available()),
		number(d.pool.Total), number(d.pool.Free), number(d.pool.Reserved))
	if d.own > 0 {
		text += fmt.Sprintf(", held by this server %s", number(d.own))
	}
	if d.room > 0 {
		text += fmt.Sprintf(", and the kernel may add %s on demand", number(d.room))
	}
	return text + ")"
}

// alter are the lines that change a setting of the server which takes a restart,
// and those that take it back.
func (s *Snapshot) alter(name, value string) (fix, undo []string) {
	set, ok := s.Server.Exam.Setting(name)
	if !ok {
		set = probes.ExamSetting{Name: name, Context: "postmaster"}
	}
	fix, undo, _ = alter(s, set, value)
	return fix, undo
}

func hugePages(s *Snapshot) HugePages {
	d := s.demand()
	h := HugePages{Waits: s.coming(d).names, Requested: d.asked, WantedKB: d.pageKB, DefaultKB: s.Pages.Memory.DefaultPageKB, Needed: d.need, Total: d.pool.Total, Free: d.pool.Free,
		Reserved: d.pool.Reserved, Shortfall: d.short()}
	if s.Server != nil {
		i := s.Server.Info.HugePages
		h.InUse, h.PageKB, h.Proof = i.InUse, i.PageKB, i.Proof
	}
	return h
}
