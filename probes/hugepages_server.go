package probes

import "fmt"

// smallPageKB is the size of an ordinary page where it is not proved: 4 kB on
// x86 and on nearly every ARM and RISC-V system.
const smallPageKB = 4

// hugePagesOf judges which pages the server's shared memory has. The memory map
// proves it; else what the server says about itself; else what the postmaster has
// mapped; else the request, when it leaves no choice.
func hugePagesOf(roots Roots, info ServerInfo, f serverFacts) HugePages {
	h := HugePages{Requested: info.HugePages.Requested}
	wanted := wantedPageKB(roots, f)
	h.WantedKB = wanted
	h.Unsupported = f.neededPages != nil && *f.neededPages < 0
	h.Needed = neededPages(roots, info, f, wanted)
	judgeInUse(&h, roots, info, f, wanted)
	if h.FellBack() && h.Needed > 0 {
		h.Short = shortage(roots, wanted, h.Needed)
	}
	return h
}

func judgeInUse(h *HugePages, roots Roots, info ServerInfo, f serverFacts, wanted int) {
	why := info.NoPostmasterWhy
	if info.PostmasterPid != 0 {
		proof, err := ProvePages(roots, info.PostmasterPid)
		if err == nil {
			h.PageKB, h.Proof, h.InUse = proof.PageKB, proof.Words, "off"
			// Ordinary pages have 64 kB at most (ARM, POWER); the smallest huge
			// page that PostgreSQL could get there is 2 MB.
			if proof.PageKB > 64 {
				h.InUse = "on"
			}
			return
		}
		why = reasonOf(err)
	}
	switch {
	case f.status != nil && *f.status == "on":
		h.InUse, h.PageKB, h.Proof = "on", wanted, "huge_pages_status"
	case f.status != nil && *f.status == "off":
		h.InUse, h.PageKB, h.Proof = "off", smallPageKB, "huge_pages_status"
	case judgeByUse(h, roots, info.PostmasterPid, wanted):
	case h.Requested == "off":
		h.InUse, h.PageKB, h.Proof = "off", smallPageKB, "huge_pages = off"
	case h.Requested == "on":
		h.InUse, h.PageKB, h.Proof = "on", wanted, "huge_pages = on, with which the server does not start otherwise"
	default:
		h.Proof = fmt.Sprintf("not proved: huge_pages_status needs PostgreSQL 17, this is %s; %s", info.Version, why)
	}
}

// judgeByUse takes what everybody may read of the postmaster: how many huge
// pages it has mapped. It sets up the shared memory, so it has some if that
// memory is made of them, and has none otherwise.
func judgeByUse(h *HugePages, roots Roots, pid, wanted int) bool {
	if pid == 0 {
		return false
	}
	st, err := readProcStatus(roots, pid)
	if err != nil || !st.hasMem {
		return false
	}
	h.InUse, h.PageKB, h.Proof = "off", smallPageKB, "postmaster's HugetlbPages, which is 0"
	switch {
	case st.mem.NoHugetlb:
		h.Proof = "a kernel without CONFIG_HUGETLBFS, which has no huge pages"
	case st.mem.Hugetlb > 0:
		h.InUse, h.PageKB, h.Proof = "on", wanted, "postmaster's HugetlbPages"
	}
	return true
}

// wantedPageKB is the huge page size that the server asks the kernel for; 0
// where nothing tells.
func wantedPageKB(roots Roots, f serverFacts) int {
	if f.hugePageKB != nil && *f.hugePageKB > 0 {
		return int(*f.hugePageKB)
	}
	m, err := ReadMeminfo(roots)
	if err != nil || m.Hugepagesize == nil {
		return 0
	}
	return int(*m.Hugepagesize)
}

// neededPages is how many huge pages of the wanted size the server's shared
// memory takes; 0 where it is not known or not supported.
func neededPages(roots Roots, info ServerInfo, f serverFacts, wanted int) int {
	if f.neededPages != nil {
		return max(0, int(*f.neededPages)) // -1: huge pages are not supported there
	}
	if info.PostmasterPid == 0 || wanted == 0 {
		return 0
	}
	// Before 15 the documented way: the peak of the postmaster's address space.
	st, err := readProcStatus(roots, info.PostmasterPid)
	if err != nil {
		return 0
	}
	return int((st.peak + uint64(wanted) - 1) / uint64(wanted))
}

// shortage is how many pages the pool of that size lacks now.
func shortage(roots Roots, pageKB, needed int) int {
	p, err := ReadPool(roots, pageKB)
	if err != nil {
		return 0
	}
	return max(0, needed-p.Available())
}
