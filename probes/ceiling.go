package probes

import "strings"

// ownPageTablesKB is about what the page table of a server process takes for its
// code, libraries, stack and what it allocates at its start: what is left of it
// with huge pages.
const ownPageTablesKB = 128

// PageTableCeilingKB is the most that the page table of one server process takes,
// in kB, once it has touched all of sharedKB of shared memory in pages of pageKB
// and privateKB of memory of its own; 0 where the sizes are not known.
//
// It assumes x86-64's or arm64's tables with 4 kB granules: 8 bytes an entry, 512
// entries (4 kB) to a table. Shared memory in 4 kB pages takes a table for every
// 2 MB, in 2 MB pages one for every 1 GB, in 1 GB pages one for every 512 GB,
// with those of the levels above, at least one each. Private memory is taken to lie
// close together.
func PageTableCeilingKB(sharedKB uint64, pageKB int, privateKB uint64) float64 {
	if sharedKB == 0 || pageKB <= 0 {
		return 0
	}
	const tableKB, entries, topKB = 4, 512, 512 << 20 // the top level's table is not counted by the kernel
	kb := float64(ownPageTablesKB) + tables(privateKB, 4*entries)*tableKB
	for spanKB := uint64(pageKB) * entries; spanKB <= topKB; spanKB *= entries {
		kb += tables(sharedKB, spanKB) * tableKB
	}
	return kb
}

// tables is how many tables of a span cover a size.
func tables(sizeKB, spanKB uint64) float64 { return float64((sizeKB + spanKB - 1) / spanKB) }

// WalkCeilingText says what a ceiling of page walks means for a decision on page
// sizes.
//
// The ceiling is 100 x (walks for loads + for stores + for instructions) / cycles:u,
// all of the user space and of one counter group. Were no walk ever needed, at most
// these cycles would be saved: walks for loads and stores that are under way at once
// are counted in both, and what the CPU does meanwhile is not lost.
func WalkCeilingText(pct float64, h Host) string {
	text := "at most " + Number(pct) + " % of the cycles in user space are page walks: no page size can win more than that there " +
		"(page faults, which larger pages save too, are kernel time)"
	if strings.Contains(h.Virtual, "virtual machine") {
		text += "; most CPUs do not count the walks through the hypervisor's own tables, so inside this virtual machine it is no bound"
	}
	return text
}
