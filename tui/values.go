package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

// values is the table of every metric: now, the run, and of the comparison with the
// baseline the row that pgtlb compare prints, or why there is none.
type values struct {
	plainOverlay
	firstLine int
}

const valuesWidth = 112

func (v *values) draw(c *canvas, m *Model) {
	st := m.shown()
	sc := newScene(st, 60, m.opts.ASCII)
	rows := valueRows(sc)
	in := box(c, "All values", valuesWidth, max(6, min(c.h-6, len(rows)+4)), "↑ ↓ scroll   esc closes")
	head := "run: " + runLabel(st) + "    base: " + baseLabel(st)
	c.text(in.x, in.y, in.w, truncate(head, in.w), stDim)
	body := rect{in.x, in.y + 2, in.w, in.h - 3}
	cols := valueColumns(in.w, rows)
	x := body.x
	for _, col := range cols {
		place(c, x, body.y, col.w, col.title, stDim, col.right)
		x += col.w + 2
	}
	body.y, body.h = body.y+1, body.h-1
	first := max(0, min(v.firstLine, len(rows)-body.h))
	for i := 0; i < body.h && first+i < len(rows); i++ {
		rows[first+i].draw(c, body.x, body.y+i, cols)
	}
	note := "One pair of runs has no known spread: a small difference proves nothing."
	c.text(in.x, in.y+in.h-1, in.w, truncate(note, in.w), stDim)
}

func place(c *canvas, x, y, w int, s string, st style, right bool) {
	if right {
		c.right(x, y, w, s, st)
		return
	}
	c.text(x, y, w, truncate(s, w), st)
}

func runLabel(st *trial.State) string {
	if st.Run == nil {
		return "none yet"
	}
	return clean(orElse(st.Run.Label, st.Run.Name))
}

func baseLabel(st *trial.State) string {
	if st.Baseline == nil {
		return "none (b or B takes one)"
	}
	return clean(orElse(st.Baseline.Label, st.Baseline.Name))
}

// valueColumn is one column of the table of values.
type valueColumn struct {
	title string
	w     int
	right bool
}

// Widths of columns: with less than metricMin a metric's name says too little, and a
// figure goes instead.
const (
	metricMin  = 26
	scopeCol   = 7
	verdictCol = 12
)

// valueColumns gives the metric what its longest name needs. On a wide screen
// verdict and scope take the rest; on a narrow one "now" and then the base make room.
func valueColumns(w int, rows []valueRow) []valueColumn {
	name := metricMin
	for _, r := range rows {
		name = max(name, textWidth(r.title))
	}
	figures := func(figure, diff int) []valueColumn {
		return []valueColumn{{"NOW", figure, true}, {"RUN", figure, true}, {"BASE", figure, true}, {"DIFFERENCE", diff, true}}
	}
	metric := func(w int) []valueColumn { return []valueColumn{{"METRIC", w, false}} }
	switch wide, narrow := 4*14, 3*10+13; {
	case w >= name+wide:
		cols := append(metric(name), figures(12, 12)...)
		rest := w - name - wide
		if rest -= 2 + scopeCol; rest >= 0 {
			cols = append(cols, valueColumn{"SCOPE", scopeCol, false})
		}
		if rest -= 2 + verdictCol; rest >= 0 {
			cols = append(cols, valueColumn{"VERDICT", verdictCol, false})
		}
		return cols
	case w >= metricMin+narrow:
		return append(metric(min(name, w-narrow)), figures(8, 11)...)
	case w >= metricMin+narrow-10:
		return append(metric(min(name, w-narrow+10)), figures(8, 11)[1:]...)
	}
	return append(metric(max(8, w-22)), valueColumn{"RUN", 9, true}, valueColumn{"DIFFERENCE", 9, true})
}

// valueRow is one metric's line.
type valueRow struct {
	title          string
	now, run, base string
	diff           fig
	verdict, scope string
	why            string // in place of the figures
}

func (r valueRow) draw(c *canvas, x, y int, cols []valueColumn) {
	end := x
	for _, col := range cols {
		end += col.w + 2
	}
	for i, col := range cols {
		text, st := "", stPlain
		switch col.title {
		case "METRIC":
			text = r.title
		case "NOW":
			text = r.now
		case "RUN":
			text, st = r.run, stValue
		case "BASE":
			text, st = r.base, stBase
		case "DIFFERENCE":
			text, st = r.diff.text, r.diff.st
		case "VERDICT":
			text, st = r.verdict, stDim
		case "SCOPE":
			text, st = r.scope, stDim
		}
		if r.why != "" && i == 1 {
			w := end - x - 2
			c.text(x, y, w, truncate(r.why, w), stDim)
			return
		}
		place(c, x, y, col.w, text, st, col.right)
		x += col.w + 2
	}
}

// unitText is the unit behind a metric's name.
func unitText(m probes.Metric) string {
	switch {
	case m.Unit == "kB" || m.Unit == "%" || m.Unit == "" || m.ID == probes.DTLBMissesPerKInstr:
		return "" // the figure or the name carries it
	case probes.PerTransaction(m.ID) && m.Unit != "µs/txn":
		return "" // the name carries it
	case probes.PerTransaction(m.ID):
		return "µs"
	case m.Kind == probes.Counter && m.Unit == "s":
		return "CPUs" // seconds per second
	case m.Kind == probes.Counter && (m.Unit == "µs" || m.Unit == "ms" || m.Unit == "bytes"):
		return m.Unit + "/s"
	case m.Kind == probes.Counter:
		return "/s"
	case m.Unit == "txn/s":
		return ""
	}
	return m.Unit
}

// valueRows are the metrics of the catalogue in its order: those with a figure,
// and those that are named as unavailable.
func valueRows(sc *scene) []valueRow {
	var rows []valueRow
	for _, m := range probes.Catalogue() {
		if m.Kind == probes.Distribution || m.ID == probes.Transactions {
			continue // the percentiles and TPS say it
		}
		m = sc.metric(m.ID)
		whole, ok := sc.valueRow(m, "")
		if ok {
			rows = append(rows, whole)
		}
		labels := sc.labels(m.ID)
		if ok && len(labels) == 1 {
			continue // the whole is that one
		}
		for _, label := range labels {
			r, has := sc.valueRow(m, label)
			if !has || m.Unit == "pages" && sc.now(probes.PoolTotal, label).V == 0 {
				continue
			}
			r.title = "  " + clean(label)
			if !ok {
				r.title = m.Title + " " + clean(label)
			}
			rows = append(rows, r)
		}
	}
	return rows
}

func (sc *scene) valueRow(m probes.Metric, label string) (valueRow, bool) {
	row := sc.row(m, label)
	r := valueRow{title: strings.TrimSpace(row.Title + " " + unitText(m)), now: "-", run: "-", base: "-", scope: row.Scope}
	now, run, base := sc.now(m.ID, label), runFigure(sc.st, m.ID, label), baseFigure(sc.st, m.ID, label)
	if now.OK() {
		r.now = valueText(m, now.V)
	}
	if run.OK() {
		r.run = figureText(m, run)
	}
	if base.OK() {
		r.base = figureText(m, base)
	}
	if run.OK() && base.OK() {
		r.diff, r.verdict = difference(row), row.VerdictText()
	}
	if now.OK() || run.OK() || base.OK() {
		return r, true
	}
	for _, miss := range sc.st.Unavailable {
		if miss.ID == m.ID && label == "" {
			r.why = clean(miss.Line())
			return r, true
		}
	}
	return r, false
}

func (v *values) key(m *Model, k string) (overlay, tea.Cmd) {
	switch k {
	case "esc", "v", "q", "enter":
		return nil, nil
	case "c":
		m.engine.Do(trial.ToggleCompare{})
		return v, nil
	}
	n := len(valueRows(newScene(m.shown(), 60, m.opts.ASCII)))
	v.firstLine = scroll(v.firstLine, k, n, max(1, min(m.h-10, n)))
	return v, nil
}
