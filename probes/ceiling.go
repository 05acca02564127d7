package probes

import (
	"strings"

	"pgtlb/probes/perf"
)

// ownPageTables is about how many kB the page table of a server process takes for
// its code, libraries, stack and what it allocates at its start: what is left of it
// with huge pages. Measured at a granule of 4 kB; with larger ones it is taken to
// be eight tables, which is not measured.
func ownPageTables(granuleKB uint64) float64 {
	if granuleKB == 4 {
		return 128
	}
	return float64(8 * granuleKB)
}

// PageTableCeilingKB is PageTableCeiling with ordinary pages of 4 kB.
func PageTableCeilingKB(sharedKB uint64, pageKB int, privateKB uint64) float64 {
	return PageTableCeiling(4, sharedKB, pageKB, privateKB)
}

// PageTableCeiling is the most that the page table of one server process takes,
// in kB, once it has touched all of sharedKB of shared memory in pages of pageKB
// and privateKB of memory of its own; 0 where the sizes are not known.
//
// It assumes x86-64's or arm64's tables: a table is as large as an ordinary page,
// granuleKB (4, on some arm64 kernels 16 or 64), and has 8 bytes an entry. With 4 kB
// shared memory in 4 kB pages takes a table for every 2 MB, in 2 MB pages one for
// every 1 GB, in 1 GB pages one for every 512 GB, with those of the levels above, at
// least one each. Private memory is taken to lie close together.
func PageTableCeiling(granuleKB int, sharedKB uint64, pageKB int, privateKB uint64) float64 {
	if sharedKB == 0 || granuleKB <= 0 || pageKB < granuleKB {
		return 0
	}
	const topKB = 128 << 30 // a table that spans all of the address space is not counted by the kernel
	granule := uint64(granuleKB)
	entries := granule << 10 / 8
	kb := ownPageTables(granule) + tables(privateKB, granule*entries)*float64(granule)
	// Pages of a size between those of two levels are several entries of the lower.
	spanKB := granule * entries
	for spanKB <= uint64(pageKB) {
		spanKB *= entries
	}
	for ; spanKB < topKB; spanKB *= entries {
		kb += tables(sharedKB, spanKB) * float64(granule)
	}
	return kb
}

// tables is how many tables of a span cover a size.
func tables(sizeKB, spanKB uint64) float64 { return float64((sizeKB + spanKB - 1) / spanKB) }

// WalkCeilingText says what a ceiling of page walks means for a decision on page
// sizes. The metric is WalkCeilingPct as it was opened: its meaning knows whether the
// CPU leaves walks out.
//
// The ceiling is 100 x (walks for loads + for stores + for instructions) / cycles:u,
// all of the user space and of one counter group: walks for loads and stores that are
// under way at once are counted in both, and what the CPU does meanwhile is not lost.
// It bounds the walks alone: the entries that they read take room in the caches, and a
// hit in the second level of the TLB costs cycles without a walk.
func WalkCeilingText(pct float64, opened Metric) string {
	text := "the walks themselves are at most " + Number(pct) + " % of the cycles in user space; the room that page table entries take in the caches, " +
		"hits in the second-level TLB and page faults (kernel time), which larger pages save too, are not in it"
	if strings.Contains(opened.Meaning, perf.NestedWalksNote) {
		text += ". " + strings.TrimSuffix(perf.NestedWalksNote, ".")
	}
	return text
}
