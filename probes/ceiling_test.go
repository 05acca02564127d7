package probes

import (
	"strings"
	"testing"

	"pgtlb/probes/perf"
)

// TestPageTableCeiling: known answers. 40 GB in 4 kB pages are 80 MiB of entries.
func TestPageTableCeiling(t *testing.T) {
	const gb = 1 << 20
	for _, c := range []struct {
		name      string
		sharedKB  uint64
		pageKB    int
		privateKB uint64
		want      float64
	}{
		// entries, tables of 1 GB, table of 512 GB, the process's own
		{"40 GB, 4 kB", 40 * gb, 4, 0, 80*1024 + 40*4 + 4 + 128},
		{"40 GB, 2 MB", 40 * gb, 2048, 0, 40*4 + 4 + 128},
		{"40 GB, 1 GB", 40 * gb, gb, 0, 4 + 128},
		{"1 TB, 1 GB", 1024 * gb, gb, 0, 2*4 + 128},
		{"150 MB, 4 kB", 150 << 10, 4, 0, 75*4 + 4 + 4 + 128},
		{"150 MB, 2 MB", 150 << 10, 2048, 0, 4 + 4 + 128},
		{"with 64 MB of its own", 40 * gb, gb, 64 << 10, 4 + 128 + 32*4},
		{"nothing known of the memory", 0, 4, 0, 0},
		{"nothing known of the pages", gb, 0, 0, 0},
	} {
		if got := PageTableCeilingKB(c.sharedKB, c.pageKB, c.privateKB); got != c.want {
			t.Errorf("%s: %v kB, want %v", c.name, got, c.want)
		}
	}
}

// TestPageTableCeilingOfLargerGranules: arm64 kernels with 64 kB pages have tables
// of 8,192 entries, and pages that are several entries of one table.
func TestPageTableCeilingOfLargerGranules(t *testing.T) {
	const gb = 1 << 20
	for _, c := range []struct {
		name      string
		granuleKB int
		pageKB    int
		want      float64
	}{
		{"64 kB in 64 kB", 64, 64, 80*64 + 64 + 8*64},
		{"2 MB in 64 kB, 32 entries", 64, 2048, 80*64 + 64 + 8*64},
		{"512 MB in 64 kB", 64, 512 << 10, 64 + 8*64},
		{"16 kB in 16 kB", 16, 16, 1280*16 + 16 + 8*16},
		{"64 kB in 4 kB, 16 entries", 4, 64, 80*1024 + 40*4 + 4 + 128},
		{"32 MB in 4 kB, 16 entries", 4, 32 << 10, 40*4 + 4 + 128},
		{"a page smaller than the granule", 64, 4, 0},
	} {
		if got := PageTableCeiling(c.granuleKB, 40*gb, c.pageKB, 0); got != c.want {
			t.Errorf("%s: %v kB, want %v", c.name, got, c.want)
		}
	}
}

// TestWalkCeilingText: the note on a hypervisor's walks comes from the opened metric
// alone.
func TestWalkCeilingText(t *testing.T) {
	m := MustLookup(WalkCeilingPct)
	if text := WalkCeilingText(13.9, m); !strings.HasPrefix(text, "the walks themselves are at most 13.9 %") || strings.Contains(text, "hypervisor") {
		t.Error(text)
	}
	m.Meaning += " " + perf.NestedWalksNote
	if text := WalkCeilingText(13.9, m); strings.Count(text, "(EPT)") != 1 {
		t.Error(text)
	}
}
