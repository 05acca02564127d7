package tui

import (
	tea "charm.land/bubbletea/v2"

	"pgtlb/workload/trial"
)

// pageModes are the page sizes of the lab, as the session names them.
var pageModes = [...]struct{ name, title, what string }{
	{"4kB", "4 kB", "ordinary pages, huge_pages=off"},
	{"2MB", "2 MB", "explicit huge pages of 2 MB, huge_pages=on"},
	{"1GB", "1 GB", "explicit huge pages of 1 GB, huge_pages=on"},
}

// pagesMenu chooses the page mode of the lab.
type pagesMenu struct {
	plainOverlay
	at int
}

func newPagesMenu(st *trial.State) *pagesMenu {
	p := &pagesMenu{}
	for i, mode := range pageModes {
		if mode.name == st.Pages {
			p.at = i
		}
	}
	return p
}

func (p *pagesMenu) draw(c *canvas, m *Model) {
	width := min(62, c.w-6)
	note := lines([]para{{"The lab server restarts and its data is read into memory again. The mode is proved afterwards and shown in the first line.", stDim}}, width)
	in := box(c, "Pages of shared memory", width, len(pageModes)+1+len(note), "↑ ↓ select   enter restarts   esc closes")
	for i, mode := range pageModes {
		sign := "○ "
		if mode.name == m.st.Pages {
			sign = "● "
		}
		c.text(in.x, in.y+i, in.w, sign+mode.title, stTitle)
		c.text(in.x+9, in.y+i, in.w-9, truncate(mode.what, in.w-9), stDim)
		if i == p.at {
			c.restyle(rect{in.x - 1, in.y + i, in.w + 2, 1}, mark)
		}
	}
	drawParas(c, rect{in.x, in.y + len(pageModes) + 1, in.w, in.h - len(pageModes) - 1}, note, 0)
}

func (p *pagesMenu) key(m *Model, k string) (overlay, tea.Cmd) {
	switch k {
	case "esc", "h", "q":
		return nil, nil
	case "up", "k":
		p.at = max(0, p.at-1)
	case "down", "j":
		p.at = min(len(pageModes)-1, p.at+1)
	case "enter":
		m.engine.Do(trial.SetPages{Pages: pageModes[p.at].name})
		return nil, nil
	}
	return p, nil
}
