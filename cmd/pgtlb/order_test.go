package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFlagsAreCheckedBeforeAServerIsLookedFor: with -y a wrong flag must not
// install PostgreSQL first, so the server's folder, which is wrong too, is not
// what the message is about.
func TestFlagsAreCheckedBeforeAServerIsLookedFor(t *testing.T) {
	state := t.TempDir()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	bench := []string{"bench", "point-select", "--lab", "--pg-bindir", "/nowhere", "-y"}
	lab := []string{"lab", "--plain", "--pg-bindir", "/nowhere", "-y"}
	for name, c := range map[string]struct {
		args  []string // of both verbs
		state string
		want  string
	}{
		"time":           {[]string{"-T", "0"}, state, "--time 0"},
		"clients":        {[]string{"-c", "-1"}, state, "--client -1"},
		"scope":          {[]string{"--scope", "galaxy"}, state, "galaxy"},
		"rows":           {[]string{"--rows", "0"}, state, "--rows 0"},
		"shared buffers": {[]string{"--shared-buffers", "lots"}, state, "lots"},
		"store":          {nil, file, "runs cannot be kept in " + file},
	} {
		for _, verb := range [][]string{bench, lab} {
			t.Setenv("XDG_STATE_HOME", c.state)
			var out, errs bytes.Buffer
			code := run(t.Context(), &app{out: &out, err: &errs, args: append(append([]string{}, verb...), c.args...)})
			if code != exitUsage || !strings.Contains(errs.String(), c.want) || strings.Contains(errs.String(), "/nowhere") {
				t.Errorf("%s %s: exit code %d, want a sentence with %q:\n%s", verb[0], name, code, c.want, errs.String())
			}
			if entries, err := os.ReadDir(state); err != nil || name != "store" && len(entries) > 0 {
				t.Errorf("%s %s: made %v, %v", verb[0], name, entries, err)
			}
		}
	}
	for _, args := range [][]string{
		{"bench", "tpcc", "--lab", "--pg-bindir", "/nowhere", "-y"}, {"lab", "--plain", "--scenario", "tpcc", "--pg-bindir", "/nowhere", "-y"},
		{"record", "--scope", "tpcc"},
	} {
		t.Setenv("XDG_STATE_HOME", state)
		var out, errs bytes.Buffer
		code := run(t.Context(), &app{out: &out, err: &errs, args: args})
		if code != exitUsage || !strings.Contains(errs.String(), "tpcc") || strings.Contains(errs.String(), "/nowhere") {
			t.Errorf("%v: exit code %d\n%s", args, code, errs.String())
		}
		if entries, _ := os.ReadDir(state); len(entries) > 0 {
			t.Errorf("%v: made %v", args, entries)
		}
	}
}
