package tui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"pgtlb/workload/trial"
)

// TestKeysOfLoadSayWhatTheyTake: in a session that only reads they do nothing, and
// say what would let them.
func TestKeysOfLoadSayWhatTheyTake(t *testing.T) {
	st := demo{seconds: 40}.state()
	st.Mode, st.Loads = trial.Watching, nil
	for k, want := range map[string]string{"1": "--allow-load", "x": "--allow-load", "h": "pgtlb lab"} {
		if screen := ansi.Strip(Snapshot(st, Options{}, 120, 40, k)); !strings.Contains(screen, want) {
			t.Errorf("key %s: no %q on the screen:\n%s", k, want, screen)
		}
	}
}
