package tui

import (
	"math"
	"slices"
)

// point is one value of a series. A gap before it breaks the line.
type point struct {
	x, y float64
	gap  bool
}

// line is one series of a chart.
type line struct {
	points []point
	st     style
	dotted bool // the baseline: dots that do not touch, so that it shows without colour
	area   bool // thinly filled down to zero, where there is no baseline
	glyph  byte // in ASCII
}

// chart is lines over time, or areas stacked on each other. It never invents
// points: between two measured neighbours it draws a straight line, over a gap
// nothing.
type chart struct {
	lines  []line
	stack  bool
	x0, x1 float64 // the visible range, in seconds
	label  func(float64) string
	nice   func(float64) float64 // rounds the upper end up
	// loose lets the y axis begin above 0 where all lines are far from it, so
	// that small differences show; otherwise heights can be compared by eye.
	loose bool
	// cut lets a few values that are far above all others leave the chart at the
	// top, and says how high they are.
	cut bool
}

// span is the range of a y axis.
type span struct{ lo, hi float64 }

// looseShare is the smallest part of the highest value that a loose axis spans:
// with less of it noise would look like a difference.
const looseShare = 0.2

// span returns the range of the y axis.
func (ch *chart) span() span {
	lo, hi := ch.extent()
	if usual := ch.usual(); ch.cut && usual > 0 && hi > cutFrom*usual {
		hi = 2 * usual
	}
	nice := ch.nice
	if nice == nil {
		nice = niceMax
	}
	if !ch.loose || lo < hi/2 {
		return span{0, nice(hi)}
	}
	step := nice(max(hi-lo, hi*looseShare) / 4)
	s := span{math.Floor(min(lo, hi*(1-looseShare))/step) * step, math.Ceil(hi/step) * step}
	if s.hi <= s.lo {
		return span{0, nice(hi)}
	}
	return s
}

// cutFrom is how many times the usual values a peak must be to be cut.
const cutFrom = 6

// usual is the value that nine of ten in view do not exceed.
func (ch *chart) usual() float64 {
	var all []float64
	for _, l := range ch.lines {
		for _, p := range l.points {
			if p.x >= ch.x0 && p.x <= ch.x1 {
				all = append(all, p.y)
			}
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)*9/10]
}

// extent returns the smallest and largest value in view.
func (ch *chart) extent() (lo, hi float64) {
	lo = math.Inf(1)
	see := func(x, y float64) {
		if x >= ch.x0 && x <= ch.x1 {
			lo, hi = min(lo, y), max(hi, y)
		}
	}
	for _, l := range ch.lines {
		if !ch.stack {
			for _, p := range l.points {
				see(p.x, p.y)
			}
		}
	}
	if ch.stack {
		for x, y := range ch.sums() {
			see(x, y)
		}
	}
	return min(lo, hi), hi
}

// sums adds the areas of a stack up by x.
func (ch *chart) sums() map[float64]float64 {
	sums := map[float64]float64{}
	for _, l := range ch.lines {
		for _, p := range l.points {
			sums[p.x] += p.y
		}
	}
	return sums
}

// draw fills r with the axis and the lines.
func (ch *chart) draw(c *canvas, r rect, ascii bool) {
	if r.w < 8 || r.h < 1 || !(ch.x1 > ch.x0) {
		return
	}
	s := ch.span()
	plot := ch.axis(c, r, s)
	ra := newRaster(plot.w, plot.h, ascii)
	if ch.stack {
		ch.drawStack(ra, s)
	} else {
		ch.drawLines(ra, s)
	}
	ra.draw(c, plot.x, plot.y)
	if _, hi := ch.extent(); hi > s.hi && ch.cut {
		c.right(plot.x, plot.y, plot.w-1, "▲ up to "+ch.label(hi), stDim)
	}
}

// drawLines draws the baselines first, so that what is measured now lies over
// them, and the fill last, where nothing else is.
func (ch *chart) drawLines(ra *raster, s span) {
	for _, dotted := range []bool{true, false} {
		for _, l := range slices.Backward(ch.lines) {
			if l.dotted == dotted {
				ch.trace(ra, l, s)
			}
		}
	}
	compared := slices.ContainsFunc(ch.lines, func(l line) bool { return l.dotted && len(l.points) > 0 })
	for _, l := range ch.lines {
		if l.area && s.lo == 0 && !compared {
			ch.fillBelow(ra, l, s)
		}
	}
}

// axis draws the y axis with some labels and returns what is left for the lines.
func (ch *chart) axis(c *canvas, r rect, s span) rect {
	parts := 1
	switch {
	case r.h >= 12:
		parts = 4
	case r.h >= 5:
		parts = 2
	}
	labels := map[int]string{}
	w := 5
	format := trimmed(ch.label)
	for i := range parts + 1 {
		y := int(math.Round(float64(r.h-1) * float64(i) / float64(parts)))
		labels[y] = format(s.hi - (s.hi-s.lo)*float64(i)/float64(parts))
		w = max(w, textWidth(labels[y]))
	}
	if w+8 > r.w {
		return r
	}
	for y := range r.h {
		tick := "│"
		if text, ok := labels[y]; ok {
			c.right(r.x, r.y+y, w, text, stDim)
			tick = "┤"
		}
		c.put(r.x+w, r.y+y, tick, stBorder)
	}
	return rect{r.x + w + 1, r.y, r.w - w - 1, r.h}
}

// dotRow is the dot row of a value.
func dotRow(ra *raster, v float64, s span) int {
	n := ra.height() - 1
	return n - int(math.Round(min(1, max(0, (v-s.lo)/(s.hi-s.lo)))*float64(n)))
}

// col is the dot column of a time, as a fraction.
func (ch *chart) col(ra *raster, x float64) float64 {
	return (x - ch.x0) / (ch.x1 - ch.x0) * float64(ra.width()-1)
}

// walk calls f for every dot column that the line covers, with its value there.
// Where more than one point falls into a column, f is called for each of them.
func (ch *chart) walk(ra *raster, l line, f func(col int, y float64, joined bool)) {
	var last point
	have := false
	for _, p := range l.points {
		if p.x > ch.x1 {
			return
		}
		if p.x < ch.x0 {
			last, have = p, true
			continue
		}
		at := int(math.Round(ch.col(ra, p.x)))
		joined := have && !p.gap
		if joined {
			from := ch.col(ra, last.x)
			for col := max(0, int(math.Round(from))+1); col < at; col++ {
				share := (float64(col) - from) / (ch.col(ra, p.x) - from)
				f(col, last.y+(p.y-last.y)*share, true)
			}
		}
		f(at, p.y, joined)
		last, have = p, true
	}
}

// dotEvery is the distance between the dots of a dotted line, in dot columns.
const dotEvery = 3

// trace draws one line.
func (ch *chart) trace(ra *raster, l line, s span) {
	before := -1
	ch.walk(ra, l, func(col int, v float64, joined bool) {
		y := dotRow(ra, v, s)
		switch {
		case l.dotted && (ra.ascii && col%2 != 0 || !ra.ascii && col%dotEvery != 0):
		case l.dotted || !joined || before < 0 || before == y:
			ra.dot(col, y, l.st, l.glyph)
		case before < y:
			ra.column(col, before+1, y, l.st, l.glyph)
		default:
			ra.column(col, before-1, y, l.st, l.glyph)
		}
		before = y
	})
}

// fillBelow puts thin dots below a line, into cells that are still empty, so
// that a level can be seen at a glance and lines keep their shape.
func (ch *chart) fillBelow(ra *raster, l line, s span) {
	ch.walk(ra, l, func(col int, v float64, _ bool) {
		for y := dotRow(ra, v, s) + 1; y < ra.height(); y++ {
			if (ra.ascii || (col+y)%2 == 0) && ra.free(col, y, stFill) {
				ra.dot(col, y, stFill, '.')
			}
		}
	})
}

// drawStack fills the area of each line on top of the one before. The first is
// dense; the next is sparse with a dense rim, so that they differ without colour.
func (ch *chart) drawStack(ra *raster, s span) {
	low := make([]float64, ra.width())
	for n, l := range ch.lines {
		// A column holds one value: the last that falls into it.
		high := make([]float64, ra.width())
		ch.walk(ra, l, func(col int, v float64, _ bool) {
			if col < len(high) {
				high[col] = v
			}
		})
		for col, v := range high {
			if v <= 0 {
				continue
			}
			from, to := dotRow(ra, low[col], s), dotRow(ra, low[col]+v, s)
			if n > 0 {
				from--
			}
			for y := from; y >= to; y-- {
				if n == 0 || ra.ascii || (col+y)%2 == 0 || y == to {
					ra.dot(col, y, l.st, l.glyph)
				}
			}
			low[col] += v
		}
	}
}
