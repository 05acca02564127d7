package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"pgtlb/workload/trial"
)

// Widths of the parameters' table.
const (
	paramNameW  = 12
	paramValueW = 13
)

// paramKey handles a key while the parameters have the keys.
func (s *scenarios) paramKey(m *Model, k string) overlay {
	load := s.load(m)
	s.param = max(0, min(len(load.Params)-1, s.param))
	switch k {
	case "l", "q":
		return nil
	case "esc", "left", "tab":
		s.tuning = false
	case "up", "k":
		s.param = max(0, s.param-1)
	case "down", "j":
		s.param = max(0, min(len(load.Params)-1, s.param+1))
	case "home":
		s.param = 0
	case "end":
		s.param = max(0, len(load.Params)-1)
	case "enter", "e", "right", "space":
		s.change(m, load)
	default:
		m.digit(k)
	}
	return s
}

// change begins to change the selected parameter. Of a fixed choice it takes the
// next one at once.
func (s *scenarios) change(m *Model, load *trial.LoadState) {
	if s.param >= len(load.Params) {
		return
	}
	p := load.Params[s.param]
	idle := load.Status == trial.LoadStopped || load.Status == trial.LoadFailed
	switch {
	case !idle: // the session says why not
		m.engine.Do(trial.SetParam{Key: load.Key, Name: p.Name, Value: p.Value})
	case len(p.Choices) > 0:
		next := p.Choices[(slices.Index(p.Choices, p.Value)+1)%len(p.Choices)]
		m.engine.Do(trial.SetParam{Key: load.Key, Name: p.Name, Value: next})
	default:
		s.typing, s.entry = true, entry{text: p.Value}
	}
}

// entry is a value that is being typed. It stays open until the session has taken
// the value: what is typed after a refused one must start no load.
type entry struct {
	text string
	why  string // the session's refusal of the text as it stands
	sent int    // the number of the answer that is waited for; 0 for none
}

func (s *scenarios) takesText() bool { return s.typing }

// typed handles a key while a value is being typed.
func (s *scenarios) typed(m *Model, msg tea.KeyPressMsg) {
	load := s.load(m)
	switch k := msg.String(); {
	case load == nil || s.param >= len(load.Params) || k == "esc":
		s.typing = false
	case s.entry.sent > 0: // the text is with the session
	case k == "enter":
		s.entry.why, s.entry.sent = "", load.Answered.N+1
		m.engine.Do(trial.SetParam{Key: load.Key, Name: load.Params[s.param].Name, Value: s.entry.text})
	case k == "ctrl+u":
		s.entry = entry{}
	default:
		s.retype(edit(s.entry.text, msg, maxValue))
	}
}

// paste adds what a terminal pastes, as far as a value has room.
func (s *scenarios) paste(text string) {
	if more := clean(text); s.entry.sent == 0 && len(s.entry.text)+len(more) <= maxValue {
		s.retype(s.entry.text + more)
	}
}

// retype gives the entry another text, of which no refusal is known.
func (s *scenarios) retype(text string) {
	if text != s.entry.text {
		s.entry = entry{text: text}
	}
}

// answered takes the session's answer to the text that was sent: the entry closes,
// or says why it was refused.
func (s *scenarios) answered(m *Model) {
	load := s.load(m)
	if !s.typing || s.entry.sent == 0 || load == nil || load.Answered.N < s.entry.sent {
		return
	}
	s.entry.sent, s.entry.why = 0, load.Answered.Why
	s.typing = s.entry.why != ""
}

// drawParams draws the table of parameters, and below it what the selected one
// means.
func (s *scenarios) drawParams(c *canvas, r rect, l *trial.LoadState) {
	left := []fig{{"Parameters", stTitle, 0}}
	if !s.tuning {
		left = append(left, fig{"e changes them", stDim, 1})
	}
	in := part(c, r, s.tuning, left, []fig{{clean(l.Name), stDim, 0}})
	x := in.x
	for _, h := range []struct {
		title string
		w     int
		right bool
	}{{"NAME", paramNameW, false}, {"VALUE", paramValueW, true}, {"DEFAULT", paramValueW, true}, {"RANGE", 30, false}} {
		if x+h.w <= in.x+in.w || !h.right && x < in.x+in.w-8 {
			place(c, x, in.y, min(h.w, in.x+in.w-x), h.title, stDim, h.right)
		}
		x += h.w + 2
	}
	at := max(0, min(len(l.Params)-1, s.param))
	var meaning []string
	if p := l.Params[at:]; s.tuning && len(p) > 0 {
		text := clean(p[0].Meaning)
		if room := in.w - paramNameW - 2*paramValueW - 3*2; textWidth(rangeText(&p[0])) > room && !missing(p[0]) {
			text += ": " + rangeText(&p[0])
		}
		meaning = wrap(text, in.w, 3)
	}
	look := stPlain
	if s.typing && s.entry.why != "" {
		meaning, look = wrap(clean(s.entry.why), in.w, 3), stBad
	}
	room := in.h - 1 - len(meaning)
	if in.h > 8 {
		room-- // an empty line between them
	}
	first := min(max(0, at-room/2), max(0, len(l.Params)-room))
	for i := 0; i < room && first+i < len(l.Params); i++ {
		y := in.y + 1 + i
		selected := first+i == at
		if selected && s.typing {
			s.drawEntry(c, in, y, &l.Params[at])
			continue
		}
		drawParam(c, in, y, &l.Params[first+i])
		if selected && s.tuning {
			c.restyle(rect{in.x - 1, y, in.w + 2, 1}, mark)
		}
	}
	for i, text := range meaning {
		c.text(in.x, in.y+in.h-len(meaning)+i, in.w, text, look)
	}
	if rest := len(l.Params) - first - room; rest > 0 && r.w > 24 {
		c.right(r.x+2, r.y+r.h-1, r.w-4, " more ↓ ", stDim)
	}
}

func drawParam(c *canvas, in rect, y int, p *trial.ParamState) {
	st := stPlain
	if p.Value != p.Default {
		st = stValue
	}
	x := in.x
	c.text(x, y, paramNameW, truncate(clean(p.Name), paramNameW), st)
	x += paramNameW + 2
	if p.Text && len(p.Choices) == 0 {
		text, look := clean(p.Value), st
		if text == "" {
			text, look = "none yet", stDim
		}
		c.text(x, y, in.x+in.w-x, middle(text, in.x+in.w-x), look)
		return
	}
	c.right(x, y, paramValueW, grouped(clean(p.Value)), st)
	x += paramValueW + 2
	if x+paramValueW > in.x+in.w {
		return
	}
	c.right(x, y, paramValueW, grouped(clean(p.Default)), stDim)
	x += paramValueW + 2
	if room := in.x + in.w - x; room >= 8 {
		c.text(x, y, room, truncate(rangeText(p), room), stDim)
	}
}

// drawEntry draws the value that is being typed, its end always in sight.
func (s *scenarios) drawEntry(c *canvas, in rect, y int, p *trial.ParamState) {
	c.text(in.x, y, paramNameW, truncate(clean(p.Name), paramNameW), stKey)
	x := in.x + paramNameW + 2
	room := max(1, in.x+in.w-x-1)
	text := s.entry.text
	for textWidth(text) > room {
		_, text = split(text, 1)
	}
	used := c.text(x, y, room, text, stValue)
	c.text(x+used, y, 1, "▏", stWarn)
	c.restyle(rect{in.x - 1, y, in.w + 2, 1}, mark)
}

// rangeText says which values a parameter can have.
func rangeText(p *trial.ParamState) string {
	switch {
	case len(p.Choices) > 0:
		return strings.Join(p.Choices, ", ")
	case p.Min != "" && p.Max != "":
		return grouped(p.Min) + " … " + grouped(p.Max)
	case p.Min != "":
		return "≥ " + grouped(p.Min)
	case p.Max != "":
		return "≤ " + grouped(p.Max)
	}
	return "any"
}

// grouped puts separators into a whole number of more than four digits; anything
// else stays as it is.
func grouped(s string) string {
	digits := strings.TrimPrefix(s, "-")
	if len(digits) < 5 || strings.Trim(digits, "0123456789") != "" {
		return s
	}
	var out strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			out.WriteByte(',')
		}
		out.WriteRune(d)
	}
	return s[:len(s)-len(digits)] + out.String()
}
