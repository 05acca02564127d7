package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"pgtlb/workload/trial"
)

// noticeFor is how long a message stands; an error stands until a key.
const noticeFor = 8 * time.Second

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

// shown are the newest messages; errors go before others when there are many.
func (n *notices) shown() []note {
	if len(n.list) <= maxNotices {
		return n.list
	}
	var out []note
	for i := len(n.list) - 1; i >= 0 && len(out) < maxNotices; i-- {
		if n.list[i].Error {
			out = append([]note{n.list[i]}, out...)
		}
	}
	for i := len(n.list) - 1; i >= 0 && len(out) < maxNotices; i-- {
		if !n.list[i].Error {
			out = append(out, n.list[i])
		}
	}
	return out
}

// draw writes one message per line.
func (n *notices) draw(c *canvas, y int, shown []note) {
	for i, x := range shown {
		mark, st, text := "● ", stGood, stPlain
		if x.Error {
			mark, st, text = "✗ ", stBad, stBad
		}
		used := c.text(1, y+i, c.w-2, mark, st)
		c.text(1+used, y+i, c.w-2-used, truncate(clean(x.Text), c.w-2-used), text)
	}
}
