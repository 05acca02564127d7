package tui

import (
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"pgtlb/workload/trial"
)

// scenarios is the screen of what can be started: the list, what the selected
// one shows and runs, and its parameters.
type scenarios struct {
	plainOverlay
	at     int  // the selected scenario
	tuning bool // the keys go to its parameters
	param  int  // the selected parameter
	typing bool // its value is being typed
	entry  entry
	line   int // the first shown of what it does
}

// maxValue is the longest value that can be typed, in bytes: several paths.
const maxValue = 1024

// load is the selected scenario, nil where there is none.
func (s *scenarios) load(m *Model) *trial.LoadState {
	if s.at >= len(m.st.Loads) {
		return nil
	}
	return &m.st.Loads[s.at]
}

func (s *scenarios) draw(c *canvas, m *Model) {
	l := arrange(c.w, c.h, len(m.notices.lines(c.w, c.h)), 0, warned(m.shown()))
	body := rect{0, l.header, c.w, l.notes - l.header}
	c.fill(body, " ", stPlain)
	c.fill(rect{0, l.keys, c.w, 1}, " ", stPlain)
	drawHints(c, l.keys, s.hints(m))
	load := s.load(m)
	if load == nil {
		c.frame(body, stFocus)
		titled(c, body, []fig{{"Scenarios", stTitle, 0}}, nil)
		in := body.inner()
		drawParas(c, rect{in.x + 1, in.y, in.w - 2, in.h}, lines([]para{{"There is no scenario to start here.", stPlain}}, in.w-2), 0)
		return
	}
	n := len(m.st.Loads)
	switch {
	case c.w >= 100 && body.h >= 24:
		top := min(n+3, body.h-10)
		s.drawList(c, rect{0, body.y, c.w, top}, m)
		left := c.w * 48 / 100
		s.drawInfo(c, rect{0, body.y + top, left, body.h - top}, load)
		s.drawParams(c, rect{left, body.y + top, c.w - left, body.h - top}, load)
	case body.h >= 15:
		top := min(n+3, max(7, body.h*45/100))
		s.drawList(c, rect{0, body.y, c.w, top}, m)
		s.drawLower(c, rect{0, body.y + top, c.w, body.h - top}, load)
	case s.tuning:
		s.drawParams(c, body, load)
	default:
		top := min(n+2, max(5, body.h/2))
		s.drawList(c, rect{0, body.y, c.w, top}, m)
		s.drawInfo(c, rect{0, body.y + top, c.w, body.h - top}, load)
	}
}

// drawLower shows one of the two below the list.
func (s *scenarios) drawLower(c *canvas, r rect, load *trial.LoadState) {
	if s.tuning {
		s.drawParams(c, r, load)
		return
	}
	s.drawInfo(c, r, load)
}

// hints are the keys that do something here.
func (s *scenarios) hints(m *Model) []hint {
	load := s.load(m)
	switch {
	case load == nil:
		return []hint{{"esc", "close", 0}}
	case s.typing && s.entry.sent > 0:
		return []hint{{"esc", "leave it", 0}}
	case s.typing:
		return []hint{{"type", "the value", 1}, {"empty", "is the default", 2}, {"enter", "take it", 0}, {"esc", "leave it", 0}}
	case s.tuning:
		return []hint{{"↑↓", "select", 2}, {"enter", "change", 0}, {"←", "list", 1}, {"1-9", "start, stop", 3}, {"esc", "back", 0}}
	}
	start := "start"
	if load.Status == trial.LoadRunning || load.Status == trial.LoadStarting {
		start = "stop"
	}
	return []hint{{"↑↓", "select", 2}, {"enter", start, 0}, {"1-9", "start, stop", 3}, {"e", "parameters", 1}, {"esc", "close", 0}}
}

func (s *scenarios) key(m *Model, k string) (overlay, tea.Cmd) {
	if len(m.st.Loads) == 0 {
		return nil, nil
	}
	if s.tuning {
		return s.paramKey(m, k), nil
	}
	switch k {
	case "esc", "l", "q":
		return nil, nil
	case "up", "k":
		s.choose(m, s.at-1)
	case "down", "j":
		s.choose(m, s.at+1)
	case "home":
		s.choose(m, 0)
	case "end":
		s.choose(m, len(m.st.Loads))
	case "pgdown", "pgup":
		s.line = max(0, scroll(s.line, k, 1000, 5))
	case "e", "right", "tab":
		s.tuning = true
	case "enter", "space":
		s.toggle(m)
	default:
		m.digit(k)
	}
	return s, nil
}

func (s *scenarios) choose(m *Model, at int) {
	at = max(0, min(len(m.st.Loads)-1, at))
	if at != s.at {
		s.at, s.param, s.line = at, 0, 0
	}
}

// toggle starts or stops the selected scenario. One that needs a text first, such
// as a script file, is asked for it.
func (s *scenarios) toggle(m *Model) {
	load := s.load(m)
	if i := slices.IndexFunc(load.Params, missing); i >= 0 {
		s.tuning, s.param = true, i
		s.typing, s.entry = true, entry{}
		return
	}
	m.engine.Do(trial.ToggleLoad{Key: load.Key})
}

// missing tells of a parameter without which a scenario cannot start.
func missing(p trial.ParamState) bool { return p.Text && p.Value == "" }

// listColumn is one column of the list.
type listColumn struct {
	title string
	w     int
	right bool
	drop  int // the higher, the earlier it goes
	cell  func(l *trial.LoadState, st *trial.State) (string, style)
}

func listColumns() []listColumn {
	return []listColumn{
		{"", 3, false, 0, func(l *trial.LoadState, _ *trial.State) (string, style) {
			sign, st := loadMark(*l)
			if l.Key <= lastDigit {
				sign += fmt.Sprintf(" %d", l.Key)
			}
			return sign, st
		}},
		{"SCENARIO", 20, false, 0, func(l *trial.LoadState, _ *trial.State) (string, style) {
			if l.Status == trial.LoadStopped {
				return clean(l.Name), stPlain
			}
			_, st := loadMark(*l)
			return clean(l.Name), st
		}},
		{"STATE", 13, false, 1, func(l *trial.LoadState, _ *trial.State) (string, style) {
			switch l.Status {
			case trial.LoadStopped:
				return "", stDim
			case trial.LoadRunning:
				return "running " + clock(l.Elapsed), stGood
			}
			_, st := loadMark(*l)
			return string(l.Status), st
		}},
		{"TPS", 7, true, 2, figureCell(tpsOf)},
		{"P99 ms", 7, true, 3, figureCell(p99Of)},
		{"APDEX", 5, true, 4, func(l *trial.LoadState, _ *trial.State) (string, style) {
			if l.Apdex == nil {
				return "", stDim
			}
			return fmt.Sprintf("%.2f", l.Apdex.Score), apdexStyle(l.Apdex)
		}},
		{"CLIENTS", 7, true, 5, func(l *trial.LoadState, _ *trial.State) (string, style) { return fmt.Sprint(l.Clients), stDim }},
		{"WHAT IT DOES", 24, false, 6, func(l *trial.LoadState, _ *trial.State) (string, style) { return clean(l.Summary), stDim }},
	}
}

// fitList leaves columns out until the rest fits, and gives the last what is left.
func fitList(w int) []listColumn {
	cols := listColumns()
	used := func() int {
		sum := -2
		for _, col := range cols {
			sum += col.w + 2
		}
		return sum
	}
	for used() > w && len(cols) > 2 {
		cols = cols[:len(cols)-1]
	}
	if last := len(cols) - 1; !cols[last].right {
		cols[last].w += max(0, w-used())
	}
	return cols
}

// drawList draws the list, scrolled so that the selected one is in sight.
func (s *scenarios) drawList(c *canvas, r rect, m *Model) {
	loads := m.st.Loads
	on := len(running(m.st))
	right := []fig{{fmt.Sprintf("%d running", on), stDim, 0}}
	if on > 0 {
		right[0].st = stGood
	}
	in := part(c, r, !s.tuning, []fig{{"Scenarios", stTitle, 0}, {fmt.Sprint(len(loads)), stValue, 1}}, right)
	cols := fitList(in.w)
	x := in.x
	for _, col := range cols {
		place(c, x, in.y, col.w, col.title, stDim, col.right)
		x += col.w + 2
	}
	room := in.h - 1
	first := min(max(0, s.at-room/2), max(0, len(loads)-room))
	for i := 0; i < room && first+i < len(loads); i++ {
		x, y := in.x, in.y+1+i
		for _, col := range cols {
			text, st := col.cell(&loads[first+i], m.st)
			place(c, x, y, col.w, text, st, col.right)
			x += col.w + 2
		}
		if first+i == s.at {
			c.restyle(rect{in.x - 1, y, in.w + 2, 1}, mark)
		}
	}
	if rest := len(loads) - first - room; rest > 0 && r.w > 24 {
		c.right(r.x+2, r.y+r.h-1, r.w-4, fmt.Sprintf(" %d more ↓ ", rest), stDim)
	}
}
