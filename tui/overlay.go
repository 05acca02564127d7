package tui

import (
	tea "charm.land/bubbletea/v2"
)

// overlay is a screen that lies over the live one and takes the keys.
type overlay interface {
	draw(c *canvas, m *Model)
	// key handles a key; the overlay that it returns takes its place, nil closes it.
	key(m *Model, k string) (overlay, tea.Cmd)
	// first tells whether it goes before a question of the session.
	first() bool
}

// typer is an overlay in which text may be being typed.
type typer interface {
	// takesText tells whether it is: then the keys are its text's.
	takesText() bool
	typed(m *Model, msg tea.KeyPressMsg)
	paste(text string)
}

// plainOverlay is what most overlays are: a question may cover them.
type plainOverlay struct{}

func (plainOverlay) first() bool { return false }

// box clears and frames the middle of the screen for a content of w x h cells,
// or what fits, and returns the room inside. The foot says which keys work.
func box(c *canvas, title string, w, h int, foot string) rect {
	w = min(w, c.w-6)
	h = min(h, c.h-4)
	r := rect{(c.w - w - 6) / 2, (c.h - h - 4) / 2, w + 6, h + 4}
	r.x, r.y = max(0, r.x), max(0, r.y)
	c.fill(r, " ", stPlain)
	c.frame(r, stFocus)
	titled(c, r, []fig{{truncate(title, r.w-8), stTitle, 0}}, nil)
	if foot != "" {
		foot = " " + truncate(foot, r.w-6) + " "
		c.right(r.x+2, r.y+r.h-1, r.w-4, foot, stDim)
	}
	return rect{r.x + 3, r.y + 2, r.w - 6, r.h - 4}
}

// part frames a part of the screen and returns the room inside.
func part(c *canvas, r rect, focused bool, left, right []fig) rect {
	border := stBorder
	if focused {
		border = stFocus
	}
	c.frame(r, border)
	if figsWidth(left)+figsWidth(right)+10 > r.w {
		right = nil
	}
	titled(c, r, left, right)
	in := r.inner()
	return rect{in.x + 1, in.y, max(0, in.w-2), in.h}
}

// para is one paragraph of an overlay's text.
type para struct {
	text string
	st   style
}

// lines wraps paragraphs to w cells.
func lines(paras []para, w int) []para {
	var out []para
	for _, p := range paras {
		if p.text == "" {
			out = append(out, para{})
			continue
		}
		for _, l := range wrap(clean(p.text), w, 100) {
			out = append(out, para{l, p.st})
		}
	}
	return out
}

// drawParas writes lines into r, from the first given on.
func drawParas(c *canvas, r rect, list []para, first int) {
	for i := 0; i < r.h && first+i < len(list); i++ {
		c.text(r.x, r.y+i, r.w, list[first+i].text, list[first+i].st)
	}
}

// scroll changes a first line by a key and keeps it in range.
func scroll(first int, k string, length, room int) int {
	switch k {
	case "up", "k":
		first--
	case "down", "j":
		first++
	case "pgup":
		first -= room
	case "pgdown", "space":
		first += room
	case "home":
		first = 0
	case "end":
		first = length
	}
	return max(0, min(first, length-room))
}
