package tui

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// A canvas is a grid of character cells of a fixed size. Everything is drawn
// into it and clipped by it, so a frame can never be taller or wider than the
// screen, whatever is in it.
type canvas struct {
	w, h  int
	cells []cell
}

// cell is one character position. A wide character sits in its left cell; the
// cell to the right of it then holds the empty string.
type cell struct {
	s  string
	st style
}

// rect is a part of a canvas.
type rect struct{ x, y, w, h int }

// inner is the room inside a border of one cell.
func (r rect) inner() rect { return rect{r.x + 1, r.y + 1, max(0, r.w-2), max(0, r.h-2)} }

func newCanvas(w, h int) *canvas {
	c := &canvas{w: w, h: h, cells: make([]cell, w*h)}
	for i := range c.cells {
		c.cells[i].s = " "
	}
	return c
}

// put sets one cell; outside the canvas it does nothing. A wide character whose
// other half is overwritten becomes a blank.
func (c *canvas) put(x, y int, s string, st style) {
	if x < 0 || y < 0 || x >= c.w || y >= c.h {
		return
	}
	at := &c.cells[y*c.w+x]
	if at.s == "" && x > 0 {
		c.cells[y*c.w+x-1].s = " "
	}
	if x+1 < c.w && c.cells[y*c.w+x+1].s == "" && s != "" {
		c.cells[y*c.w+x+1].s = " "
	}
	at.s, at.st = s, st
}

// text draws s from (x, y) in at most w cells and returns the cells used.
// Control characters and whatever else has no width are left out.
func (c *canvas) text(x, y, w int, s string, st style) int {
	used := 0
	for len(s) > 0 {
		cluster, width, rest := nextCluster(s)
		s = rest
		if width == 0 {
			continue
		}
		if used+width > w {
			return used
		}
		c.put(x+used, y, cluster, st)
		if width == 2 {
			c.put(x+used+1, y, "", st)
		}
		used += width
	}
	return used
}

// nextCluster takes the first character as people see it off s, and returns what
// to draw for it and in how many cells: nothing for controls and for marks that
// have nothing to stand on, a question mark where terminals disagree on the width
// or the bytes are not UTF-8.
func nextCluster(s string) (cluster string, width int, rest string) {
	if b := s[0]; b >= 0x20 && b < 0x7f && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		return s[:1], 1, s[1:]
	}
	cluster, width = ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	rest = s[max(1, len(cluster)):]
	first, _ := utf8.DecodeRuneInString(cluster)
	switch {
	case width == 0 || unicode.In(first, unicode.M, unicode.C):
		return "", 0, rest
	case !utf8.ValidString(cluster), width > 2, ansi.StringWidthWc(cluster) != width, strings.ContainsFunc(cluster, unicode.IsControl):
		return "?", 1, rest
	case unicode.Is(unicode.Regional_Indicator, first):
		// Two of them in neighbouring cells would become one flag.
		return "?", 1, rest
	}
	return cluster, width, rest
}

// fit draws s in exactly w cells, cut with an ellipsis where it is longer.
func (c *canvas) fit(x, y, w int, s string, st style) {
	if w <= 0 {
		return
	}
	used := c.text(x, y, w, truncate(s, w), st)
	for ; used < w; used++ {
		c.put(x+used, y, " ", st)
	}
}

// right draws s at the right end of w cells.
func (c *canvas) right(x, y, w int, s string, st style) {
	s = truncate(s, w)
	pad := max(0, w-textWidth(s))
	c.text(x+pad, y, w-pad, s, st)
}

// fill sets every cell of r to s.
func (c *canvas) fill(r rect, s string, st style) {
	for y := r.y; y < r.y+r.h; y++ {
		for x := r.x; x < r.x+r.w; x++ {
			c.put(x, y, s, st)
		}
	}
}

// restyle gives the cells of r another style and keeps what is in them.
func (c *canvas) restyle(r rect, f func(style) style) {
	for y := max(0, r.y); y < min(c.h, r.y+r.h); y++ {
		for x := max(0, r.x); x < min(c.w, r.x+r.w); x++ {
			at := &c.cells[y*c.w+x]
			at.st = f(at.st)
		}
	}
}

// frame draws a rounded border around r.
func (c *canvas) frame(r rect, st style) {
	if r.w < 2 || r.h < 2 {
		return
	}
	right, bottom := r.x+r.w-1, r.y+r.h-1
	for x := r.x + 1; x < right; x++ {
		c.put(x, r.y, "─", st)
		c.put(x, bottom, "─", st)
	}
	for y := r.y + 1; y < bottom; y++ {
		c.put(r.x, y, "│", st)
		c.put(right, y, "│", st)
	}
	c.put(r.x, r.y, "╭", st)
	c.put(right, r.y, "╮", st)
	c.put(r.x, bottom, "╰", st)
	c.put(right, bottom, "╯", st)
}

// render writes the canvas as lines of exactly its width, with the theme's
// escape sequences.
func (c *canvas) render(th theme) string {
	var b strings.Builder
	b.Grow(c.w * c.h * 2)
	for y := range c.h {
		if y > 0 {
			b.WriteByte('\n')
		}
		last := stPlain
		for x := range c.w {
			at := c.cells[y*c.w+x]
			if at.st != last {
				th.change(&b, last, at.st)
				last = at.st
			}
			c.glyph(&b, th, x, y, at.s)
		}
		th.change(&b, last, stPlain)
	}
	return b.String()
}

func (c *canvas) glyph(b *strings.Builder, th theme, x, y int, s string) {
	if !th.ascii || s == "" {
		b.WriteString(s)
		return
	}
	b.WriteString(asciiOf(s))
	// The right half of a wide character is an empty cell that its ASCII
	// substitute does not cover.
	if x+1 < c.w && c.cells[y*c.w+x+1].s == "" {
		b.WriteByte(' ')
	}
}

// asciiOf returns one ASCII character for a cell.
func asciiOf(s string) string {
	if len(s) == 1 {
		return s
	}
	r, _ := utf8.DecodeRuneInString(s)
	if r >= 0x2800 && r < 0x2900 {
		return "*"
	}
	switch r {
	case '─', '━', '–', '—', '−', '·':
		return "-"
	case '│', '┃', '┤', '▏', '▌':
		return "|"
	case '╭', '╮', '╰', '╯', '├', '┬', '┴', '┼':
		return "+"
	case '●', '█', '■':
		return "#"
	case '◐', '◒':
		return "/"
	case '◓':
		return "-"
	case '◑':
		return "\\"
	case '▓':
		return "="
	case '▒':
		return ":"
	case '░':
		return "."
	case '○':
		return "o"
	case '✓':
		return "v"
	case '✗', '×':
		return "x"
	case '÷':
		return "/"
	case '▲', '↑':
		return "^"
	case '▼', '↓':
		return "v"
	case '→', '▸', '▶':
		return ">"
	case '←', '◀':
		return "<"
	case '…':
		return "~"
	case 'µ':
		return "u"
	case '≤':
		return "<"
	case '≥':
		return ">"
	}
	return "?"
}
