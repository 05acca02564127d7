package lab

import (
	"maps"
	"testing"
)

// Commits wait for the disk, except where somebody set otherwise.
func TestDurable(t *testing.T) {
	for _, c := range []struct{ set, want map[string]string }{
		{nil, map[string]string{"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}},
		{map[string]string{"FSYNC": "off", "work_mem": "1MB"}, map[string]string{"fsync": "off", "synchronous_commit": "on", "full_page_writes": "on", "work_mem": "1MB"}},
	} {
		if got := Durable(c.set); !maps.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.set, got, c.want)
		}
	}
	for name, want := range map[string]bool{"fsync": true, "synchronous_commit": true, "commit_delay": true, "work_mem": false, "huge_pages": false} {
		if AboutFlush(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
