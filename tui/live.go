package tui

import (
	"fmt"

	"pgtlb/workload/trial"
)

// drawTooSmall fills a screen on which nothing fits with one sentence.
func drawTooSmall(c *canvas) {
	text := fmt.Sprintf("pgtlb needs a screen of %d x %d; this one is %d x %d. q quits.", minWidth, minHeight, c.w, c.h)
	for i, l := range wrap(text, c.w, c.h) {
		c.text(0, i, c.w, l, stPlain)
	}
}

// drawLive draws header, panes, table, messages and keys, or the one of them
// that is zoomed.
func (m *Model) drawLive(c *canvas, st *trial.State) {
	sc := newScene(st, m.span(c.w), m.opts.ASCII)
	shown := m.notices.lines(c.w, c.h)
	l := arrange(c.w, c.h, len(shown), len(sc.poolRows()), warned(st))
	m.drawHeader(c, sc, l.header)
	body := l.body(c.w)
	switch {
	case m.zoomed && m.focus == paneCount:
		m.drawTableZoom(c, body, sc)
	case m.zoomed:
		z := sc.zoomed(body, m.focus)
		z.draw(c, body, sc, m.scrolled)
	case len(l.panes) > 0:
		for id, r := range l.panes {
			sc.build(paneID(id)).draw(c, r, sc, m.focus == paneID(id))
		}
		m.table.draw(c, l.table, sc, m.focus == paneCount)
	default:
		drawShort(c, l, sc, m.focus)
		m.table.draw(c, l.table, sc, m.focus == paneCount)
	}
	drawNotices(c, l.notes, shown)
	m.drawKeys(c, l.keys, st)
	if st.Phase == trial.Changing || st.Phase == trial.Stopping {
		drawChanging(c, st, m.spin)
	}
}

// span is how many intervals the charts show: a minute at one sample a second,
// more where there is room for it.
func (m *Model) span(w int) int {
	switch {
	case m.zoomed && m.focus != paneCount:
		return max(60, (w-10)*2/60*60)
	case w >= 190:
		return 120
	}
	return 60
}
