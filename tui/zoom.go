package tui

import (
	"math"

	"pgtlb/probes"
)

// zoom is a pane as large as the body: the chart, and below it what there is to
// say, which scrolls.
type zoom struct {
	p     pane
	items []zoomItem
	chart int // height
	info  rect
}

// zoomItem is a piece of the text below the chart that is not taken apart.
type zoomItem struct {
	h    int
	draw func(c *canvas, r rect)
}

// zoomed lays out one pane in r. Below the chart is first what its own facts say,
// then what its metrics are: now, mean, smallest and largest in view, run, base,
// scope, source.
func (sc *scene) zoomed(r rect, id paneID) zoom {
	z := zoom{p: sc.build(id)}
	w := r.w - 2
	if id == paneTables {
		z.items = factItems(sc.tablesFacts(w - 2))
	}
	cols := figureColumns(w)
	z.items = append(z.items, zoomItem{1, func(c *canvas, r rect) { sc.figureHead(c, r, cols) }})
	for _, b := range sc.explain(z.p) {
		z.items = append(z.items, zoomItem{1 + len(b.lines(w)), func(c *canvas, r rect) { b.draw(c, r, cols) }})
	}
	lines := 0
	for _, i := range z.items {
		lines += i.h
	}
	z.chart = max(7, r.h-min(lines+2, r.h/2))
	if z.p.chart == nil {
		z.chart = max(6, min(r.h/2, 10))
	}
	z.chart = min(z.chart, r.h)
	z.info = rect{r.x, r.y + z.chart, r.w, r.h - z.chart}
	return z
}

// factItems are lines of text.
func factItems(lines []para) []zoomItem {
	items := make([]zoomItem, len(lines))
	for i, l := range lines {
		items[i] = zoomItem{1, func(c *canvas, r rect) { c.text(r.x+1, r.y, r.w-2, l.text, l.st) }}
	}
	return items
}

// most is the first item from which on all the others fit.
func (z *zoom) most() int {
	room := z.info.h - 2
	for i := len(z.items) - 1; i >= 0; i-- {
		if room -= z.items[i].h; room < 0 {
			return i + 1
		}
	}
	return 0
}

// draw draws the pane with the items from the first given on.
func (z *zoom) draw(c *canvas, r rect, sc *scene, first int) {
	z.p.draw(c, rect{r.x, r.y, r.w, z.chart}, sc, true)
	if z.info.h < 3 {
		return
	}
	c.frame(z.info, stBorder)
	titled(c, z.info, []fig{{"What it says", stTitle, 0}}, []fig{{"esc back", stKey, 1}, {"tab next", stKey, 2}})
	in := z.info.inner()
	first = min(first, z.most())
	y := in.y
	for _, i := range z.items[first:] {
		if y >= in.y+in.h {
			c.right(z.info.x+2, z.info.y+z.info.h-1, z.info.w-4, " more ↓ ", stKey)
			break
		}
		i.draw(c, rect{in.x, y, in.w, in.y + in.h - y})
		y += i.h
	}
}

// block is one metric in the zoomed pane.
type block struct {
	m     probes.Metric
	cells []fig   // now, mean, smallest, largest, run, base, difference
	share float64 // percent of the time in which a perf counter ran; 0 for others
	why   probes.Miss
}

// figureColumns is how many cells of figures fit: 4 or all 7.
func figureColumns(w int) int {
	switch {
	case w >= 100:
		return 7
	case w >= 68:
		return 4
	}
	return 2
}

const (
	figureNameW = 30
	figureW     = 9
)

func (sc *scene) figureHead(c *canvas, in rect, n int) {
	names := []string{"now", "mean", "smallest", "largest", "run", "base", "diff."}
	for i := range n {
		c.right(in.x+nameWidth(in.w)+i*(figureW+1), in.y, figureW, names[i], stDim)
	}
}

// nameWidth is the room of a metric's name.
func nameWidth(w int) int { return min(figureNameW, w/2) }

// lines is what stands below the figures: scope, meaning, source, or what would
// help.
func (b block) lines(w int) []string {
	text := b.m.Meaning + " From " + clean(b.m.Source) + "."
	switch {
	case b.why.Remedy != "":
		text = "→ " + clean(b.why.Remedy)
	case b.m.Scope != "":
		text = clean(b.m.Scope) + " · " + text
	}
	if b.share > 0 && b.share < runningFloor {
		text = "counted " + percent(b.share) + " of the time and scaled up · " + text
	}
	return wrap(text, w-5, 3)
}

// draw writes the figures and, dimmed below, the explanation.
func (b block) draw(c *canvas, r rect, n int) {
	nameW := nameWidth(r.w)
	c.text(r.x+1, r.y, nameW-1, truncate(b.m.Title, nameW-1), stValue)
	if b.why.Reason != "" {
		c.text(r.x+nameW+1, r.y, r.w-nameW-2, truncate(clean(b.why.Line()), r.w-nameW-2), stDim)
	} else {
		for i := range min(n, len(b.cells)) {
			c.right(r.x+nameW+i*(figureW+1), r.y, figureW, b.cells[i].text, b.cells[i].st)
		}
	}
	for i, l := range b.lines(r.w) {
		if 1+i < r.h {
			c.text(r.x+3, r.y+1+i, r.w-4, l, stDim)
		}
	}
}

// explain collects the blocks of a pane: first the metrics that have figures,
// then those that have not, with the reason.
func (sc *scene) explain(p pane) []block {
	var have, lack []block
	for _, id := range p.metrics {
		m := sc.metric(id)
		now := sc.now(id, "")
		if !now.OK() && !runFigure(sc.st, id, "").OK() {
			if miss, known := sc.unavailable(id); known {
				lack = append(lack, block{m: m, why: miss})
			}
			continue
		}
		switch {
		case id == probes.WalkCeilingPct && now.OK():
			m.Meaning = sentence(probes.WalkCeilingText(now.V, m)) + "."
		case probes.PerTransaction(id) && now.OK():
			m.Meaning = sc.perTransaction()
		}
		if c := sc.st.Counting; c.Why != "" && m.Scope == c.Scope {
			m.Scope = c.String()
		}
		have = append(have, block{m: m, cells: sc.figures(m, "", now), share: now.RunningPct})
		for _, label := range p.labels {
			lm := m
			lm.Title = "  " + clean(label)
			if v := sc.now(id, label); v.OK() && len(p.labels) > 1 {
				have = append(have, block{m: lm, cells: sc.figures(m, label, v)})
			}
		}
	}
	if p.own && sc.last != nil {
		have = append(have, block{m: probes.Metric{Title: "own CPU, of 1 CPU", Meaning: ownCPU, Source: "getrusage"},
			cells: []fig{{percent(sc.last.OwnCPUPct), stOne, 0}}})
	}
	return append(have, lack...)
}

// perTransaction says whose transactions were counted.
func (sc *scene) perTransaction() string {
	if sc.last.Transacted() == probes.TPS {
		return "Per transaction of the load."
	}
	return "Per transaction of the whole server, pgtlb's own included; no load of pgtlb's runs."
}

// figures are the cells of a block.
func (sc *scene) figures(m probes.Metric, label string, now probes.Value) []fig {
	mean, low, high, ok := stats(points(sc.cur, sc.origin, m.ID, label))
	text := func(v float64, ok bool) string {
		if !ok {
			return "n/a"
		}
		return valueText(m, v)
	}
	run, base := runFigure(sc.st, m.ID, label), baseFigure(sc.st, m.ID, label)
	cells := []fig{
		{text(now.V, now.OK()), stOne, 0}, {text(mean, ok), stPlain, 0}, {text(low, ok), stPlain, 0}, {text(high, ok), stPlain, 0},
		{figureText(m, run), stValue, 0}, {figureText(m, base), stBase, 0},
	}
	if sc.st.Baseline == nil {
		cells[5] = fig{"-", stDim, 0}
	}
	if run.OK() && base.OK() {
		cells = append(cells, difference(sc.row(m, label)))
	}
	return cells
}

// stats are mean, smallest and largest of what is in view.
func stats(points []point) (mean, low, high float64, ok bool) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, p := range points {
		mean += p.y
		low, high = min(low, p.y), max(high, p.y)
	}
	if len(points) == 0 {
		return 0, 0, 0, false
	}
	return mean / float64(len(points)), low, high, true
}
