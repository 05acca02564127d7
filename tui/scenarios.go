package tui

import (
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"pgtlb/workload/trial"
)

// scenarios lists what can be started, with its script and what it shows.
type scenarios struct {
	plainOverlay
	at int
}

func (s *scenarios) draw(c *canvas, m *Model) {
	width := min(92, c.w-6)
	loads := m.st.Loads
	list := s.detail(loads, width)
	in := box(c, "Scenarios", width, len(loads)+1+len(list), "↑ ↓ select   a digit or enter starts and stops   esc closes")
	if len(loads) == 0 {
		drawParas(c, in, lines([]para{{"There is no scenario to start here.", stPlain}}, in.w), 0)
		return
	}
	for i, l := range loads {
		f := loadFig(l)
		c.text(in.x, in.y+i, in.w, truncate(f.text, in.w), f.st)
		x := in.x + max(26, textWidth(f.text)+2)
		c.text(x, in.y+i, in.x+in.w-x, truncate(clean(l.Summary), in.x+in.w-x), stPlain)
		if i == s.at {
			c.restyle(rect{in.x - 1, in.y + i, in.w + 2, 1}, mark)
		}
	}
	drawParas(c, rect{in.x, in.y + len(loads) + 1, in.w, max(0, in.h-len(loads)-1)}, list, 0)
}

// detail is the text below the list.
func (s *scenarios) detail(loads []trial.LoadState, w int) []para {
	if s.at >= len(loads) {
		return nil
	}
	l := loads[s.at]
	out := lines([]para{{strconv.Itoa(l.Clients) + " clients", stDim}, {l.Shows, stPlain}}, w)
	if l.Status == trial.LoadFailed && l.Detail != "" {
		out = append(out, lines([]para{{l.Detail, stBad}}, w)...)
	}
	out = append(out, para{}, para{"Script", stTitle})
	for _, line := range strings.Split(strings.TrimSpace(l.Script), "\n") {
		out = append(out, lines([]para{{line, stDim}}, w)...)
	}
	return out
}

func (s *scenarios) key(m *Model, k string) (overlay, tea.Cmd) {
	switch k {
	case "esc", "l", "q":
		return nil, nil
	case "up", "k":
		s.at = max(0, s.at-1)
	case "down", "j":
		s.at = max(0, min(len(m.st.Loads)-1, s.at+1))
	case "enter":
		if s.at < len(m.st.Loads) {
			m.engine.Do(trial.ToggleLoad{Key: m.st.Loads[s.at].Key})
			return nil, nil
		}
	default:
		if m.digit(k) {
			return nil, nil
		}
	}
	return s, nil
}
