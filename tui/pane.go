package tui

import (
	"strings"

	"pgtlb/probes"
)

// paneID names a pane by its place on the screen.
type paneID int

const (
	paneTPS paneID = iota
	paneLatency
	paneDTLB
	paneFaults
	paneCycles
	paneTables
	paneCount
)

// fig is a piece of a line of figures. Pieces with a low priority are left out
// first when room is short; 0 is never left out.
type fig struct {
	text string
	st   style
	drop int // the higher, the earlier it goes
}

// pane is what one pane shows, however large it is drawn.
type pane struct {
	title   string
	shorter []string // titles for when the figures need the room, longest first
	name    string   // in the short form, where it is not the usual one
	figs    []fig    // in the title line, right
	tight   [][]fig  // the same in fewer words, where figs do not fit, fewest last
	foot    []fig    // in the bottom line, left
	legend  []named  // below the chart, or behind the figures in the short form
	chart   *chart   // nil when there is nothing to draw
	why     probes.Miss
	rows    []row // below the chart: pools
	spark   line  // for the short form
	// metrics are those that the zoomed pane explains.
	metrics []string
	own     bool     // the zoomed pane says what pgtlb itself takes
	labels  []string // instances that the zoomed pane lists apart
}

// named is a figure of one of several loads, in the look of its line.
type named struct {
	key         string // the digit of its scenario; "" for one without
	name, value string
	sign        string // how its line looks
	st          style
}

// legendFigs name the loads in w cells: in full, with names cut alike, or by
// their digits.
func legendFigs(list []named, w int) []fig {
	longest := 0
	for _, n := range list {
		longest = max(longest, textWidth(n.name))
	}
	const shortest = 8
	for most := longest; most >= shortest; most-- {
		var figs []fig
		for i, n := range list {
			figs = append(figs, fig{n.sign + " " + truncate(n.name, most) + " " + n.value, n.st, i})
		}
		if figsWidth(figs) <= w {
			return figs
		}
	}
	var figs []fig
	for i, n := range list {
		figs = append(figs, fig{orElse(n.key, truncate(n.name, 4)) + ": " + n.value, n.st, i})
	}
	return fitFigs(figs, w)
}

// row is one line of a pane that draws itself.
type row func(c *canvas, x, y, w int)

// build makes a pane from what is in view.
func (sc *scene) build(id paneID) pane {
	switch id {
	case paneTPS:
		return sc.tpsPane()
	case paneLatency:
		return sc.latencyPane()
	case paneDTLB:
		return sc.dtlbPane()
	case paneFaults:
		return sc.faultsPane()
	case paneCycles:
		return sc.cyclesPane()
	default:
		return sc.tablesPane()
	}
}

// newChart is a chart over the scene's time axis.
func (sc *scene) newChart(label func(float64) string, lines ...line) *chart {
	return &chart{lines: lines, x0: sc.x0, x1: sc.x1, label: label}
}

// draw draws a pane into r with a border.
func (p pane) draw(c *canvas, r rect, sc *scene, focused bool) {
	border := stBorder
	if focused {
		border = stFocus
	}
	c.frame(r, border)
	p.drawTitle(c, r, border)
	in := r.inner()
	if p.chart == nil {
		drawWhy(c, rect{in.x + 1, in.y, max(0, in.w-2), in.h}, p.why)
		if len(p.rows) == 0 {
			return
		}
	}
	rows := p.rows
	if len(p.legend) > 0 {
		rows = append([]row{func(c *canvas, x, y, w int) { drawFigs(c, x, y, w, legendFigs(p.legend, w)) }}, rows...)
	}
	if room := in.h - 3; len(rows) > room {
		rows = rows[:max(0, room)]
	}
	for i, row := range rows {
		row(c, in.x+1, in.y+in.h-len(rows)+i, in.w-2)
	}
	if p.chart == nil {
		return
	}
	p.chart.draw(c, rect{in.x, in.y, in.w - 1, in.h - len(rows)}, sc.ascii)
	p.drawFoot(c, r, sc.axis(), border)
}

// drawFoot writes the ends of the time axis into the bottom border, right, and
// what else there is to say left.
func (p pane) drawFoot(c *canvas, r rect, axis string, border style) {
	if textWidth(axis)+4 > r.w {
		return
	}
	y := r.y + r.h - 1
	c.right(r.x+2, y, r.w-4, axis, stDim)
	figs := fitFigs(p.foot, r.w-8-textWidth(axis))
	if w := figsWidth(figs); w > 0 {
		c.fill(rect{r.x + 2, y, w + 2, 1}, " ", border)
		drawFigs(c, r.x+3, y, w, figs)
	}
}

// fit chooses title and figures for a line of w cells: the most words that fit
// whole, else the shortest of both with figures left out.
func (p pane) fit(w int) (string, []fig) {
	titles := append([]string{p.title}, p.shorter...)
	for _, figs := range p.wordings() {
		for _, title := range titles {
			if len(figs) > 0 && textWidth(title)+figsWidth(figs) <= w {
				return title, figs
			}
		}
	}
	title := truncate(titles[len(titles)-1], w)
	return title, fitFigs(p.shortest(), w-textWidth(title))
}

// wordings are the figures, with fewer words each time.
func (p pane) wordings() [][]fig { return append([][]fig{p.figs}, p.tight...) }

func (p pane) shortest() []fig {
	all := p.wordings()
	return all[len(all)-1]
}

// drawTitle writes the name left and the figures right into the top border.
func (p pane) drawTitle(c *canvas, r rect, border style) {
	if r.w < 8 {
		return
	}
	title, figs := p.fit(r.w - 8)
	x := r.x + 2
	c.put(x, r.y, " ", stTitle)
	x += 1 + c.text(x+1, r.y, r.w-6, title, stTitle)
	c.put(x, r.y, " ", border)
	if len(figs) == 0 {
		return
	}
	w := figsWidth(figs)
	at := r.x + r.w - 3 - w
	for i := range w + 2 {
		c.put(at-1+i, r.y, " ", border)
	}
	drawFigs(c, at, r.y, w, figs)
}

// drawWhy writes why there is nothing to see, and what would help, in the
// middle of r.
func drawWhy(c *canvas, r rect, m probes.Miss) {
	if r.h < 1 || r.w < 8 {
		return
	}
	lines := wrap(clean(m.Text()), r.w, r.h)
	styles := make([]style, len(lines), r.h)
	for i := range styles {
		styles[i] = stDim
	}
	if m.Remedy != "" && len(lines) < r.h {
		for _, l := range wrap("→ "+clean(m.Remedy), r.w, r.h-len(lines)) {
			lines, styles = append(lines, l), append(styles, stPlain)
		}
	}
	y := r.y + (r.h-len(lines))/2
	for i, l := range lines {
		c.text(r.x, y+i, r.w, l, styles[i])
	}
}

// figGap is the room between two figures.
const figGap = 2

func figsWidth(figs []fig) int {
	w := 0
	for i, f := range figs {
		w += gapBefore(i, f) + textWidth(f.text)
	}
	return w
}

// gapBefore is the room before the i-th figure; one that begins with a line
// needs less.
func gapBefore(i int, f fig) int {
	switch {
	case i == 0:
		return 0
	case strings.HasPrefix(f.text, "│"):
		return 1
	}
	return figGap
}

// minCut is the room from which on the last figure is cut rather than left out.
const minCut = 12

// fitFigs leaves figures out, those with the highest drop first, until the rest
// fits.
func fitFigs(figs []fig, w int) []fig {
	for figsWidth(figs) > w && len(figs) > 0 {
		worst := 0
		for i, f := range figs {
			if f.drop >= figs[worst].drop {
				worst = i
			}
		}
		if len(figs) == 1 && w >= minCut {
			return []fig{{text: truncate(figs[0].text, w), st: figs[0].st}}
		}
		rest := make([]fig, 0, len(figs)-1)
		rest = append(rest, figs[:worst]...)
		figs = append(rest, figs[worst+1:]...)
	}
	return figs
}

// drawFigs writes figures from the left.
func drawFigs(c *canvas, x, y, w int, figs []fig) {
	for i, f := range figs {
		x += gapBefore(i, f)
		w -= gapBefore(i, f)
		used := c.text(x, y, w, f.text, f.st)
		x += used
		w -= used
	}
}
