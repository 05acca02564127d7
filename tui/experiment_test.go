package tui

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgtlb/workload/experiment"
	"pgtlb/workload/trial"
)

// demoExperiment is an experiment of which so many steps are made; the fifth failed.
func demoExperiment(made int) *trial.ExperimentState {
	p := experiment.Plan{Name: "20261130-141205-huge_pages", Factor: "huge_pages", Values: []string{"4kB", "2MB"}, Pairs: 6, Order: experiment.ABBA,
		Detect: 0.03, Margin: 0.01, Limit: time.Minute}
	steps := p.Steps()
	e := &trial.ExperimentState{Progress: experiment.Progress{Plan: p, Of: len(steps)}}
	figures := []float64{54263, 54710, 54120, 58564, 0, 54466, 53980, 58102, 58610, 54301, 54530, 58440, 58020, 54210}
	for i, s := range steps[:made] {
		start := epoch.Add(time.Duration(i) * 41 * time.Second)
		m := experiment.Made{Step: s, Started: start, Ended: start.Add(41 * time.Second), State: experiment.Done, Run: "run", Primary: figures[i]}
		if m.Primary == 0 {
			m.State, m.Why, m.Run = experiment.Hung, "not done after 1m0s: ended", ""
		}
		e.Progress.Made = append(e.Progress.Made, m)
	}
	if made < len(steps) {
		e.Progress.Step, e.Progress.Phase, e.Detail = steps[made], "measuring", "measuring, 12 s"
		e.Progress.Since, e.Progress.Left = epoch.Add(-20*time.Second), time.Duration(len(steps)-made)*41*time.Second
	}
	return e
}

func experimentGoldens() []golden {
	idle := demo{seconds: 30}.state()
	idle.Experiment, idle.At = nil, epoch
	with := func(e *trial.ExperimentState) trial.State {
		st := idle
		st.Experiment = e
		return st
	}
	gate := demoExperiment(2)
	gate.Gate = &experiment.Gate{Identical: []float64{54263, 54710}, Spread: 0.0082, Floor: 0.0185, Pairs: 8, Cautious: 31, Planned: 6, Detect: 0.03, Block: 82 * time.Second}
	hidden := demoExperiment(2)
	hidden.Gate = &experiment.Gate{Identical: []float64{44263, 54710}, Spread: 0.211, Floor: 0.61, Pairs: 161, Planned: 6, Hidden: true, Detect: 0.03, Block: 82 * time.Second}
	many := demoExperiment(2)
	many.Gate = &experiment.Gate{Identical: []float64{54263, 54710}, Spread: 0.0082, Floor: 0.0185, Pairs: 41, Cautious: 120, Planned: 6, Detect: 0.03, Block: 82 * time.Second}
	early := demoExperiment(2)
	early.Over = true
	repeats := demoExperiment(14)
	repeats.Over, repeats.Result = true, &trial.Comparison{Sentence: "2MB against 4kB: +7.9 % TPS.", Verdict: trial.Better}
	repeats.WithRepeats = &trial.Comparison{Sentence: "2MB against 4kB: +7.5 % TPS."}
	over := demoExperiment(14)
	over.Over = true
	failed := demoExperiment(3)
	failed.Over, failed.Err = true, "the sessions have huge_pages = off, the arm is 2MB: the experiment cannot go on"
	return []golden{
		{"experiment-form", with(nil), Options{}, []string{"x"}},
		{"experiment-form-bad", with(nil), Options{}, []string{"x", "enter", "ctrl+u", "w", "o", "r", "k", "enter"}},
		{"experiment-running", with(demoExperiment(9)), Options{}, []string{"x"}},
		{"experiment-ending", with(demoExperiment(9)), Options{}, []string{"x", "s"}},
		{"experiment-gate", with(gate), Options{}, []string{"x"}},
		{"experiment-gate-hidden", with(hidden), Options{}, []string{"x"}},
		{"experiment-gate-many", with(many), Options{}, []string{"x"}},
		{"experiment-early", with(early), Options{}, []string{"x"}},
		{"experiment-repeats", with(repeats), Options{}, []string{"x"}},
		{"experiment-over", with(over), Options{}, []string{"x"}},
		{"experiment-failed", with(failed), Options{}, []string{"x"}},
	}
}

func TestExperimentKeys(t *testing.T) {
	idle := demo{seconds: 30}.state()
	e := &fakeEngine{}
	// The last line of the form starts what the form says.
	press(t, e, idle, "x", "down", "down", "enter", "ctrl+u", "8", "enter", "end", "enter")
	if len(e.asked) != 1 {
		t.Fatalf("%+v", e.asked)
	}
	start, ok := e.asked[0].(trial.StartExperiment)
	p := start.Experiment.Plan
	if !ok || start.Key != 1 || p.Factor != "huge_pages" || !slices.Equal(p.Values, []string{"4kB", "2MB"}) || p.Pairs != 8 ||
		start.Experiment.Measure != 25*time.Second || start.Experiment.WarmUp != (trial.WarmUp{Most: 5 * time.Second}) || p.Detect != 0.03 || p.Check() != nil {
		t.Errorf("%+v", e.asked[0])
	}
	// What is wrong starts nothing.
	e = &fakeEngine{}
	m, _ := press(t, e, idle, "x", "down", "down", "enter", "ctrl+u", "0", "enter", "end", "enter")
	if len(e.asked) != 0 || !strings.Contains(m.overlay.(*experimentScreen).why, "pairs: write a number from 1 to 100") {
		t.Errorf("%+v %q", e.asked, m.overlay.(*experimentScreen).why)
	}
	// Typing a value starts no scenario.
	press(t, e, idle, "x", "enter", "1", "q", "esc")
	if len(e.asked) != 0 {
		t.Errorf("%+v", e.asked)
	}

	// A load at work is named, and its digit stops it; the form keeps what was typed.
	busy := demo{seconds: 30, loads: 1}.state()
	e = &fakeEngine{}
	m, _ = press(t, e, busy, "x", "end", "enter")
	if len(e.asked) != 0 || !strings.Contains(m.experiment.why, "point-select is running") {
		t.Errorf("%+v %q", e.asked, m.experiment.why)
	}
	m, _ = press(t, e, busy, "x", "down", "down", "enter", "ctrl+u", "9", "enter", "esc", "x", "1")
	if len(e.asked) != 1 || e.asked[0] != (trial.ToggleLoad{Key: 1}) || m.experiment.form[fieldPairs].value != "9" {
		t.Errorf("%+v %+v", e.asked, m.experiment.form)
	}
	// What was refused before its first run leads back to the form, with the reason.
	no := idle
	no.Experiment = &trial.ExperimentState{Over: true, Err: "there are no pages of 1 GB here"}
	if s := Snapshot(no, Options{}, 120, 40, "x"); !strings.Contains(s, "there are no pages of 1 GB here") || !strings.Contains(s, "start it") {
		t.Error(s)
	}

	running := idle
	running.Experiment = demoExperiment(9)
	e = &fakeEngine{}
	press(t, e, running, "x", "s", "esc", "s", "s")
	if len(e.asked) != 1 || e.asked[0] != (trial.StopExperiment{}) {
		t.Errorf("%+v", e.asked)
	}
	gate := idle
	gate.Experiment = demoExperiment(2)
	gate.Experiment.Gate = &experiment.Gate{Planned: 6, Pairs: 9, Detect: 0.03}
	for key, want := range map[string]int{"enter": 6, "m": 9, "n": 0} {
		e = &fakeEngine{}
		press(t, e, gate, "x", key)
		if len(e.asked) != 1 || e.asked[0] != (trial.AnswerGate{Pairs: want}) {
			t.Errorf("%s: %+v", key, e.asked)
		}
	}
	// A wild noise floor does not make an experiment of days.
	gate.Experiment.Gate = &experiment.Gate{Planned: 6, Pairs: 4000, Detect: 0.03}
	e = &fakeEngine{}
	press(t, e, gate, "x", "m")
	if len(e.asked) != 1 || e.asked[0] != (trial.AnswerGate{Pairs: experiment.AutoPairs}) {
		t.Errorf("%+v", e.asked)
	}
}
