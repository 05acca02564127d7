package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// lookSystem gathers the snapshot of a machine in testdata/system: an archive of
// files in the form of txtar, with snapshot.json for what does not come from files
// (the host, the server, what the kernel answered).
func lookSystem(t *testing.T, path string) Snapshot {
	t.Helper()
	archive, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var s Snapshot
	for _, f := range unpack(string(archive)) {
		if f.name == "snapshot.json" {
			if s, err = Read(strings.NewReader(f.text)); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			continue
		}
		write(t, filepath.Join(dir, f.name), f.text)
	}
	if s.HostUnknown != "" {
		return s
	}
	pid := 0
	if s.Server != nil {
		pid = s.Server.Info.PostmasterPid
	}
	w := Wanted{Tree: Tree(dir)}
	lookAtPages(t.Context(), &s, w, pid, 0)
	lookAtSystem(t.Context(), &s, w, pid)
	return s
}

// ourChecks runs the checks over System and Server.
func ourChecks(s *Snapshot) []Check {
	var out []Check
	for _, check := range slices.Concat(systemChecks(), serverChecks()) {
		out = append(out, check(s))
	}
	return out
}

// checkText writes a check as the golden files have it.
func checkText(c Check) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s\n", c.Status, c.ID, c.Found)
	if c.Status == Warn || c.Status == Fail {
		fmt.Fprintf(&b, "  expected %s\n", c.Expected)
	}
	for _, l := range c.Fix {
		b.WriteString("  fix  " + l + "\n")
	}
	for _, l := range c.Undo {
		b.WriteString("  undo " + l + "\n")
	}
	if len(c.Fix) > 0 {
		fmt.Fprintf(&b, "  takes %s\n", c.Takes)
	}
	return b.String()
}

func systemMachines(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/system/*.txtar")
	if err != nil || len(paths) < 12 {
		t.Fatalf("%d machines, %v", len(paths), err)
	}
	return paths
}

// TestSystemMachines holds the words of every check on every machine against the
// golden files, and what every check must have.
func TestSystemMachines(t *testing.T) {
	seen := map[string]map[Status]bool{}
	for _, path := range systemMachines(t) {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			s := lookSystem(t, path)
			var text strings.Builder
			for _, c := range ourChecks(&s) {
				if seen[c.ID] == nil {
					seen[c.ID] = map[Status]bool{}
				}
				seen[c.ID][c.Status] = true
				text.WriteString(checkText(c))
				wellFormed(t, c)
			}
			golden(t, strings.TrimSuffix(path, ".txtar")+".golden", text.String())
			again(t, s, text.String())
		})
	}
	for id, statuses := range seen {
		good := statuses[OK] || statuses[NotHere]
		bad := statuses[Warn] || statuses[Fail] || statuses[Unknown]
		informs := id == "settings_overrides" // and cannot be hidden
		if !good || !bad && !informs {
			t.Errorf("%s is seen one way only: %v", id, statuses)
		}
	}
}

// wellFormed is what a person expects of any check.
func wellFormed(t *testing.T, c Check) {
	t.Helper()
	if c.ID == "" || c.Title == "" || c.Why == "" || c.Found == "" || len(c.Sources) == 0 || c.Status == "" {
		t.Errorf("%s lacks something: %+v", c.ID, c)
	}
	if (c.Status == Warn || c.Status == Fail) && c.Expected == "" {
		t.Errorf("%s does not say what is expected", c.ID)
	}
	if len(c.Fix) > 0 && (len(c.Undo) == 0 || c.Takes == "") {
		t.Errorf("%s has a fix without undo or without what it takes: %+v", c.ID, c)
	}
	if len(c.Fix) == 0 && len(c.Undo) > 0 || len(c.Fix) == 0 && c.Takes != "" {
		t.Errorf("%s has an undo or takes something without a fix: %+v", c.ID, c)
	}
	for _, bad := range []string{"%!", "MISSING", "  ", "-1 "} {
		if strings.Contains(c.Found+c.Expected, bad) {
			t.Errorf("%s has %q in its text: %q, %q", c.ID, bad, c.Found, c.Expected)
		}
	}
}

// again examines the snapshot as it is read back from its file.
func again(t *testing.T, s Snapshot, want string) {
	t.Helper()
	var b strings.Builder
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	back, err := Read(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, c := range ourChecks(&back) {
		text.WriteString(checkText(c))
	}
	if text.String() != want {
		t.Error("the saved snapshot is examined with another result")
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update writes it anew):\n%s", path, firstDifference(string(want), got))
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range g {
		if i >= len(w) || w[i] != g[i] {
			old := ""
			if i < len(w) {
				old = w[i]
			}
			return fmt.Sprintf("line %d\nwant %s\ngot  %s", i+1, old, g[i])
		}
	}
	return "lines are missing at the end"
}

// TestSystemChecksInJSON keeps every check's lists arrays.
func TestSystemChecksInJSON(t *testing.T) {
	s := Snapshot{Schema: schema, ServerUnknown: "no server was asked"}
	e := Examine(s)
	b, err := json.Marshal(e)
	if err != nil || strings.Contains(string(b), `"fix":null`) || strings.Contains(string(b), `"undo":null`) {
		t.Errorf("%v %s", err, b)
	}
	ids := map[string]bool{}
	for _, c := range e.Checks {
		if ids[c.ID] {
			t.Errorf("two checks have the id %s", c.ID)
		}
		ids[c.ID] = true
	}
}

// TestLookStops walks over no process once its context has ended.
func TestLookStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "proc/7/status"), "Name:\tpostgres\nPid:\t7\nPPid:\t1\nUid:\t26\t26\t26\t26\n")
	s, err := Look(ctx, Wanted{Tree: Tree(dir)})
	if !errors.Is(err, context.Canceled) || s.System.Processes.Visible != 0 {
		t.Errorf("%v, %d processes", err, s.System.Processes.Visible)
	}
	f := files{&s, Tree(dir)}
	if p := lookAtEveryProcess(ctx, f, 0); p.Visible != 0 {
		t.Errorf("ended: %+v", p)
	}
	if p := lookAtEveryProcess(t.Context(), f, 0); p.Visible != 1 {
		t.Errorf("%+v", p)
	}
}
