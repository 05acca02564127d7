package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgtlb/probes"
	"pgtlb/workload/experiment"
	"pgtlb/workload/trial"
)

// begun are the flags of an experiment that these arguments began.
func begun(t *testing.T, args ...string) (*experimentFlags, []string) {
	t.Helper()
	var e experimentFlags
	cmd := (&app{}).experimentCommand(&e)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return &e, cmd.Flags().Args()
}

// TestFlagsBesideResume: what is given again wins, what would be another experiment is
// refused, and no text without its password is run.
func TestFlagsBesideResume(t *testing.T) {
	for _, c := range []struct{ begun, now, refuses string }{
		{"--vary a=1,2 --restart-cmd old -d shop", "--resume last", ""},
		{"--vary a=1,2 --restart-cmd old -d shop", "--resume last --restart-cmd new --background-cmd beside -y --allow-load --json --repeat-failed", ""},
		{"--vary a=1,2", "--resume last --pairs 9", "leave --pairs out"},
		{"--vary a=1,2", "--resume last --measure 9s --vary b=1,2", "leave --measure out"},
		{"--vary a=1,2 --restart-cmd PGPASSWORD=***", "--resume last", "give --restart-cmd again"},
		{"--vary a=1,2 --restart-cmd PGPASSWORD=***", "--resume last --restart-cmd new", ""},
		{"--vary a=1,2 --background-cmd PGPASSWORD=***", "--resume last", "give --background-cmd again"},
		{"--vary a=1,2 --set x=password=***", "--resume last", "--set had a password"},
		{"--vary a=1,2 -d password=***", "--resume last", "give the connection string again"},
		{"--vary a=1,2 -d password=***", "--resume last -d shop", ""},
		{"--vary a=1,2 password=***", "--resume last", "give the connection string again"},
		{"--vary a=1,2 password=***", "--resume last shop", ""},
		{"--vary a=1,2 password=***", "--resume last -h there", ""},
	} {
		e, was := begun(t, strings.Fields(c.begun)...)
		now, args := begun(t, strings.Fields(c.now)...)
		args, err := e.takeOver(now, args, was)
		switch {
		case c.refuses != "" && (err == nil || !strings.Contains(err.Error(), c.refuses)):
			t.Errorf("%s | %s: %v", c.begun, c.now, err)
		case c.refuses == "" && err != nil:
			t.Errorf("%s | %s: %v", c.begun, c.now, err)
		case c.refuses == "" && slices.ContainsFunc(append(args, e.restart, e.background, e.conn.database), trial.HidesPassword):
			t.Errorf("%s | %s: %v %+v", c.begun, c.now, args, e)
		}
		if strings.Contains(c.now, "beside") && (e.restart != "new" || e.background != "beside" || !e.lab.yes || !e.allowLoad || !e.asJSON || !e.repeatFailed || e.conn.database != "shop") {
			t.Errorf("%+v", e)
		}
		if strings.HasSuffix(c.now, "there") && (e.conn.host != "there" || len(args) > 0) {
			t.Errorf("%+v %v", e.conn, args)
		}
	}
}

// TestMostPairs: what the question names is what the gate may make.
func TestMostPairs(t *testing.T) {
	for args, want := range map[string][2]int{"": {experiment.MostPairs, 0}, "-y": {0, 0}, "--pairs auto": {experiment.AutoPairs, experiment.AutoPairs}} {
		e, _ := begun(t, strings.Fields(args)...)
		if got := [2]int{e.mostPairs(true), e.mostPairs(false)}; got != want {
			t.Errorf("%q: %v, not %v", args, got, want)
		}
	}
}

// kept is a stand whose runs are kept in a sandbox. The step at fail fails in its turn.
type kept struct {
	s    *sandbox
	fail int
}

func (k kept) Arrange(_ context.Context, _ experiment.Plan, s experiment.Step) error {
	if s.Position == k.fail && !s.Repeat {
		return errors.New("no pages left")
	}
	return nil
}

func (k kept) Measure(_ context.Context, p experiment.Plan, s experiment.Step) (string, float64, error) {
	name, tps := fmt.Sprintf("run-%02d", s.Position), 1000+float64(s.Position%3)+20*float64(s.Arm)
	k.s.keep(name, map[string]float64{probes.TPS: tps}, func(m *trial.Meta) {
		m.Created = m.Created.Add(time.Duration(s.Position) * time.Minute)
		m.Step = &trial.StepMeta{Experiment: p.Name, Factor: p.Factor, Arm: p.Arms()[s.Arm], Block: s.Block, Position: s.Position, OutOfOrder: s.Repeat}
	})
	return name, tps, nil
}

// experimentKept makes an experiment without a server.
func (s *sandbox) experimentKept(p experiment.Plan, fail int) {
	s.t.Helper()
	j, err := experiment.Create(filepath.Join(s.state, "pgtlb", "runs"), p)
	if err == nil {
		err = experiment.Execute(s.t.Context(), j, kept{s, fail}, experiment.Hooks{})
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func keptPlan(name string) experiment.Plan {
	return experiment.Plan{Name: name, Factor: "work_mem", Values: []string{"4MB", "8MB"}, Pairs: 4, Order: experiment.ABBA, Detect: 0.03, Margin: 0.05,
		Limit: time.Minute, RepeatFailed: true, Arguments: []string{"--vary", "work_mem=4MB,8MB", "--repeat-failed"}}
}

// TestCompareOfAnExperimentPrintsItsResult: with its margin, and the repeated steps apart.
func TestCompareOfAnExperimentPrintsItsResult(t *testing.T) {
	box := newSandbox(t)
	box.experimentKept(keptPlan("one"), 4)
	for _, more := range [][]string{nil, {"--json"}} {
		result := box.run(append([]string{"experiment", "--resume", "one"}, more...)...)
		again := box.run(append([]string{"compare", "one"}, more...)...)
		if result.code != exitDone || again.code != exitDone || result.out == "" || result.out != again.out {
			t.Errorf("exit codes %d, %d\n%s\n%s\n%s\n%s", result.code, again.code, result.err, result.out, again.err, again.out)
		}
	}
	text := box.run("compare", "one").out
	if strings.Count(text, "With the steps that were repeated out of order:") != 1 {
		t.Error(text)
	}
	var got struct {
		MarginPct   float64 `json:"margin_pct"`
		Arms        []trial.ArmName
		WithRepeats *trial.Comparison `json:"with_repeats"`
	}
	read := func(args ...string) {
		t.Helper()
		r := box.run(args...)
		if err := json.Unmarshal([]byte(r.out), &got); err != nil {
			t.Fatalf("%v: %s%s", err, r.err, r.out)
		}
	}
	if read("compare", "one", "--json"); got.MarginPct != 5 || got.Arms[1].Runs != 3 || got.WithRepeats == nil || got.WithRepeats.Arms[1].Runs != 4 {
		t.Errorf("%+v", got)
	}
	if read("compare", "one", "--json", "--margin", "2"); got.MarginPct != 2 {
		t.Errorf("%+v", got)
	}
	var report struct {
		Comparison *struct {
			MarginPct float64 `json:"margin_pct"`
		}
	}
	r := box.run("report", "one", "--json")
	if err := json.Unmarshal([]byte(r.out), &report); err != nil || !strings.Contains(r.out, `"margin_pct":5`) && !strings.Contains(r.out, `"margin_pct": 5`) {
		t.Errorf("%v\n%s%.2000s", err, r.err, r.out)
	}
	// A run that is gone is told, and no other one is taken.
	if r := box.run("runs", "remove", "-y", "run-03"); r.code != exitDone {
		t.Fatal(r.err)
	}
	for _, args := range [][]string{{"compare", "one"}, {"report", "one"}} {
		if r := box.run(args...); r.code == exitDone || !strings.Contains(r.err, "there is no run run-03 of its step 3") {
			t.Errorf("%v: exit code %d\n%s%s", args, r.code, r.err, r.out)
		}
	}
}

// TestJSONWithoutARunOfEachValue: one object whose lists are lists.
func TestJSONWithoutARunOfEachValue(t *testing.T) {
	box := newSandbox(t)
	dir := filepath.Join(box.state, "pgtlb", "runs")
	j, err := experiment.Create(dir, keptPlan("none"))
	if err == nil {
		err = j.Close("interrupted")
	}
	if err != nil {
		t.Fatal(err)
	}
	r := box.run("compare", "none", "--json")
	for _, want := range []string{`"steps":[]`, `"arms":[]`, `"rows":[]`, `"warnings":[]`, `"audit":[]`, `"background":[]`, `"left":10`} {
		if r.code != exitDone || !strings.Contains(r.out, want) {
			t.Errorf("exit code %d, no %s\n%s%s", r.code, want, r.err, r.out)
		}
	}
	// The verb prints it too where it was ended before its first step.
	store, err := trial.OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out, said strings.Builder
	e, _ := begun(t, "--json")
	st := &trial.State{Experiment: &trial.ExperimentState{Over: true, Interrupted: true, Progress: experiment.Progress{Plan: j.Plan, Of: 10}}}
	if err := (&app{out: &out, err: &said}).experimentEnded(t.Context(), e, store, st, nil); err != nil || out.String() != r.out {
		t.Errorf("%v\n%s\n%s", err, out.String(), said.String())
	}
}

// TestASignalAfterTheLastStep cuts nothing off: nothing is said of going on, and the exit
// code is that of the result. What the session found is printed, and not worked out again.
func TestASignalAfterTheLastStep(t *testing.T) {
	box := newSandbox(t)
	box.experimentKept(keptPlan("one"), 4) // repeated with success
	store, err := trial.OpenStore(filepath.Join(box.state, "pgtlb", "runs"))
	if err != nil {
		t.Fatal(err)
	}
	signalled, cancel := context.WithCancel(t.Context())
	cancel()
	ended := func(change func(*trial.ExperimentState), args ...string) (out, said string, err error) {
		t.Helper()
		e, _ := begun(t, args...)
		x := &trial.ExperimentState{Over: true, Progress: experiment.Progress{Plan: keptPlan("one"), Of: 10}}
		change(x)
		var o, s strings.Builder
		err = (&app{out: &o, err: &s}).experimentEnded(signalled, e, store, &trial.State{Experiment: x}, nil)
		return o.String(), s.String(), err
	}
	out, said, err := ended(func(*trial.ExperimentState) {})
	if err != nil || !strings.Contains(out, "tps") && !strings.Contains(out, "TPS") || !strings.Contains(said, "all 10 steps are made; pgtlb compare one prints the result") || strings.Contains(said, "--resume") {
		t.Errorf("%v\n%s%s", err, out, said)
	}
	out, _, err = ended(func(x *trial.ExperimentState) { x.Result = &trial.Comparison{Sentence: "as the session found"} }, "--json")
	if err != nil || !strings.Contains(out, "as the session found") {
		t.Errorf("%v\n%s", err, out)
	}
	// What could not be put back still counts.
	if _, _, err = ended(func(x *trial.ExperimentState) { x.Err = "putting the settings back: no" }); err == nil || !strings.Contains(err.Error(), "putting the settings back") {
		t.Error(err)
	}
	// With a step ahead it was cut off.
	left := keptPlan("two")
	j, err := experiment.Create(store.Dir(), left)
	if err == nil {
		err = j.Close("interrupted")
	}
	if err != nil {
		t.Fatal(err)
	}
	_, said, err = ended(func(x *trial.ExperimentState) { x.Progress.Plan = left })
	var exit *exitError
	if !errors.As(err, &exit) || exit.code != exitInterrupted || !strings.Contains(said, "0 of 10 steps are made and kept; pgtlb experiment --resume two goes on") {
		t.Errorf("%v\n%s", err, said)
	}
}

// TestResumeOfOneThatIsUnderWay is refused before anything is made.
func TestResumeOfOneThatIsUnderWay(t *testing.T) {
	box := newSandbox(t)
	j, err := experiment.Create(filepath.Join(box.state, "pgtlb", "runs"), keptPlan("busy"))
	if err != nil {
		t.Fatal(err)
	}
	if r := box.run("experiment", "--list"); r.code != exitDone || !strings.Contains(r.out, "0 of 10") || !strings.Contains(r.out, "under way") || strings.Contains(r.out, "--resume") {
		t.Errorf("exit code %d\n%s%s", r.code, r.err, r.out)
	}
	if r := box.run("experiment", "--resume", "busy"); r.code != exitUsage || !strings.Contains(r.err, "--resume busy: another pgtlb is at it") {
		t.Errorf("exit code %d\n%s%s", r.code, r.err, r.out)
	}
	if err := j.Close("interrupted"); err != nil {
		t.Fatal(err)
	}
	if r := box.run("experiment", "--list"); !strings.Contains(r.out, "interrupted; --resume goes on") {
		t.Errorf("%s%s", r.err, r.out)
	}
}
