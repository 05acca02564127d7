package tui

import (
	"strings"
	"testing"
)

// TestSkippedRefreshes are told in words that need no knowledge of the program.
func TestSkippedRefreshes(t *testing.T) {
	for n, want := range map[uint64]string{0: "", 1: "1 refresh left out: slow terminal", 1234: "1,234 refreshes left out: slow terminal"} {
		st := demo{seconds: 20}.state()
		st.Dropped = n
		screen := onTerminal(t, Snapshot(st, Options{}, 240, 40), 240, 40)
		if !strings.Contains(screen, want) || n == 0 && strings.Contains(screen, "left out") {
			t.Errorf("%d: no %q on\n%s", n, want, screen)
		}
	}
}
