package tui

// The smallest screen on which something useful fits.
const (
	minWidth  = 40
	minHeight = 12
)

// layout says where things are on a screen of one size.
type layout struct {
	header int // lines
	panes  []rect
	cols   int
	short  rect // the panes as one line each; empty where panes fits
	boxed  bool // the short form has a border
	table  rect
	notes  int // line of the first notice
	keys   int // line of the keys
}

// arrange fills a screen of w x h exactly. notices is the number of lines that
// messages need, pools how many pools the short form lists; warned asks for the
// header's third line, in which a warning stands.
func arrange(w, h, notices, pools int, warned bool) layout {
	l := layout{header: 2, keys: h - 1, notes: h - 1 - notices}
	switch {
	case h < 16:
		l.header = 1
	case h >= 34 || warned && h >= 20:
		l.header = 3
	}
	top, body := l.header, l.notes-l.header
	switch {
	case w >= 150 && body >= 18, w >= 114 && body >= 17 && body < 26:
		l.cols = 3
	case w >= 76 && body >= 26:
		l.cols = 2
	default:
		return l.arrangeShort(w, top, body, pools)
	}
	rows := int(paneCount) / l.cols
	ph := min(14, max(5, body*60/100/rows))
	for i := range int(paneCount) {
		col, row := i%l.cols, i/l.cols
		x0, x1 := col*w/l.cols, (col+1)*w/l.cols
		l.panes = append(l.panes, rect{x0, top + row*ph, x1 - x0, ph})
	}
	l.table = rect{0, top + rows*ph, w, body - rows*ph}
	return l
}

// arrangeShort gives each pane a line.
func (l layout) arrangeShort(w, top, body, pools int) layout {
	lines := int(paneCount)
	l.boxed = body >= 16
	if l.boxed {
		lines += min(pools, 2) + 2
	}
	l.cols = 1
	l.short = rect{0, top, w, lines}
	l.table = rect{0, top + lines, w, body - lines}
	return l
}

// body is what is between the header and the messages.
func (l layout) body(w int) rect { return rect{0, l.header, w, l.notes - l.header} }
