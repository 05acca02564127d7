package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"pgtlb/workload/trial"
)

// noticeFor is how long a message stands; an error stands until a key.
const noticeFor = 6 * time.Second

// maxNotices is how many messages show at a time.
const maxNotices = 3

// notices are the messages on the screen, oldest first.
type notices struct {
	list []note
	last trial.Notice // the newest one taken
	next int
}

type note struct {
	trial.Notice
	id int
}

// expireMsg takes a message away.
type expireMsg struct{ id int }

// take adds what is new and returns the command that ends it.
func (n *notices) take(all []trial.Notice) tea.Cmd {
	fresh := all
	for i := len(all) - 1; i >= 0; i-- {
		if all[i] == n.last {
			fresh = all[i+1:]
			break
		}
	}
	var cmds []tea.Cmd
	list := append([]note{}, n.list...)
	for _, notice := range fresh {
		n.next++
		id := n.next
		list = append(list, note{notice, id})
		n.last = notice
		if !notice.Error {
			cmds = append(cmds, tea.Tick(noticeFor, func(time.Time) tea.Msg { return expireMsg{id} }))
		}
	}
	n.list = list
	return tea.Batch(cmds...)
}

// say adds a message of the screen's own and returns the command that ends it.
func (n *notices) say(text string) tea.Cmd {
	n.next++
	id := n.next
	n.list = append(append([]note{}, n.list...), note{trial.Notice{Text: text}, id})
	return tea.Tick(noticeFor, func(time.Time) tea.Msg { return expireMsg{id} })
}

// expire takes one message away.
func (n *notices) expire(msg expireMsg) {
	n.keep(func(x note) bool { return x.id != msg.id })
}

// key takes errors away: they were seen.
func (n *notices) key() {
	n.keep(func(x note) bool { return !x.Error })
}

func (n *notices) keep(f func(note) bool) {
	var list []note
	for _, x := range n.list {
		if f(x) {
			list = append(list, x)
		}
	}
	n.list = list
}

// clear takes away what was said about an earlier phase; errors stay until a key.
func (n *notices) clear() {
	n.keep(func(x note) bool { return x.Error })
}

// shown are the newest messages; errors go before others when there are many.
func (n *notices) shown(most int) []note {
	if len(n.list) <= most {
		return n.list
	}
	var out []note
	for i := len(n.list) - 1; i >= 0 && len(out) < most; i-- {
		if n.list[i].Error {
			out = append([]note{n.list[i]}, out...)
		}
	}
	for i := len(n.list) - 1; i >= 0 && len(out) < most; i-- {
		if !n.list[i].Error {
			out = append(out, n.list[i])
		}
	}
	return out
}

// noteLine is one line of a message.
type noteLine struct {
	mark fig
	text string
	st   style
}

// lines are the messages on a screen of w x h: as many as a third of it holds,
// and one at least.
func (n *notices) lines(w, h int) []noteLine {
	for most := maxNotices; ; most-- {
		out := noteLines(n.shown(most), w)
		if len(out) <= max(2, h/3) || most == 1 {
			return out
		}
	}
}

// noteLines gives an error up to four lines, anything else up to two.
func noteLines(shown []note, w int) []noteLine {
	var out []noteLine
	for _, x := range shown {
		mark, st, most := fig{"● ", stGood, 0}, stPlain, 2
		if x.Error {
			mark, st, most = fig{"✗ ", stBad, 0}, stBad, 4
		}
		for i, l := range wrapMiddle(clean(x.Text), w-2-textWidth(mark.text), most) {
			if i > 0 {
				mark.text = "  "
			}
			out = append(out, noteLine{mark, l, st})
		}
	}
	return out
}

// drawNotices writes the lines of messages from line y on.
func drawNotices(c *canvas, y int, list []noteLine) {
	for i, l := range list {
		used := c.text(1, y+i, c.w-2, l.mark.text, l.mark.st)
		c.text(1+used, y+i, c.w-2-used, l.text, l.st)
	}
}
