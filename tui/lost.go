package tui

import (
	tea "charm.land/bubbletea/v2"

	"pgtlb/workload/trial"
)

// lost tells that the server ended by itself. It lies over the live screen,
// which stays: what was measured is still worth looking at.
type lost struct {
	firstLine int
	moved     bool // the person scrolls; before that the newest lines show
}

// first is true: nothing matters more than that the server is gone.
func (*lost) first() bool { return true }

const lostWidth = 100

func (l *lost) draw(c *canvas, m *Model) {
	w := min(lostWidth, c.w-6)
	head, log := lostLines(m.st, w, c.h)
	in := box(c, "The server has ended", lostWidth, min(len(head)+len(log), lostRoom(c.h)), "esc closes   q quits")
	drawParas(c, in, head, 0)
	room := in.h - len(head)
	if room > 0 {
		drawParas(c, rect{in.x, in.y + len(head), in.w, room}, log, l.from(len(log), room))
	}
}

// lostRoom is how many lines the box has inside: the header stays in sight.
func lostRoom(h int) int {
	if h < 20 {
		return h - 4
	}
	return h - 8
}

// from is the first line of the log that shows: the last lines say most.
func (l *lost) from(lines, room int) int {
	last := max(0, lines-room)
	if !l.moved {
		return last
	}
	return min(l.firstLine, last)
}

// lostLines are the sentence that says what happened, and the end of the
// server's log, wrapped to w cells. A low screen leaves its room to the log.
func lostLines(st *trial.State, w, h int) (head, log []para) {
	head = lines([]para{{st.Err, stBad}}, w)
	if h >= 20 {
		head = append(head, lines([]para{{"What was measured stays on the screen.", stPlain}, {}}, w)...)
	}
	if len(st.Log) == 0 {
		return head, nil
	}
	head = append(head, para{"Server log", stTitle})
	for _, line := range st.Log {
		log = append(log, lines([]para{{line, stDim}}, w)...)
	}
	return head, log
}

func (l *lost) key(m *Model, k string) (overlay, tea.Cmd) {
	switch k {
	case "esc", "enter":
		return nil, nil
	case "q":
		return nil, m.quit()
	}
	head, log := lostLines(m.st, min(lostWidth, m.w-6), m.h)
	room := max(1, min(len(log), lostRoom(m.h)-len(head)))
	at := scroll(l.from(len(log), room), k, len(log), room)
	return &lost{firstLine: at, moved: true}, nil
}
