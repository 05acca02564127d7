package tui

import (
	tea "charm.land/bubbletea/v2"

	"pgtlb/workload/trial"
)

// quitting asks whether a running load may end.
type quitting struct{}

// first is true: whoever wants to leave gets the answer to that first.
func (quitting) first() bool { return true }

func (quitting) draw(c *canvas, m *Model) {
	width := min(56, c.w-6)
	var paras []para
	for _, l := range running(m.st) {
		paras = append(paras, para{loadFig(l, 3).text, stGood})
	}
	list := lines(append([]para{{"A load is running. Stop it and quit?", stTitle}, {}}, append(paras,
		para{"What was measured so far is kept.", stPlain}, para{}, para{"y  stop and quit", stKey}, para{"n  go on", stKey})...), width)
	in := box(c, "Quit", width, len(list), "")
	drawParas(c, in, list, max(0, len(list)-in.h))
}

func (q quitting) key(_ *Model, k string) (overlay, tea.Cmd) {
	switch k {
	case "y", "Y", "q", "enter":
		return nil, tea.Quit
	case "n", "N", "esc":
		return nil, nil
	}
	return q, nil
}

// quit ends the screen, after asking when a load of ours is running on a server
// that is there.
func (m *Model) quit() tea.Cmd {
	if m.st != nil && m.st.Mode != trial.Replaying && m.st.Phase != trial.Lost && len(running(m.st)) > 0 {
		m.overlay = quitting{}
		return nil
	}
	return tea.Quit
}
