package tui

import (
	"pgtlb/probes"
)

// shortNames are the panes' names where each has one line.
var shortNames = [paneCount]string{"TPS", "Latency ms", "dTLB misses", "Faults/s", "CPU", "Page tables"}

// drawShort draws the panes as one line each: name, figures, sparkline.
func drawShort(c *canvas, l layout, sc *scene, focus paneID) {
	r := l.short
	if l.boxed {
		c.frame(r, stBorder)
		titled(c, r, shortTitle(sc), []fig{{sc.from + " → " + sc.to, stDim, 0}})
		r = r.inner()
	}
	for id := range paneCount {
		p := sc.build(id)
		name := shortNames[id]
		if id == paneCycles {
			name = "CPU time"
			if sc.has(probes.CyclesKernel) {
				name = "Cycles/s"
			}
		}
		if p.name != "" {
			name = p.name
		}
		drawShortLine(c, rect{r.x, r.y + int(id), r.w, 1}, name, p, sc, focus == id)
	}
	if !l.boxed {
		return
	}
	for i, row := range sc.poolRows() {
		if y := int(paneCount) + i; y < r.h {
			row(c, r.x+1, r.y+y, r.w-2)
		}
	}
}

// shortTitle is what stands over the lines: where they compare, also how much of
// the baseline base is.
func shortTitle(sc *scene) []fig {
	figs := []fig{{"Now", stTitle, 0}}
	if sc.comparing() {
		figs = append(figs, fig{"base: its " + covered(sc.st.Baseline), stBase, 0})
	}
	return figs
}

// inLine are the figures of a pane that has one line of w cells.
func (p pane) inLine(w int) []fig {
	figs := p.shortest()
	for _, wording := range p.wordings() {
		if figsWidth(wording) <= w {
			figs = wording
			break
		}
	}
	if len(p.legend) > 0 {
		figs = p.shortest()
		return append(figs[:len(figs):len(figs)], legendFigs(p.legend, w-figsWidth(figs)-figGap)...)
	}
	return fitFigs(append(append([]fig{}, figs...), p.foot...), w)
}

func drawShortLine(c *canvas, r rect, name string, p pane, sc *scene, focused bool) {
	const nameW = 12
	st := stTitle
	if focused {
		c.put(r.x, r.y, "▸", stFocus)
		st = stFocus
	}
	c.fit(r.x+1, r.y, nameW, name, st)
	x, w := r.x+1+nameW+1, r.w-nameW-3
	if p.chart == nil {
		text := clean(p.why.Text())
		if p.why.Remedy != "" {
			text += " → " + clean(p.why.Remedy)
		}
		c.text(x, r.y, w, truncate(text, w), stDim)
		return
	}
	sparkW := 0
	if w >= 40 {
		sparkW = max(12, w-50)
	}
	figs := p.inLine(w - sparkW - 1)
	drawFigs(c, x, r.y, w-sparkW, figs)
	if sparkW > 0 {
		spark(c, x+w-sparkW, r.y, sparkW, p.spark, sc.x0, sc.x1, sc.ascii)
	}
}
