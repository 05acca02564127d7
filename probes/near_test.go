package probes

import "testing"

func TestMeant(t *testing.T) {
	known := []string{"shared_buffers", "work_mem", "huge_pages", "huge_page_size", "wal_buffers"}
	for word, want := range map[string]string{
		"shared_bufers": "shared_buffers", "hugepages": "huge_pages", "shared_buffer": "shared_buffers", "workmem": "work_mem",
		"buffers": "shared_buffers", "no_such_thing": "", "": "", "a": "", "mem": "",
	} {
		if got := Meant(word, known); got != want {
			t.Errorf("%q: %q, not %q", word, got, want)
		}
	}
	if got := Near("huge", known, 2); len(got) != 2 || got[0] != "huge_pages" || got[1] != "huge_page_size" {
		t.Errorf("%v", got)
	}
	if got := Meant("x", nil); got != "" {
		t.Error(got)
	}
}
