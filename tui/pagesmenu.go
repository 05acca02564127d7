package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

// pageModes are the page sizes of the lab, as the session names them.
var pageModes = [...]struct {
	name, title, what string
	poolKB            int // the pool that it takes its pages from; 0 for none
}{
	{"4kB", "4 kB", "ordinary pages, huge_pages=off", 0},
	{"2MB", "2 MB", "explicit huge pages of 2 MB, huge_pages=on", 2 << 10},
	{"1GB", "1 GB", "explicit huge pages of 1 GB, huge_pages=on", 1 << 20},
}

// offered tells whether the machine has pages of the size of a mode.
func offered(st *trial.State, mode int) bool {
	kb := pageModes[mode].poolKB
	return kb == 0 || slices.ContainsFunc(st.Host.Pools, func(p probes.Pool) bool { return p.PageKB == kb })
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
	text := "The lab server restarts and its data is read into memory again."
	if len(running(m.st)) > 0 {
		text += " Running loads are stopped and start again afterwards."
	}
	note := lines([]para{{text + " The mode is proved and shown in the first line.", stDim}}, width)
	in := box(c, "Pages of shared memory", width, len(pageModes)+1+len(note), "↑ ↓ select   enter restarts   esc closes")
	for i, mode := range pageModes {
		sign := "○ "
		if mode.name == m.st.Pages {
			sign = "● "
		}
		title, what := stTitle, mode.what
		if !offered(m.st, i) {
			title, what = stDim, "not on this machine"
		}
		c.text(in.x, in.y+i, in.w, sign+mode.title, title)
		c.text(in.x+9, in.y+i, in.w-9, truncate(what, in.w-9), stDim)
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
		if !offered(m.st, p.at) {
			return p, nil
		}
		m.engine.Do(trial.SetPages{Pages: pageModes[p.at].name})
		return nil, nil
	}
	return p, nil
}
