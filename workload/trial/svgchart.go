package trial

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"

	"pgtlb/probes"
)

// The geometry of a chart in units of its viewBox. The right margin holds the
// lines' direct labels.
const (
	chartWidth  = 480
	chartHeight = 200
	plotLeft    = 52
	plotRight   = chartWidth - 70
	plotTop     = 12
	plotBottom  = chartHeight - 26
	labelStep   = 28 // least distance of two direct labels
	mostPoints  = 400
)

// lineSVG draws a chart of lines. Colours come from the page's style sheet, so
// that light, dark and print each have their own.
func lineSVG(c Chart) template.HTML {
	top, right := 0.0, 0.0
	for _, s := range c.Series {
		for _, p := range s.Points {
			right = max(right, p.X)
			if p.Y != nil {
				top = max(top, *p.Y)
			}
		}
	}
	scale := newScale(top, c.Unit)
	var b svg
	b.open(c.Title)
	b.grid(scale)
	b.times(right)
	var labels []label
	for _, s := range c.Series {
		class := "current"
		if s.Base {
			class = "base"
		}
		b.printf(`<path class="line %s" d="%s"/>`, class, path(thin(s.Points), right, scale.top))
		if v, ok := lastOf(s.Points); ok {
			labels = append(labels, label{y: plotY(v, scale.top), class: class, name: s.Name, value: scale.word(v)})
		}
	}
	b.labels(labels)
	return b.close()
}

// barSVG draws the backends' page tables, the current run filled, the baseline
// as an outline.
func barSVG(bars Bars) template.HTML {
	top := 0.0
	for _, kB := range append(append([]uint64{}, bars.Current...), bars.Base...) {
		top = max(top, float64(kB))
	}
	scale := newScale(top, "kB")
	var b svg
	b.open("page tables of the client backends, largest first")
	b.grid(scale)
	n := max(len(bars.Current), len(bars.Base))
	slot := float64(plotRight-plotLeft) / float64(max(n, 8))
	sides := 1.0
	if len(bars.Base) > 0 && len(bars.Current) > 0 {
		sides = 2
	}
	width := 0.8 * slot / sides
	var labels []label
	draw := func(kBs []uint64, class, name string, shift float64) {
		for i, kB := range kBs {
			y := plotY(float64(kB), scale.top)
			b.printf(`<rect class="bar %s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`,
				class, plotLeft+float64(i)*slot+0.1*slot+shift, y, width, max(plotBottom-y, 0.5))
		}
		if len(kBs) > 0 {
			labels = append(labels, label{plotY(float64(kBs[0]), scale.top), class, name, scale.word(float64(kBs[0]))})
		}
	}
	draw(bars.Base, "base", "baseline", 0)
	draw(bars.Current, "current", "current", width*(sides-1))
	b.printf(`<text class="tick" x="%d" y="%d">%d backends</text>`, plotLeft, chartHeight-8, n)
	b.labels(labels)
	return b.close()
}

// svg collects the text of one drawing.
type svg struct{ strings.Builder }

func (b *svg) printf(format string, args ...any) { fmt.Fprintf(b, format, args...) }

func (b *svg) open(title string) {
	b.printf(`<svg viewBox="0 0 %d %d" role="img" aria-label="%s" xmlns="http://www.w3.org/2000/svg">`,
		chartWidth, chartHeight, html.EscapeString(title))
}

func (b *svg) close() template.HTML {
	b.WriteString("</svg>")
	// Every text in it went through html.EscapeString; the rest are numbers.
	return template.HTML(b.String())
}

func (b *svg) grid(s scale) {
	for _, t := range s.ticks {
		y := plotY(t, s.top)
		class := "grid"
		if t == 0 {
			class = "axis"
		}
		b.printf(`<path class="%s" d="M%d %.1fH%d"/>`, class, plotLeft, y, plotRight)
		b.printf(`<text class="tick end" x="%d" y="%.1f">%s</text>`, plotLeft-6, y+4, html.EscapeString(s.tick(t)))
	}
}

// times writes the time axis in seconds or minutes since the start of the load.
func (b *svg) times(right float64) {
	unit, per := " s", 1.0
	if right > 300 {
		unit, per = " min", 60
	}
	if right > 3*3600 {
		unit, per = " h", 3600
	}
	step := niceStep(right / per / 3)
	for v := 0.0; v*per <= right*1.001; v += step {
		x := plotX(v*per, right)
		b.printf(`<path class="axis" d="M%.1f %dv4"/><text class="tick mid" x="%.1f" y="%d">%s</text>`,
			x, plotBottom, x, chartHeight-8, probes.Number(v)+unit)
	}
}

// label is a line's name and last value, written beside its end.
type label struct {
	y           float64
	class       string
	name, value string
}

// labels writes the labels apart from each other and inside the plot.
func (b *svg) labels(ls []label) {
	const lowest = plotBottom - labelStep/2
	for i := range ls {
		ls[i].y = min(ls[i].y, lowest)
	}
	if len(ls) == 2 {
		upper, lower := &ls[0], &ls[1]
		if upper.y > lower.y {
			upper, lower = lower, upper
		}
		if gap := lower.y - upper.y; gap < labelStep {
			middle := (upper.y + lower.y) / 2
			middle = min(max(middle, plotTop+labelStep/2), lowest-labelStep/2)
			upper.y, lower.y = middle-labelStep/2, middle+labelStep/2
		}
	}
	b.named(ls, plotRight+6)
}

// named writes labels at x, the value above the name.
func (b *svg) named(ls []label, x int) {
	for _, l := range ls {
		b.printf(`<text class="label %s" x="%d" y="%.1f">%s</text>`, l.class, x, l.y+1, html.EscapeString(l.value))
		b.printf(`<text class="name" x="%d" y="%.1f">%s</text>`, x, l.y+13, html.EscapeString(l.name))
	}
}

// scale is a value axis from 0 to a round top.
type scale struct {
	top   float64
	ticks []float64
	unit  string
}

func newScale(top float64, unit string) scale {
	if top <= 0 {
		top = 1
	}
	per := 1.0
	if unit == "kB" { // round in the unit that is written
		for top/per >= 1024 {
			per *= 1024
		}
	}
	step := niceStep(top/per/3) * per
	s := scale{unit: unit}
	for v := 0.0; ; v += step {
		s.ticks = append(s.ticks, v)
		if v >= top*0.999 {
			s.top = v
			return s
		}
	}
}

func (s scale) word(v float64) string {
	if s.unit == "kB" {
		return probes.Memory(v)
	}
	return probes.Short(v)
}

// tick is word for a round value, without the zeros that show nothing.
func (s scale) tick(v float64) string {
	if v == 0 {
		return "0"
	}
	number, unit, _ := strings.Cut(s.word(v), " ")
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return strings.TrimSpace(number + " " + unit)
}

// niceStep is the round number (1, 2, 2.5 or 5 times a power of ten) nearest
// above v.
func niceStep(v float64) float64 {
	if v <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if m*power >= v*0.999 {
			return m * power
		}
	}
	return 10 * power
}

func plotX(x, right float64) float64 {
	if right <= 0 {
		return plotLeft
	}
	return plotLeft + x/right*(plotRight-plotLeft)
}

func plotY(y, top float64) float64 {
	return plotBottom - y/top*(plotBottom-plotTop)
}

// path draws the points; where one is missing the line has a gap.
func path(points []Point, right, top float64) string {
	var b strings.Builder
	pen := false
	for i, p := range points {
		if p.Y == nil {
			pen = false
			continue
		}
		if !pen {
			b.WriteByte('M')
		} else {
			b.WriteByte('L')
		}
		b.WriteString(coordinate(plotX(p.X, right)) + " " + coordinate(plotY(*p.Y, top)))
		if alone := !pen && (i+1 == len(points) || points[i+1].Y == nil); alone {
			b.WriteString("h0.01") // a dot, drawn by its round cap
		}
		pen = true
	}
	return b.String()
}

func coordinate(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// thin joins neighbouring points of a long run by their mean, so that a day's
// run makes no larger drawing than a minute's. A gap stays one as long as the
// points that are joined.
func thin(points []Point) []Point {
	if len(points) <= mostPoints {
		return points
	}
	per := (len(points) + mostPoints - 1) / mostPoints
	var out []Point
	for i := 0; i < len(points); i += per {
		group := points[i:min(i+per, len(points))]
		sum, n := 0.0, 0
		for _, p := range group {
			if p.Y != nil {
				sum += *p.Y
				n++
			}
		}
		joined := Point{X: group[len(group)-1].X}
		if n > 0 {
			mean := sum / float64(n)
			joined.Y = &mean
		}
		out = append(out, joined)
	}
	return out
}

func lastOf(points []Point) (float64, bool) {
	for i := len(points) - 1; i >= 0; i-- {
		if points[i].Y != nil {
			return *points[i].Y, true
		}
	}
	return 0, false
}
