package tui

import (
	"context"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"pgtlb/workload/trial"
)

// fakeEngine remembers what it was asked for.
type fakeEngine struct {
	asked []trial.Command
	runs  []trial.RunInfo
	err   error
}

func (f *fakeEngine) Next(context.Context) (trial.State, error)     { return trial.State{}, io.EOF }
func (f *fakeEngine) Do(c trial.Command)                            { f.asked = append(f.asked, c) }
func (f *fakeEngine) Runs(context.Context) ([]trial.RunInfo, error) { return f.runs, f.err }

// press sends a state and keys to a screen and returns the screen and the last
// key's command.
func press(t *testing.T, e *fakeEngine, st trial.State, keys ...string) (Model, tea.Cmd) {
	t.Helper()
	m := screenOf(e, Options{width: 120, height: 40})
	next, _ := m.Update(stateMsg{st})
	var cmd tea.Cmd
	for _, k := range keys {
		next, cmd = next.Update(keyPress(k))
	}
	return next.(Model), cmd
}

func isQuit(cmd tea.Cmd) bool {
	if cmd == nil {
		return false
	}
	_, ok := cmd().(tea.QuitMsg)
	return ok
}

func TestKeysAskTheEngine(t *testing.T) {
	run := demo{seconds: 20, loads: 1}.state()
	replay := demo{seconds: 20, mode: trial.Replaying}.state()
	watch := demo{seconds: 20, mode: trial.Watching}.state()
	failed := failed()
	question := run
	question.Question = &trial.Question{ID: 7, Text: "Really?"}
	passing, passed := run, run
	passing.Pass, passed.Pass = demoPass(run, 5), demoPass(run, 12)
	slow := run
	slow.Interval = 10 * time.Second
	for _, c := range []struct {
		name string
		st   trial.State
		keys string
		want []trial.Command
	}{
		{"start a scenario", run, "2", []trial.Command{trial.ToggleLoad{Key: 2}}},
		{"no such scenario", run, "7", []trial.Command{trial.ToggleLoad{Key: 7}}},
		{"baseline", run, "b", []trial.Command{trial.SaveBaseline{}}},
		{"compare", run, "c", []trial.Command{trial.ToggleCompare{}}},
		{"compare in the table of values", run, "v c", []trial.Command{trial.ToggleCompare{}}},
		{"export", run, "e", []trial.Command{trial.Export{}}},
		{"shorter interval", run, "+", []trial.Command{trial.SetInterval{Every: 500 * time.Millisecond}}},
		{"longer interval", run, "-", []trial.Command{trial.SetInterval{Every: 2 * time.Second}}},
		{"longest interval", slow, "-", nil},
		{"2 MB pages", run, "h down enter", []trial.Command{trial.SetPages{Pages: "2MB"}}},
		{"pages that the machine does not have", run, "h down down enter", nil},
		{"pages menu closed", run, "h down esc", nil},
		{"no page menu outside the lab", watch, "h enter", nil},
		{"scenario list", run, "l down enter", []trial.Command{trial.ToggleLoad{Key: 2}}},
		{"scenario list digit", run, "l 1", []trial.Command{trial.ToggleLoad{Key: 1}}},
		{"scenario list stays open", run, "l down space space j enter", []trial.Command{trial.ToggleLoad{Key: 2}, trial.ToggleLoad{Key: 2}, trial.ToggleLoad{Key: 3}}},
		{"the last before custom", run, "l end up enter", []trial.Command{trial.ToggleLoad{Key: 13}}},
		{"a number is typed", run, "l down e enter backspace 5 enter", []trial.Command{trial.SetParam{Key: 2, Name: "rows", Value: "6000005"}}},
		{"a value is typed anew", run, "l down e down down right ctrl+u 1 6 enter", []trial.Command{trial.SetParam{Key: 2, Name: "clients", Value: "16"}}},
		{"nothing typed is the default", run, "l down e e ctrl+u enter", []trial.Command{trial.SetParam{Key: 2, Name: "rows"}}},
		{"typing is left", run, "l down e enter 5 esc q", nil},
		{"letters are typed, not obeyed", run, "l down e enter ctrl+u l q b enter", []trial.Command{trial.SetParam{Key: 2, Name: "rows", Value: "lqb"}}},
		{"a choice goes on", run, "l down e down down down down enter", []trial.Command{trial.SetParam{Key: 2, Name: "protocol", Value: "simple"}}},
		{"a running load is asked for the reason", run, "l e enter", []trial.Command{trial.SetParam{Key: 1, Name: "rows", Value: "6000000"}}},
		{"custom asks for a file first", run, "l end enter a . s q l enter", []trial.Command{trial.SetParam{Key: 14, Name: "script", Value: "a.sql"}}},
		{"esc goes back to the list", run, "l down e esc enter", []trial.Command{trial.ToggleLoad{Key: 2}}},
		{"a digit starts from the parameters too", run, "l down e 3", []trial.Command{trial.ToggleLoad{Key: 3}}},
		{"yes", question, "y", []trial.Command{trial.Answer{ID: 7, Yes: true}}},
		{"no", question, "n", []trial.Command{trial.Answer{ID: 7}}},
		{"an answer is given once", question, "y y", []trial.Command{trial.Answer{ID: 7, Yes: true}}},
		{"a question takes the keys", question, "c e 1", nil},
		{"pause a replay", replay, "space", []trial.Command{trial.Seek{Pause: true}}},
		{"seek in a replay", replay, "left right shift+right", []trial.Command{trial.Seek{By: -1}, trial.Seek{By: 1}, trial.Seek{By: 10}}},
		{"a replay says why not", replay, "1 b l h + -", []trial.Command{trial.ToggleLoad{Key: 1}, trial.SaveBaseline{},
			trial.ToggleLoad{}, trial.SetPages{}, trial.SetInterval{}, trial.SetInterval{}}},
		{"a letter that means nothing in a replay", replay, "z", nil},
		{"inspect", run, "enter enter", []trial.Command{trial.Inspect{Pid: 41384}}},
		{"inspect another", run, "down enter enter", []trial.Command{trial.Inspect{Pid: 41383}}},
		{"exact memory of all", run, "enter p", []trial.Command{trial.InspectAll{}}},
		{"not from the small table", run, "p", nil},
		{"a pass is stopped first", passing, "enter esc", []trial.Command{trial.StopInspecting{}}},
		{"a pass that has ended is not", passed, "enter esc enter", nil},
		{"who holds huge pages is asked with the zoom", run, "shift+tab enter", []trial.Command{trial.FindHolders{}}},
		{"and when it comes by tab", run, "tab enter tab tab tab tab tab tab", []trial.Command{trial.FindHolders{}}},
		{"a recording holds nothing", replay, "shift+tab enter", nil},
		{"scrolling asks for nothing", run, "tab enter down end up", nil},
		{"connection cost", run, "C down esc", nil},
		{"freezing asks for nothing", run, "space space", nil},
		{"typing a filter asks for nothing", run, "/ 1 b c enter", nil},
		{"only quit is left after a failure", failed, "1 b c e h", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &fakeEngine{}
			press(t, e, c.st, strings.Fields(c.keys)...)
			if !reflect.DeepEqual(e.asked, c.want) {
				t.Errorf("keys %q: got %v, want %v", c.keys, e.asked, c.want)
			}
		})
	}
}

func TestQuit(t *testing.T) {
	idle, run := demo{seconds: 20}.state(), demo{seconds: 20, loads: 1}.state()
	replay, watch := demo{seconds: 20, loads: 1, mode: trial.Replaying}.state(), demo{seconds: 20, loads: 1, mode: trial.Watching}.state()
	for _, c := range []struct {
		name string
		st   trial.State
		keys []string
		want bool
	}{
		{"at rest", idle, []string{"q"}, true},
		{"ctrl-c at rest", idle, []string{"ctrl+c"}, true},
		{"a load asks", run, []string{"q"}, false},
		{"a load, yes", run, []string{"q", "y"}, true},
		{"a load, no", run, []string{"q", "n"}, false},
		{"a load, ctrl-c twice", run, []string{"ctrl+c", "ctrl+c"}, true},
		{"in an overlay q closes it", idle, []string{"?", "q"}, false},
		{"ctrl-c in an overlay", idle, []string{"?", "ctrl+c"}, true},
		{"q is a letter of the filter", idle, []string{"/", "q"}, false},
		{"after a failure", failed(), []string{"q"}, true},
		{"while preparing", preparing(), []string{"q"}, true},
		{"a replay", replay, []string{"q"}, true},
		{"watching", demo{seconds: 20, mode: trial.Watching}.state(), []string{"q"}, true},
		{"a load on a watched server asks", watch, []string{"q"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, cmd := press(t, &fakeEngine{}, c.st, c.keys...); isQuit(cmd) != c.want {
				t.Errorf("keys %v: quit %v, want %v", c.keys, !c.want, c.want)
			}
		})
	}
	if _, cmd := screenOf(&fakeEngine{}, Options{}).Update(keyPress("q")); !isQuit(cmd) {
		t.Error("q before the first state does not quit")
	}
}

func TestChooseBaseline(t *testing.T) {
	e := &fakeEngine{runs: []trial.RunInfo{
		{Name: "broken", Problem: "cut in the middle"},
		{Name: "point-select-2MB", Pages: "2MB", Scenario: "point-select", TPS: 58564, Seconds: 25, Complete: true, Created: epoch},
	}}
	m, cmd := press(t, e, demo{seconds: 20}.state(), "B")
	if !strings.Contains(m.screen(), "reading the stored runs") {
		t.Error("the list does not say that it is being read")
	}
	next, _ := m.Update(cmd())
	for _, k := range []string{"enter", "down", "enter"} {
		next, _ = next.Update(keyPress(k))
	}
	want := []trial.Command{trial.ChooseBaseline{Name: "point-select-2MB"}}
	if !reflect.DeepEqual(e.asked, want) {
		t.Errorf("got %v, want %v: a run that cannot be read is not to be chosen", e.asked, want)
	}

	e.err = errors.New("opening the directory of runs: permission denied")
	m, cmd = press(t, e, demo{seconds: 20}.state(), "B")
	next, _ = m.Update(cmd())
	last := next.(Model)
	if !strings.Contains(last.screen(), "permission denied") {
		t.Error("the list does not say why it cannot be read")
	}
}

func TestReplayTakesABaseline(t *testing.T) {
	e := &fakeEngine{runs: []trial.RunInfo{{Name: "point-select-2MB", Complete: true, Created: epoch}}}
	m, cmd := press(t, e, demo{seconds: 20, mode: trial.Replaying}.state(), "B")
	if cmd == nil {
		t.Fatal("B does nothing")
	}
	next, _ := m.Update(cmd())
	next.Update(keyPress("enter"))
	if want := []trial.Command{trial.ChooseBaseline{Name: "point-select-2MB"}}; !reflect.DeepEqual(e.asked, want) {
		t.Errorf("got %v, want %v", e.asked, want)
	}
}

func TestFreezeHoldsTheView(t *testing.T) {
	m, _ := press(t, &fakeEngine{}, demo{seconds: 30, loads: 1}.state(), "space")
	before := m.screen()
	if !strings.Contains(before, "FROZEN") {
		t.Error("the screen does not say that it is frozen")
	}
	next, _ := m.Update(stateMsg{demo{seconds: 60, loads: 1}.state()})
	m = next.(Model)
	if m.screen() != before {
		t.Error("a frozen screen changed")
	}
	next, _ = m.Update(keyPress("space"))
	m = next.(Model)
	if m.screen() == before || strings.Contains(m.screen(), "FROZEN") {
		t.Error("the screen does not go on")
	}
}

func TestFocusMoves(t *testing.T) {
	st := demo{seconds: 20, loads: 1}.state()
	for _, c := range []struct {
		keys string
		want paneID
	}{
		{"", paneCount}, {"tab", paneTPS}, {"tab tab", paneLatency}, {"shift+tab", paneTables},
		{"tab right", paneLatency}, {"tab down", paneDTLB}, {"tab down down down", paneCount},
		{"up", paneCycles}, {"up up up left", paneTPS}, {"down down up up up", paneCycles},
	} {
		if m, _ := press(t, &fakeEngine{}, st, strings.Fields(c.keys)...); m.focus != c.want {
			t.Errorf("keys %q: focus on %d, want %d", c.keys, m.focus, c.want)
		}
	}
}

func TestNoticesExpireAndErrorsStay(t *testing.T) {
	st := demo{seconds: 20}.state()
	st.Notices = []trial.Notice{{Text: "baseline saved"}, {Text: "no space left", Error: true}}
	m, _ := press(t, &fakeEngine{}, st)
	next, _ := m.Update(expireMsg{1})
	m = next.(Model)
	if s := m.screen(); strings.Contains(s, "baseline saved") || !strings.Contains(s, "no space left") {
		t.Error("after the time is up the error alone is to stay")
	}
	// The same notices in the next state are not new.
	next, _ = m.Update(stateMsg{st})
	m = next.(Model)
	if strings.Contains(m.screen(), "baseline saved") {
		t.Error("an old notice came back")
	}
	next, _ = m.Update(keyPress("s"))
	m = next.(Model)
	if strings.Contains(m.screen(), "no space left") {
		t.Error("an error stays after a key")
	}
}

// What was said before a restart does not stand beside the next one; what comes
// with its end does.
func TestAPhaseTakesOldNoticesAway(t *testing.T) {
	st := demo{seconds: 20}.state()
	st.Notices = []trial.Notice{{Text: "no pages were reserved"}, {Text: "no space left", Error: true}}
	m, _ := press(t, &fakeEngine{}, st)
	st.Phase = trial.Changing
	next, _ := m.take(st)
	m = next.(Model)
	if s := m.screen(); strings.Contains(s, "no pages were reserved") || !strings.Contains(s, "no space left") {
		t.Error("when a restart begins, the errors alone are to stay")
	}
	st.Notices = append(st.Notices, trial.Notice{Text: "stopping the loads"})
	next, _ = m.take(st)
	st.Phase = trial.Ready
	st.Notices = append(st.Notices, trial.Notice{Text: "the server runs with 2MB pages now"})
	next, _ = next.(Model).take(st)
	m = next.(Model)
	if !strings.Contains(m.screen(), "runs with 2MB pages now") {
		t.Error("the outcome of the restart is not said")
	}
}

// An error can be read to its end, the reason, on a small screen too.
func TestErrorsAreReadInFull(t *testing.T) {
	st := demo{seconds: 20, loads: 1}.state()
	st.Notices = []trial.Notice{{Text: "the run is not kept: writing /home/somebody/.local/state/pgtlb/runs/20260314T140200-point-select-4kB.ndjson: write /home/somebody/.local/state/pgtlb/runs/20260314T140200-point-select-4kB.ndjson: no space left on device", Error: true}}
	for _, size := range [][2]int{{120, 40}, {80, 24}, {40, 12}} {
		screen := onTerminal(t, Snapshot(st, Options{}, size[0], size[1]), size[0], size[1])
		text := strings.Join(strings.Fields(screen), " ")
		for _, want := range []string{"the run is not kept: writing /home/", ".ndjson: no space left on device", "q quit"} {
			if !strings.Contains(text, want) {
				t.Errorf("%v: no %q on\n%s", size, want, screen)
			}
		}
	}
}

func TestEngineEnds(t *testing.T) {
	m := screenOf(&fakeEngine{}, Options{})
	next, cmd := m.Update(overMsg{io.EOF})
	if !isQuit(cmd) || next.(Model).err != nil {
		t.Error("the end of the engine is to end the screen without an error")
	}
	want := errors.New("server gone")
	if next, _ = m.Update(overMsg{want}); !errors.Is(next.(Model).err, want) {
		t.Error("the engine's error is lost")
	}
}

// screenOf makes the screen of an engine as Run does, without running it.
func screenOf(e Engine, o Options) Model {
	ctx := context.Background()
	return newModel(e, o, nextState(ctx, e), listRuns(ctx, e))
}
