package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgtlb/workload/trial"
)

// The verbs of pgtlb runs, one after the other as a person types them.
func TestRunsVerbs(t *testing.T) {
	box := newSandbox(t)
	here, err := os.Getwd() // the program works elsewhere
	if err != nil {
		t.Fatal(err)
	}
	here += "/"
	data := here + "../../workload/trial/testdata/"
	file := filepath.Join(t.TempDir(), "all.ndjson")
	for _, c := range []struct {
		args string
		code int
		out  string // in the standard output
		err  string // on the standard error
	}{
		{"runs", 0, "", "no runs in"},
		{"runs import " + here + "testdata/emulated-run.ndjson", 0, "", "is imported"},
		{"runs import " + here + "testdata/emulated-run.ndjson", 0, "", "is there already"},
		{"runs import " + data + "byhand/published-4kB.json", 0, "", "published-4kB is imported"},
		{"runs import " + data + "byhand/published-2MB.json", 0, "", "published-2MB is imported"},
		{"runs rename 2026 emulated", 0, "", "is named emulated now"},
		{"runs rename emulated published-4kB", 2, "", "there is a run named published-4kB already"},
		{"runs tag emulated riscv slow", 0, "", "emulated: riscv, slow"},
		{"runs tag emulated slow --remove", 0, "", "emulated: riscv\n"},
		{"runs", 0, "entered by hand", ""},
		{"runs", 0, "riscv", ""},
		{"runs show emulated", 0, "QEMU", ""},
		{"runs show published-4kB --json", 0, `"counter_window_s":25`, ""},
		{"report published-2MB --baseline published-4kB", 0, "TPS +7.93 %", ""},
		{"replay published-2MB", 2, "", "entered by hand"},
		{"replay emulated --baseline published-2MB --screenshot " + file + ".svg", 2, "", "entered by hand"},
		{"runs export emulated published-2MB -o " + file, 0, "", "2 runs: " + file},
		{"runs export emulated --format benchstat", 0, "BenchmarkPointSelect/pages=4kB/clients=8 1 ", ""},
		{"runs export emulated --format csv", 0, "run,experiment,", ""},
		{"runs export emulated --format openmetrics", 0, "# EOF\n", ""},
		{"runs export emulated --format xml", 2, "", "run, csv, openmetrics, benchstat"},
		{"runs export emulated -o /", 2, "", "/ is a directory"},
		{"runs remove emulated", 2, "", "-y answers yes"},
		{"runs remove -y emulated published-2MB emulated", 0, "", "published-2MB is removed"},
		{"runs remove -y emulated", 2, "", "no run named emulated"},
		{"runs import " + file, 0, "", "emulated is imported"},
		{"runs show emulated", 0, "riscv", ""},
		{"runs import " + here + "runs_test.go", 2, "", "neither runs of"},
		{"runs shoe", 2, "", "shoe"},
		{"__complete runs show pub", 0, "published-2MB\tpoint-select 2MB\n", ""},
	} {
		r := box.run(strings.Fields(c.args)...)
		if r.code != c.code || !strings.Contains(r.out, c.out) || !strings.Contains(r.err, c.err) {
			t.Fatalf("pgtlb %s: exit code %d\n%s%s", c.args, r.code, r.out, r.err)
		}
		if c.code == 2 && strings.Count(r.err, "\n") > 2 {
			t.Errorf("pgtlb %s: more than a sentence:\n%s", c.args, r.err)
		}
	}
}

func TestRemovingTheBaseline(t *testing.T) {
	box := newSandbox(t)
	file, err := filepath.Abs("testdata/emulated-base.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	if r := box.run("runs", "import", file); r.code != 0 {
		t.Fatal(r.err)
	}
	var list struct{ Runs []struct{ Name, Path string } }
	if err := json.Unmarshal([]byte(box.run("runs", "--json").out), &list); err != nil || len(list.Runs) != 1 {
		t.Fatalf("%v, %+v", err, list)
	}
	run := list.Runs[0]
	if err := os.WriteFile(filepath.Join(filepath.Dir(run.Path), ".baseline"), []byte(run.Name+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := box.run("runs", "rename", "baseline", "base"); r.code != 0 || !strings.Contains(box.run("runs").out, "*  base") {
		t.Errorf("the baseline did not follow: %s\n%s", r.err, box.run("runs").out)
	}
	if r := box.run("runs", "remove", "-y", "baseline"); r.code != 0 || !strings.Contains(r.err, "it was the baseline, and there is none now") {
		t.Errorf("%d: %s", r.code, r.err)
	}
}

// What is not known is no 0, and a load that failed is said to have.
func TestUnknownFiguresAndFailedLoadsOfRuns(t *testing.T) {
	if got := figure(0) + figure(12.4); got != "-12" {
		t.Error(got)
	}
	if got := noteOf(trial.RunInfo{Complete: true, LoadFailed: true}); got != "the load failed" {
		t.Error(got)
	}
}
