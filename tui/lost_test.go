package tui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"pgtlb/workload/trial"
)

// lostState is a lab whose server was killed under a load.
func lostState() trial.State {
	st := demo{seconds: 90, loads: 1, compare: true}.state()
	st.Phase, st.Pages = trial.Lost, ""
	st.Loads[0].Status = trial.LoadFailed
	st.Err = "the server has ended by itself: signal: killed"
	for i := range 12 {
		st.Log = append(st.Log, fmt.Sprintf("2026-03-14 14:03:%02d.000 UTC [4711] LOG:  line %d of the server's log, which says something long enough to need a second line on most screens", 10+i, i))
	}
	return st
}

// The live screen stays when the server ends: the box says why, and goes.
func TestLostServerLeavesTheScreen(t *testing.T) {
	ready := demo{seconds: 90, loads: 1}.state()
	for _, size := range [][2]int{{120, 40}, {80, 24}, {40, 12}} {
		m := newModel(&fakeEngine{}, Options{width: size[0], height: size[1]}, nil, nil)
		m2, _ := m.take(ready)
		m2, _ = m2.(Model).take(lostState())
		m = m2.(Model)
		text := ansi.Strip(m.screen())
		for _, want := range []string{"The server has ended", "ended by itself", "SERVER ENDED", "line 11", "screens"} {
			if size[1] < 20 && want == "SERVER ENDED" {
				continue // below the box
			}
			if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
				t.Errorf("%v: no %q on\n%s", size, want, text)
			}
		}
		if strings.Contains(text, "could not start") {
			t.Errorf("%v: a server that ran is said not to have started", size)
		}
		m2, _ = m.Update(keyPress("home"))
		m = m2.(Model)
		if size[0] == 40 && !strings.Contains(m.screen(), "14:03:10") {
			t.Error("the log does not scroll")
		}
		m2, _ = m.Update(keyPress("esc"))
		m = m2.(Model)
		text = ansi.Strip(m.screen())
		if strings.Contains(text, "The server has ended") || !strings.Contains(text, "SERVER ENDED") || !strings.Contains(text, "TPS") {
			t.Errorf("%v: after esc\n%s", size, text)
		}
		// The state after it is no news.
		m2, _ = m.take(lostState())
		m = m2.(Model)
		if m.overlay != nil {
			t.Errorf("%v: the box came back", size)
		}
	}
}

func TestKeysOfALostServer(t *testing.T) {
	e := &fakeEngine{}
	m, _ := press(t, e, lostState(), "enter", "c", "e", "b", "v")
	if len(e.asked) != 3 || !strings.Contains(m.screen(), "All values") {
		t.Errorf("asked for %v", e.asked)
	}
	for _, keys := range [][]string{{"q"}, {"esc", "q"}, {"ctrl+c"}} {
		st := lostState()
		st.Loads[0].Status = trial.LoadStopping
		if _, cmd := press(t, &fakeEngine{}, st, keys...); !isQuit(cmd) {
			t.Errorf("%v does not quit", keys)
		}
	}
}

// Keys that need a run are offered where there can be one.
func TestKeyLine(t *testing.T) {
	watch := demo{seconds: 60, mode: trial.Watching}.state()
	watch.Loads = nil
	based := watch
	based.Baseline = &trial.BaselineState{Name: "x"}
	for _, c := range []struct {
		name         string
		st           trial.State
		offered, not string
	}{
		{"watch", watch, "v values|q quit|/ filter", "b baseline|B choose|c compare|e report|1-9|h pages"},
		{"watch with a baseline", based, "b baseline|B choose|c compare|e report", "1-9|h pages"},
		{"lab", demo{seconds: 60}.state(), "b baseline|c compare|e report|1-9|h pages", "nothing"},
		{"server gone", lostState(), "b baseline|c compare|e report|v values", "1-9|h pages"},
	} {
		screen := strings.Split(ansi.Strip(Snapshot(c.st, Options{}, 140, 40)), "\n")
		keys := screen[len(screen)-1]
		for _, want := range strings.Split(c.offered, "|") {
			if !strings.Contains(keys, want) {
				t.Errorf("%s: no %q in %q", c.name, want, keys)
			}
		}
		for _, not := range strings.Split(c.not, "|") {
			if strings.Contains(keys, not) {
				t.Errorf("%s: %q in %q", c.name, not, keys)
			}
		}
	}
}

// The header says that the server cannot be reached, in place of the proof.
func TestUnreachable(t *testing.T) {
	st := demo{seconds: 60, huge: true, mode: trial.Watching}.state()
	st.Unreachable = "server unreachable since 15:17:20: dial unix /run/postgresql/.s.PGSQL.5432: connect: no such file or directory"
	for w, want := range map[int]string{40: "file or directory", 80: "server unreachable since", 120: "since 15:17:20: dial …432: connect: no such file or directory"} {
		screen := ansi.Strip(Snapshot(st, Options{}, w, 24))
		if !strings.Contains(screen, want) || strings.Contains(screen, "proved") {
			t.Errorf("%d columns:\n%s", w, screen)
		}
	}
}
