package probes

import "testing"

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
