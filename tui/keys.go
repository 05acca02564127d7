package tui

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"pgtlb/workload/trial"
)

// key handles one key press.
func (m *Model) key(msg tea.KeyPressMsg) tea.Cmd {
	k := msg.String()
	m.notices.key()
	if k == "ctrl+c" {
		if _, asked := m.overlay.(quitting); asked {
			return tea.Quit
		}
		return m.quit()
	}
	if m.st == nil || m.st.Phase == trial.Failed {
		if k == "q" || k == "esc" {
			return tea.Quit
		}
		return nil
	}
	if m.table.typing {
		m.typeFilter(msg)
		return nil
	}
	if q := m.question(); q != nil && (m.overlay == nil || !m.overlay.first()) {
		return m.answer(q, k)
	}
	if t, ok := m.overlay.(typer); ok && t.takesText() {
		t.typed(m, msg)
		return nil
	}
	if m.overlay != nil {
		next, cmd := m.overlay.key(m, k)
		// A key of an overlay may have opened another one.
		m.overlay = next
		return cmd
	}
	return m.liveKey(k)
}

// liveKey handles a key of the live screen.
func (m *Model) liveKey(k string) tea.Cmd {
	switch k {
	case "q":
		return m.quit()
	case "?":
		m.overlay = &help{}
	}
	if m.st.Phase == trial.Preparing {
		return nil
	}
	switch k {
	case "v":
		m.overlay = &values{}
	case "C":
		m.overlay = &connectionCard{}
	case "p":
		if m.zoomed && m.focus == paneCount {
			m.engine.Do(trial.InspectAll{})
		}
	case "c":
		m.engine.Do(trial.ToggleCompare{})
	case "e":
		m.engine.Do(trial.Export{})
	case "s":
		m.table.sort = (m.table.sort + 1) % len(sortKeys())
	case "/":
		m.table.typing, m.focus = true, paneCount
	case "tab":
		m.turn(1)
	case "shift+tab":
		m.turn(paneCount)
	case "enter":
		m.enter()
	case "esc":
		m.escape()
	case "up", "down", "left", "right", "pgup", "pgdown", "home", "end", "shift+left", "shift+right":
		m.arrow(k)
	default:
		return m.modeKey(k)
	}
	return nil
}

// modeKey handles the keys that depend on the kind of session.
func (m *Model) modeKey(k string) tea.Cmd {
	if k == "B" {
		m.overlay = &baselines{}
		return m.list
	}
	if m.st.Mode == trial.Replaying {
		m.replayKey(k)
		return nil
	}
	switch k {
	case "b":
		m.engine.Do(trial.SaveBaseline{})
	case "l":
		m.overlay = &scenarios{}
	case "d":
		m.overlay = newDoctorScreen(m)
	case "x":
		if m.experiment == nil {
			m.experiment = newExperimentScreen(m.st)
		}
		m.overlay = m.experiment
	case "h":
		if m.st.Mode == trial.InLab {
			m.overlay = newPagesMenu(m.st)
		}
	case "space":
		m.freeze()
	case "+", "=", "-":
		m.interval(k)
	default:
		m.digit(k)
	}
	return nil
}

// replayKey handles the keys of a replay. Those that only a session can do are
// sent on, too: the replay says why they do nothing.
func (m *Model) replayKey(k string) {
	switch k {
	case "space":
		m.engine.Do(trial.Seek{Pause: true})
	case "b":
		m.engine.Do(trial.SaveBaseline{})
	case "l":
		m.engine.Do(trial.ToggleLoad{})
	case "h":
		m.engine.Do(trial.SetPages{})
	case "+", "=", "-":
		m.engine.Do(trial.SetInterval{})
	default:
		m.digit(k)
	}
}

// digit starts or stops the scenario of a digit key.
func (m *Model) digit(k string) bool {
	if len(k) != 1 || k[0] < '1' || k[0] > '9' {
		return false
	}
	// The session says what is wrong with a key that has no scenario.
	m.engine.Do(trial.ToggleLoad{Key: int(k[0] - '0')})
	return true
}

// freeze holds the view or lets it go; the session goes on either way.
func (m *Model) freeze() {
	if m.frozen != nil {
		m.frozen = nil
		return
	}
	m.frozen = m.st
}

// intervals are the times between samples that + and - step through.
var intervals = [...]time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second}

// interval asks for the next shorter (+) or longer (-) time between samples.
func (m *Model) interval(k string) {
	if k == "-" {
		for _, d := range intervals {
			if d > m.st.Interval {
				m.engine.Do(trial.SetInterval{Every: d})
				return
			}
		}
		return
	}
	for _, d := range slices.Backward(intervals[:]) {
		if d < m.st.Interval {
			m.engine.Do(trial.SetInterval{Every: d})
			return
		}
	}
}

// enter zooms; in the zoomed table it asks for the selected process's memory.
func (m *Model) enter() {
	if !m.zoomed {
		m.zoomed, m.scrolled = true, 0
		m.askHolders()
		return
	}
	if m.focus != paneCount {
		m.zoomed = false
		return
	}
	v := m.table.view(m.shown())
	if len(v.rows) > 0 {
		m.engine.Do(trial.Inspect{Pid: v.rows[m.table.index(v)].Pid})
	}
}

// turn moves the focus on by n.
func (m *Model) turn(n paneID) {
	m.focus, m.scrolled = (m.focus+n)%(paneCount+1), 0
	m.askHolders()
}

// askHolders asks who holds huge pages when the pane that tells it is zoomed.
func (m *Model) askHolders() {
	if m.zoomed && m.focus == paneTables && m.st.Mode != trial.Replaying {
		m.engine.Do(trial.FindHolders{})
	}
}

// escape undoes the last step: the reading of all processes, zoom, filter, freeze.
func (m *Model) escape() {
	switch {
	case m.zoomed && m.focus == paneCount && m.st.Pass != nil && m.st.Pass.Ended.IsZero():
		m.engine.Do(trial.StopInspecting{})
	case m.zoomed:
		m.zoomed = false
	case m.table.filter != "":
		m.table.filter = ""
	case m.frozen != nil:
		m.frozen = nil
	}
}

// arrow moves the selection in the table or the focus between the panes; a
// replay takes left and right for itself.
func (m *Model) arrow(k string) {
	if m.st.Mode == trial.Replaying {
		if by, ok := map[string]int{"left": -1, "right": 1, "shift+left": -10, "shift+right": 10}[k]; ok {
			m.engine.Do(trial.Seek{By: by})
			return
		}
	}
	if m.focus == paneCount {
		m.tableArrow(k)
		return
	}
	if m.zoomed {
		m.scrollZoom(k)
		return
	}
	cols := m.paneColumns()
	switch at := int(m.focus); k {
	case "left":
		m.focus = paneID(max(0, at-1))
	case "right":
		m.focus = paneID(min(int(paneCount)-1, at+1))
	case "up":
		if at >= cols {
			m.focus = paneID(at - cols)
		}
	case "down":
		m.focus = paneID(min(at+cols, int(paneCount)))
	}
}

// scrollZoom moves the text below a zoomed pane.
func (m *Model) scrollZoom(k string) {
	st := m.shown()
	l := arrange(m.w, m.h, len(m.notices.lines(m.w, m.h)), 0, warned(st))
	z := newScene(st, m.span(m.w), m.opts.ASCII).zoomed(l.body(m.w), m.focus)
	m.scrolled = scroll(min(m.scrolled, z.most()), k, z.most()+1, 1)
}

// paneColumns is how many panes stand side by side.
func (m *Model) paneColumns() int {
	shown := len(m.notices.lines(m.w, m.h))
	return max(1, arrange(m.w, m.h, shown, 0, warned(m.shown())).cols)
}

func (m *Model) tableArrow(k string) {
	v := m.table.view(m.shown())
	page := max(1, m.h/3)
	switch k {
	case "up":
		if !m.table.move(v, -1) && !m.zoomed {
			m.focus = paneCount - paneID(m.paneColumns())
		}
	case "down":
		m.table.move(v, 1)
	case "pgup":
		m.table.move(v, -page)
	case "pgdown":
		m.table.move(v, page)
	case "home":
		m.table.move(v, -len(v.rows))
	case "end":
		m.table.move(v, len(v.rows))
	}
}

// typeFilter edits the filter.
func (m *Model) typeFilter(msg tea.KeyPressMsg) {
	switch k := msg.String(); k {
	case "enter":
		m.table.typing = false
	case "esc":
		m.table.typing, m.table.filter = false, ""
	default:
		m.table.filter = edit(m.table.filter, msg, 64)
	}
}

// edit is a text after one more key: a character at its end, or one less. It
// does not get longer than most bytes.
func edit(text string, msg tea.KeyPressMsg, most int) string {
	if msg.String() == "backspace" {
		r := []rune(text)
		return string(r[:max(0, len(r)-1)])
	}
	if more := clean(msg.Key().Text); len(text)+len(more) <= most {
		return text + more
	}
	return text
}
