package tui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"pgtlb/probes"
)

// TestStaleRowsSaySo: rows that the server has not confirmed name their time.
func TestStaleRowsSaySo(t *testing.T) {
	st := demo{seconds: 40}.state()
	h := append([]probes.Frame(nil), st.History...)
	last := &h[len(h)-1]
	last.Misses = append([]probes.Miss{{ID: probes.Backends, Reason: "state, wait and query are as of 12:00:07"}}, last.Misses...)
	st.History = h
	st.Silent = "the server has not answered for 12 s"
	screen := ansi.Strip(Snapshot(st, Options{}, 160, 45))
	for _, want := range []string{"as of 12:00:07", "the server has not answered for 12 s"} {
		if !strings.Contains(screen, want) {
			t.Errorf("no %q on the screen:\n%s", want, screen)
		}
	}
}
