package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBadInput: each gets one clear sentence that names what, where and what to
// do, exit code 2, and leaves nothing behind.
func TestBadInput(t *testing.T) {
	bindir := labBindir(t)
	notDir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(notDir, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	lab := []string{"bench", "point-select", "--lab", "-T", "1", "--pg-bindir", bindir}
	with := func(args ...string) []string { return append(append([]string{}, lab...), args...) }
	cases := map[string]struct {
		args []string
		want []string // all of these in the message
	}{
		"no server":                {[]string{"watch", "-h", "/nowhere", "--plain"}, []string{"/nowhere", "no such file"}},
		"nobody listens":           {[]string{"watch", "-h", "127.0.0.1", "-p", "1", "--plain"}, []string{"127.0.0.1", "refused"}},
		"bad connection string":    {[]string{"watch", "port=x", "--plain"}, []string{"connection string"}},
		"wrong bindir":             {[]string{"lab", "--plain", "--pg-bindir", "/usr/bin/nowhere"}, []string{"/usr/bin/nowhere", "initdb"}},
		"no rows":                  {with("--rows", "0"), []string{"--rows 0", "at least 1"}},
		"too few rows for joins":   {[]string{"bench", "join-aggregate", "--lab", "--rows", "50", "--pg-bindir", bindir}, []string{"rows", "101"}},
		"shared buffers too large": {with("--shared-buffers", "100TB"), []string{"shared_buffers", "100 TB"}},
		"no size":                  {with("--shared-buffers", "lots"), []string{"lots"}},
		"unknown setting":          {with("--set", "no_such_setting=1"), []string{"no_such_setting"}},
		"bad setting":              {with("--set", "work_mem"), []string{"--set work_mem", "GUC=value"}},
		"bad value":                {with("--set", "work_mem=banana"), []string{"work_mem", "banana"}},
		"unknown scenario":         {[]string{"bench", "tpcc", "--lab", "--pg-bindir", bindir}, []string{"tpcc", "point-select", "join-aggregate"}},
		"empty scenario":           {[]string{"bench", "", "--lab", "--pg-bindir", bindir}, []string{"point-select, join-aggregate"}},
		"unknown page size":        {with("--pages", "3MB"), []string{"--pages", "3MB", "4kB, 2MB or 1GB"}},
		"no clients":               {with("-c", "-1"), []string{"--client -1"}},
		"too many clients":         {with("-c", "500000"), []string{"--client 500000"}},
		"clients do not fit":       {with("-c", "90", "--set", "max_connections=50"), []string{"--client 90", "max_connections = 50"}},
		"zero clients":             {with("-c", "0"), []string{"--client 0"}},
		"no time":                  {with("-T", "0"), []string{"--time 0"}},
		"unknown account":          {with("--os-user", "nobody-at-all"), []string{"nobody-at-all"}},
		"bench without lab":        {[]string{"bench", "point-select"}, []string{"--lab"}},
		"unknown verb":             {[]string{"wach"}, []string{"wach"}},
		"unknown flag":             {[]string{"lab", "--row", "5"}, []string{"--row"}},
		"unknown scope":            {with("--scope", "galaxy"), []string{"galaxy", "system, cgroup or server"}},
		"no such run":              {[]string{"report", "none-such"}, []string{"none-such"}},
		"no runs yet":              {[]string{"report", "last"}, []string{"no runs"}},
		"no baseline yet":          {[]string{"report", "baseline"}, []string{"baseline"}},
		"not a run file":           {[]string{"report", notDir}, []string{notDir}},
		"replay without terminal":  {[]string{"replay", "none-such"}, []string{"none-such"}},
		"unknown version":          {[]string{"setup", "--portable", "--version", "9"}, []string{"9", "13 to 18"}},
		"log is a directory":       {[]string{"doctor", "--log", "/proc"}, []string{"--log /proc", "no file"}},
		"bad interval":             {[]string{"watch", "--interval", "0"}, []string{"--interval 0"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			box := newSandbox(t)
			r := box.run(c.args...)
			if r.code != exitUsage {
				t.Errorf("exit code %d, want %d", r.code, exitUsage)
			}
			last := lastLine(r.err)
			for _, w := range c.want {
				if !strings.Contains(r.err, w) {
					t.Errorf("the message does not name %q:\n%s", w, r.err)
				}
			}
			if !strings.HasPrefix(strings.TrimSpace(last), "pgtlb: ") && !strings.HasPrefix(last, "      ") {
				t.Errorf("the last line is no sentence of pgtlb: %q", last)
			}
			if strings.Contains(r.err, "goroutine ") || strings.Contains(r.err, "Usage:") {
				t.Errorf("more than a sentence:\n%s", r.err)
			}
			box.nothingLeft()
		})
	}
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return lines[len(lines)-1]
}

// TestUnwritablePlaces: the run store and the lab's directory cannot be made.
func TestUnwritablePlaces(t *testing.T) {
	bindir := labBindir(t)
	for name, env := range map[string]string{"state": "XDG_STATE_HOME", "temporary": "TMPDIR"} {
		t.Run(name, func(t *testing.T) {
			box := newSandbox(t)
			file := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := box.command(t.Context(), "bench", "point-select", "--lab", "-T", "1", "--pg-bindir", bindir)
			cmd.Env = append(cmd.Env, env+"="+file)
			out, err := cmd.CombinedOutput()
			if err == nil || cmd.ProcessState.ExitCode() != exitUsage {
				t.Errorf("ended with %v", err)
			}
			if !strings.Contains(string(out), file) {
				t.Errorf("the message does not name %s:\n%s", file, out)
			}
			box.nothingLeft()
		})
	}
}

// TestReadingVerbsMakeNothing: who only looks leaves no directory behind and
// needs no place that can be written.
func TestReadingVerbsMakeNothing(t *testing.T) {
	file, err := filepath.Abs("testdata/emulated-run.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	notDir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(notDir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	picture := filepath.Join(t.TempDir(), "screen.svg")
	for name, c := range map[string]struct {
		args []string
		code int
	}{
		"report": {[]string{"report", file}, exitDone},
		"replay": {[]string{"replay", file, "--screenshot", picture}, exitDone},
		"runs":   {[]string{"runs"}, exitDone},
		"watch":  {[]string{"watch", "-h", "/nowhere", "--plain"}, exitUsage},
	} {
		t.Run(name, func(t *testing.T) {
			box := newSandbox(t)
			if r := box.run(c.args...); r.code != c.code {
				t.Errorf("exit code %d, want %d\n%s", r.code, c.code, r.err)
			}
			if entries, err := os.ReadDir(box.state); err != nil || len(entries) != 0 {
				t.Errorf("made in the state directory: %v, %v", entries, err)
			}
			box.state = notDir
			r := box.run(c.args...)
			if strings.Contains(r.err, "cannot be kept") || name != "runs" && r.code != c.code {
				t.Errorf("nothing can be written: exit code %d\n%s", r.code, r.err)
			}
		})
	}
}

// TestRunFileCutInTheMiddle: what was recorded is shown, and that it was cut.
func TestRunFileCutInTheMiddle(t *testing.T) {
	whole, err := os.ReadFile("testdata/emulated-run.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	box := newSandbox(t)
	cut := filepath.Join(t.TempDir(), "cut.ndjson")
	if err := os.WriteFile(cut, whole[:len(whole)*2/3], 0o600); err != nil {
		t.Fatal(err)
	}
	r := box.run("report", cut)
	if r.code != exitDone || !strings.Contains(r.out, "interrupted") {
		t.Errorf("exit code %d, %s\n%s", r.code, r.err, r.out)
	}
	if err := os.WriteFile(cut, whole[:40], 0o600); err != nil {
		t.Fatal(err)
	}
	r = box.run("report", cut)
	if r.code != exitUsage || !strings.Contains(r.err, cut) {
		t.Errorf("header cut: exit code %d, %s", r.code, r.err)
	}
}
