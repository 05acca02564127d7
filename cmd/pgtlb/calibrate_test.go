package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgtlb/workload/calibrate"
)

// smallCalibration are the arguments of one that is soon through.
func smallCalibration(bindir string, more ...string) []string {
	return append([]string{"calibrate", "--rows", "20000", "--shared-buffers", "64MB", "--pg-bindir", bindir, "-T", "1"}, more...)
}

// needPgbench skips the test where the server's folder has none.
func needPgbench(t *testing.T) string {
	t.Helper()
	bindir := labBindir(t)
	if _, err := os.Stat(filepath.Join(bindir, "pgbench")); err != nil {
		t.Skip("need: pgbench beside the server programs")
	}
	return bindir
}

func calibration(t *testing.T, out string) *calibrate.Report {
	t.Helper()
	r := new(calibrate.Report)
	d := json.NewDecoder(strings.NewReader(out))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	if d.More() {
		t.Fatalf("more than one JSON object:\n%s", out)
	}
	return r
}

// TestCalibrate runs every part once.
func TestCalibrate(t *testing.T) {
	if testing.Short() {
		t.Skip("need: more time than -short leaves")
	}
	bindir := needPgbench(t)
	box := newSandbox(t)
	r := box.run(smallCalibration(bindir, "--rounds", "1", "-c", "2,3", "-M", "simple", "-j", "2", "--json")...)
	if r.code != exitDone {
		t.Fatalf("exit code %d\n%s", r.code, r.err)
	}
	got := calibration(t, r.out)
	if len(got.Driver) != 2 || got.AA == nil || got.Probes == nil || got.Interrupted {
		t.Fatalf("parts: %+v", got)
	}
	for i, clients := range []int{2, 3} {
		d := got.Driver[i]
		if want := (calibrate.Setting{Clients: clients, Threads: 2, Mode: "simple"}); d.Setting != want || len(d.Pairs) != 1 || d.TPSRatio == nil {
			t.Errorf("driver: %+v, want one pair of %+v", d, want)
			continue
		}
		p := d.Pairs[0]
		if !p.OursFirst || p.Ours.TPS <= 0 || p.Pgbench.TPS <= 0 || p.Ours.CPU == nil || p.LoadAvg == nil || p.Other == nil {
			t.Errorf("pair: %+v", p)
		}
	}
	if len(got.AA.Runs) != 1 || got.AA.Runs[0].TPS <= 0 || got.AA.SpreadPct != nil {
		t.Errorf("identical runs: %+v", got.AA)
	}
	if len(got.Probes.Pairs) != 1 || got.Probes.Pairs[0].Watched.TPS <= 0 || got.Probes.Pairs[0].Unwatched.TPS <= 0 || got.Probes.CostPct == nil {
		t.Errorf("probes: %+v", got.Probes)
	}
	if got.Pgbench == "" || got.Server == "" || got.Machine.CPUs < 1 || got.Rounds != 1 || got.Seconds != 1 || len(got.Verdict) != 3 {
		t.Errorf("head: %+v", got)
	}
	for _, want := range []string{"driver  round 1 of 1", "aa      round 1 of 1", "probes  round 1 of 1", " left"} {
		if !strings.Contains(r.err, want) {
			t.Errorf("no %q in the progress:\n%s", want, r.err)
		}
	}
	box.nothingLeft()
}

// TestCalibrateWithoutPgbench says what is missing and does the rest.
func TestCalibrateWithoutPgbench(t *testing.T) {
	if testing.Short() {
		t.Skip("need: more time than -short leaves")
	}
	box := newSandbox(t)
	bindir := filepath.Join(box.tmp, "bin") // the server's account must reach it
	if err := os.Mkdir(bindir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"initdb", "postgres"} {
		if err := os.Symlink(filepath.Join(labBindir(t), name), filepath.Join(bindir, name)); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) (out, errs string, code int) {
		cmd := box.command(t.Context(), smallCalibration(bindir, args...)...)
		cmd.Env = append(cmd.Env, "PATH="+t.TempDir())
		var o, e bytes.Buffer
		cmd.Stdout, cmd.Stderr = &o, &e
		if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return o.String(), e.String(), cmd.ProcessState.ExitCode()
	}
	out, errs, code := run("--rounds", "1", "-c", "2")
	if code != exitDone {
		t.Fatalf("exit code %d\n%s", code, errs)
	}
	for _, want := range []string{"driver unavailable: no pgbench", "install it", "watching costs", "identical runs, 2 clients"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if out, errs, code = run("--only", "driver"); code != exitUsage || out != "" || !strings.Contains(errs, "pgbench unavailable") || strings.Contains(errs, "initdb,") {
		t.Errorf("that part alone: exit code %d\n%s%s", code, out, errs)
	}
	if err := os.RemoveAll(bindir); err != nil {
		t.Fatal(err)
	}
	box.nothingLeft()
}

// TestCalibrateInterrupted keeps the rounds that are complete.
func TestCalibrateInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("need: more time than -short leaves")
	}
	box := newSandbox(t)
	cmd := box.command(t.Context(), smallCalibration(labBindir(t), "--only", "aa", "--rounds", "1000", "-c", "2", "--json")...)
	var out bytes.Buffer
	cmd.Stdout = &out
	progress, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var errs strings.Builder
	for sc := bufio.NewScanner(progress); sc.Scan(); {
		_, _ = fmt.Fprintln(&errs, sc.Text())
		if strings.Contains(sc.Text(), "round 2 of 1000") {
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // its code is looked at
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Fatalf("exit code %d\n%s", code, errs.String())
	}
	if !strings.Contains(lastLine(errs.String()), "interrupted") {
		t.Errorf("the last line: %q", lastLine(errs.String()))
	}
	got := calibration(t, out.String())
	if !got.Interrupted || got.AA == nil || len(got.AA.Runs) < 2 || got.AA.SpreadPct == nil {
		t.Errorf("what was kept: %+v", got.AA)
	}
	box.nothingLeft()
}

// TestCalibrateBadFlags: one sentence each, before a server is looked for.
func TestCalibrateBadFlags(t *testing.T) {
	for _, c := range []struct {
		args string
		want []string
	}{
		{"-c 8,x", []string{"--client x", "-c 8,80"}},
		{"-c 0", []string{"--client 0"}},
		{"-c 500000", []string{"--client 500000"}},
		{"-c 300 --set max_connections=100", []string{"--client 300", "max_connections = 100"}},
		{"-M fast", []string{"--protocol fast", "simple, extended or prepared"}},
		{"-j 0", []string{"--jobs 0"}},
		{"-T 0", []string{"--time 0"}},
		{"--rounds 0", []string{"--rounds 0"}},
		{"--only wire", []string{"--only", "driver, aa and probes"}},
		{"--rows 0", []string{"--rows 0"}},
		{"--scope galaxy", []string{"galaxy"}},
		{"--pages 3MB", []string{"--pages"}},
		{"point-select", []string{"point-select"}},
		{"", []string{"/nowhere"}},
	} {
		var out, errs bytes.Buffer
		args := append([]string{"calibrate", "--pg-bindir", "/nowhere"}, strings.Fields(c.args)...)
		if code := run(t.Context(), &app{out: &out, err: &errs, args: args}); code != exitUsage || out.Len() > 0 || strings.Count(errs.String(), "\n") != 1 {
			t.Errorf("%q: exit code %d\n%s%s", c.args, code, out.String(), errs.String())
		}
		for _, w := range c.want {
			if !strings.Contains(errs.String(), w) {
				t.Errorf("%q: no %q in %s", c.args, w, errs.String())
			}
		}
	}
}
