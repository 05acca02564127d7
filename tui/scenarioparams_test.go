package tui

import (
	"reflect"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"pgtlb/workload/trial"
)

// keysOn sends keys.
func keysOn(m tea.Model, keys string) Model {
	for _, k := range strings.Fields(keys) {
		m, _ = m.Update(keyPress(k))
	}
	return m.(Model)
}

// TestARefusedValueStaysOpen with what was typed and the reason: the next digit
// belongs to it and starts no load.
func TestARefusedValueStaysOpen(t *testing.T) {
	answer := func(st trial.State, key int, a trial.ParamAnswer) stateMsg {
		st.Loads = append([]trial.LoadState(nil), st.Loads...)
		st.Loads[key-1].Answered = a
		return stateMsg{st}
	}
	st := demo{seconds: 20, loads: 1}.state()
	custom := len(st.Loads)
	for _, c := range []struct {
		name, open string
		key        int
		param      string
		why        string
	}{
		{"a number", "l down e enter ctrl+u", 2, "rows", `rows must be a whole number, not "abc"`},
		{"a script", "l end enter", custom, "script", "reading a script: stat abc: no such file or directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &fakeEngine{}
			m, _ := press(t, e, st, strings.Fields(c.open)...)
			m = keysOn(m, "a b c enter 1 2")
			want := []trial.Command{trial.SetParam{Key: c.key, Name: c.param, Value: "abc"}}
			if !reflect.DeepEqual(e.asked, want) {
				t.Fatalf("before the answer: %v, want %v", e.asked, want)
			}
			next, _ := m.Update(answer(st, c.key, trial.ParamAnswer{N: 1, Name: c.param, Value: "abc", Why: c.why}))
			m = next.(Model)
			if screen := strings.Join(strings.Fields(onTerminal(t, m.screen(), 120, 40)), " "); !strings.Contains(screen, "abc▏") || !strings.Contains(screen, c.why[:30]) {
				t.Errorf("the field does not say why:\n%s", onTerminal(t, m.screen(), 120, 40))
			}
			m = keysOn(m, "1")
			if screen := onTerminal(t, m.screen(), 120, 40); !strings.Contains(screen, "abc1▏") || strings.Contains(screen, c.why[:30]) {
				t.Errorf("the refusal stands beside another text:\n%s", screen)
			}
			m = keysOn(m, "ctrl+u 7 enter")
			want = append(want, trial.SetParam{Key: c.key, Name: c.param, Value: "7"})
			next, _ = m.Update(answer(st, c.key, trial.ParamAnswer{N: 2, Name: c.param, Value: "7"}))
			m = keysOn(next, "1")
			want = append(want, trial.ToggleLoad{Key: 1})
			if !reflect.DeepEqual(e.asked, want) {
				t.Errorf("a value that was taken closes the field: %v, want %v", e.asked, want)
			}
		})
	}
}

// TestEscLeavesARefusedValue and one that has no answer yet.
func TestEscLeavesARefusedValue(t *testing.T) {
	st := demo{seconds: 20, loads: 1}.state()
	for _, refused := range []bool{false, true} {
		e := &fakeEngine{}
		m, _ := press(t, e, st, strings.Fields("l down e enter x enter")...)
		if refused {
			again := st
			again.Loads = append([]trial.LoadState(nil), st.Loads...)
			again.Loads[1].Answered = trial.ParamAnswer{N: 1, Why: "rows must be a whole number"}
			next, _ := m.Update(stateMsg{again})
			m = next.(Model)
		}
		keysOn(m, "esc 3")
		if n := len(e.asked); n != 2 || e.asked[1] != (trial.ToggleLoad{Key: 3}) {
			t.Errorf("refused %v: %v", refused, e.asked)
		}
	}
}
