package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

// keep stores a run that has one figure per metric.
func (s *sandbox) keep(name string, metrics map[string]float64, change func(*trial.Meta)) {
	s.t.Helper()
	m := trial.Meta{Schema: trial.Schema, Name: name, Kind: "load", Created: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC),
		Loads:  []trial.LoadMeta{{Scenario: "point-select", Clients: 8}},
		ByHand: &trial.ByHand{LoadS: 30, CounterWindowS: 25, Metrics: metrics}}
	if change != nil {
		change(&m)
	}
	dir := filepath.Join(s.state, "pgtlb", "runs")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		s.t.Fatal(err)
	}
	r, err := trial.Create(dir, m)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := r.Close(trial.End{Reason: "entered by hand"}); err != nil {
		s.t.Fatal(err)
	}
}

// published is the pair of runs of the first published table.
func (s *sandbox) published() {
	s.keep("point-4kB", map[string]float64{probes.TPS: 54263, probes.LatencyMean: 0.147, probes.PageFaults: 1397551, probes.DTLBMissPct: 2.73,
		probes.CyclesKernel: 180.46e9, probes.CyclesUser: 407.13e9}, func(m *trial.Meta) { m.Pages = "4kB" })
	s.keep("point-2MB", map[string]float64{probes.TPS: 58564, probes.LatencyMean: 0.137, probes.PageFaults: 1044, probes.DTLBMissPct: 2.49,
		probes.CyclesKernel: 163.42e9, probes.CyclesUser: 422.89e9}, func(m *trial.Meta) { m.Pages = "2MB" })
}

func TestCompareThePublishedPair(t *testing.T) {
	box := newSandbox(t)
	box.published()
	r := box.run("compare", "point-4kB", "point-2MB")
	if r.code != exitDone {
		t.Fatalf("exit code %d: %s", r.code, r.err)
	}
	for _, want := range []string{"Undecided, one run per side", "+7.93 %", "−6.80 %", "÷1,338", "−0.24 pp", "too few runs",
		"WARNING: one run per arm: undecided", "25 s of counters beside 30 s of load", "ok: cycle budget"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("the comparison does not say %q:\n%s", want, r.out)
		}
	}
	for _, format := range []string{"md", "html", "json"} {
		file := filepath.Join(box.work, "r."+format)
		if r := box.run("report", "point-2MB", "--baseline", "point-4kB", "-o", file); r.code != exitDone {
			t.Fatalf("report: exit code %d: %s", r.code, r.err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"7.93 %", "6.80 %", "1,338 times fewer", "0.24 pp", "one run per arm", "25 s of counters beside 30 s of load"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("the report in %s does not say %q", format, want)
			}
		}
	}
}

// An experiment is named alone, by its arms, or by its runs; the answer is the same.
func TestCompareAnExperiment(t *testing.T) {
	box := newSandbox(t)
	for block := 1; block <= 6; block++ {
		for i, arm := range []string{"4kB", "2MB"} {
			position := 2*block - 1 + i
			box.keep(fmt.Sprintf("pages-%02d-%s", position, arm), map[string]float64{probes.TPS: (1000 + float64(block%3)) * (1 + 0.08*float64(i))}, func(m *trial.Meta) {
				m.Pages, m.Created = arm, m.Created.Add(time.Duration(position)*time.Minute)
				m.Step = &trial.StepMeta{Experiment: "march", Factor: "huge_pages", Arm: arm, Block: block, Position: position}
			})
		}
	}
	var first trial.Comparison
	for i, args := range [][]string{{"march"}, {"march:4kB", "march:2MB"}, {"pages-*-4kB", "pages-*-2MB"}} {
		r := box.run(append([]string{"compare", "--json"}, args...)...)
		var c trial.Comparison
		if err := json.Unmarshal([]byte(r.out), &c); err != nil || r.code != exitDone {
			t.Fatalf("%v: exit code %d, %v: %s", args, r.code, err, r.err)
		}
		if i == 0 {
			first = c
		}
		row := c.Rows[0]
		if row.Metric != probes.TPS || row.Verdict != trial.Better || row.N != 6 || *row.P != 0.03125 || !c.Paired || *row.DiffPct != *first.Rows[0].DiffPct {
			t.Errorf("%v: %+v", args, row)
		}
	}
	if r := box.run("report", "march"); r.code != exitDone || !strings.Contains(r.out, "# 2MB against 4kB: experiment march") || !strings.Contains(r.out, "pgtlb compare march") {
		t.Errorf("report: exit code %d: %s%s", r.code, r.out, r.err)
	}
	if r := box.run("compare", "--by", "hour", "pages-*"); r.code != exitUsage || !strings.Contains(r.err, "nobody entered when they were measured (created): pages-01-4kB") {
		t.Errorf("by hour: exit code %d: %s", r.code, r.err)
	}
}

func TestCompareRefuses(t *testing.T) {
	box := newSandbox(t)
	box.published()
	box.keep("other", map[string]float64{probes.TPS: 1}, func(m *trial.Meta) { m.Pages, m.Host.Kernel, m.Server.Version = "2MB", "6.19", "18.1" })
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"point-4kB"}, "name another side"},
		{[]string{"point-4kB", "point-4kB"}, "held against itself"},
		{[]string{"point-4kB", "nothing"}, "there is no run named nothing"},
		{[]string{"point-4kB", "x*"}, "no run is named like x*"},
		{[]string{"point-4kB", "other"}, "kernel (none) against 6.19"},
		{[]string{"--margin", "0", "point-4kB", "point-2MB"}, "--margin"},
		{[]string{"--margin", "NaN", "point-4kB", "point-2MB"}, "--margin"},
		{[]string{"--by", "moon", "point-4kB", "point-2MB"}, "--by moon"},
		{nil, "requires at least 1 arg"},
	} {
		if r := box.run(append([]string{"compare"}, c.args...)...); r.code != exitUsage || !strings.Contains(r.err, c.want) || r.out != "" {
			t.Errorf("%v: exit code %d, %q, %q; want %q", c.args, r.code, r.err, r.out, c.want)
		}
	}
	if r := box.run("compare", "--force", "point-4kB", "other"); r.code != exitDone || !strings.Contains(r.out, "the two also differ in server version (none) against 18.1") {
		t.Errorf("--force: exit code %d: %s%s", r.code, r.out, r.err)
	}
	if r := box.run("report", "other", "--baseline", "point-4kB"); r.code != exitUsage || !strings.Contains(r.err, "--force compares them all the same") {
		t.Errorf("report: exit code %d: %s", r.code, r.err)
	}
}
