package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLoadOnAServerOfOthers: with --allow-load a script chosen in the list runs
// on a server that pgtlb did not make, after a question, and stopping the screen
// asks.
func TestLoadOnAServerOfOthers(t *testing.T) {
	if testing.Short() {
		t.Skip("need: more time than -short leaves")
	}
	box := newSandbox(t)
	s := box.open(100, 30, smallLab(t, "--scenario", "none")...)
	s.waitText("○ 1 point-select")
	watcher := newSandbox(t)
	for name, text := range map[string]string{"good.sql": "SELECT 1;\n", "bad.sql": "SELECT 1;\n\\set x (1\n"} {
		if err := os.WriteFile(filepath.Join(watcher.work, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const esc, end = "\x1b", "\x1b[F"
	w := watcher.open(100, 40, "watch", "-h", socketOf(t, box), "-U", "postgres", "-d", "postgres", "--allow-load")
	w.waitText("○ 1 point-select", "1-9 scenario")
	w.press("l")
	w.waitText("SCENARIO", "Parameters")
	w.press(end)
	w.press("\r")
	w.waitText("type the value")
	w.press("bad.sql\r")
	w.waitText("bad.sql:2:", `\set x (1`, "^ error found here")
	w.press("\x15good.sql\r") // the field is still open: its text goes
	w.waitText("SELECT 1;")
	w.press(esc)
	w.waitText("enter start")
	w.press("\r")
	w.waitText("Please decide", "Start custom", "database: postgres, as user postgres", "8 connections; the server allows ")
	w.press("n")
	w.waitText("0 running", "Script")
	w.press("\r")
	w.waitText("Please decide")
	w.press("y")
	w.waitText("1 running", "running 00:", "Apdex")
	w.press("q")
	w.waitText("s sort: page tables")
	w.press("q")
	w.waitText("A load is running")
	w.press("y")
	if code := w.exit(); code != exitDone {
		t.Errorf("watch: exit code %d", code)
	}
	if run := watcher.theRun(); run.End == nil || run.Meta.Lab || len(run.Meta.Loads) != 1 || run.Meta.Loads[0].Scenario != "custom" {
		t.Errorf("the run on file: %+v, end %+v", run.Meta.Loads, run.End)
	}
	s.press("q")
	if code := s.exit(); code != exitDone {
		t.Errorf("lab: exit code %d", code)
	}
	box.nothingLeft()
}

func TestAllowLoadNeedsAScreen(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	var out, errs bytes.Buffer
	code := run(t.Context(), &app{out: &out, err: &errs, args: []string{"watch", "--plain", "--allow-load", "-h", "/nowhere"}})
	if code != exitUsage || !strings.Contains(errs.String(), "pgtlb bench") || strings.Contains(errs.String(), "/nowhere") {
		t.Errorf("exit code %d\n%s", code, errs.String())
	}
}
