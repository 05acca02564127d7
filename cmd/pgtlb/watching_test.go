package main

import (
	"encoding/json"
	"strings"
	"testing"

	"pgtlb/workload/trial"
)

// socketOf is the directory of the socket of a sandbox's lab.
func socketOf(t *testing.T, box *sandbox) string {
	t.Helper()
	return postmasterFile(t, box)[4]
}

// TestWatchingARunningServer: the screen, plain lines and a recording of a
// server that pgtlb did not start; the server is not changed.
func TestWatchingARunningServer(t *testing.T) {
	box := newSandbox(t)
	s := box.open(100, 30, smallLab(t)...)
	s.waitText("● 1 point-select")
	server := []string{"-h", socketOf(t, box), "-U", "postgres", "-d", "postgres"}
	watcher := newSandbox(t) // has its own runs

	r := watcher.run(append([]string{"record", "-T", "2", "--json"}, server...)...)
	if r.code != exitDone {
		t.Fatalf("record: exit code %d\n%s", r.code, r.err)
	}
	var o trial.Observed
	if err := json.Unmarshal([]byte(r.out), &o); err != nil {
		t.Fatalf("%v in %s", err, r.out)
	}
	if c := o.Counters["server_tps"]; c.Value <= 0 {
		t.Errorf("server_tps: %+v", c)
	}
	if o.PageTables.MaxBackend == nil || *o.PageTables.MaxBackend <= 0 {
		t.Errorf("largest backend: %+v", o.PageTables)
	}
	if run := watcher.theRun(); run.End == nil || run.Meta.Kind != "watch" || run.Meta.Name != o.Run {
		t.Errorf("the run on file: %+v, end %+v", run.Meta.Name, run.End)
	}
	if r := watcher.run("report", "last"); r.code != exitDone || !strings.Contains(r.out, "server TPS") {
		t.Errorf("its report: exit code %d\n%s%s", r.code, r.err, r.out)
	}

	w := watcher.open(120, 40, append([]string{"watch"}, server...)...)
	text := w.waitText("pg_stat_statements is not installed", "watching, read only", "client", "postmaster", "Page tables")
	if strings.Contains(text, "1-9 scenario") {
		t.Errorf("a watching screen offers to start load:\n%s", text)
	}
	w.press("1")
	w.waitText("This session only reads")
	w.press("q")
	if code := w.exit(); code != exitDone {
		t.Errorf("watch: exit code %d", code)
	}
	s.press("q")
	s.press("y")
	if code := s.exit(); code != exitDone {
		t.Errorf("lab: exit code %d", code)
	}
	box.nothingLeft()
}
