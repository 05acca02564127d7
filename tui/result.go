package tui

import (
	tea "charm.land/bubbletea/v2"

	"pgtlb/workload/trial"
)

// resultScreen is the outcome of a comparison: the verdict in a sentence, what the
// runs can show at best, warnings, a row for each metric, the checks.
type resultScreen struct {
	plainOverlay
	c    *trial.Comparison
	line int // the first one shown
}

// newResult shows a comparison.
func newResult(c *trial.Comparison) *resultScreen { return &resultScreen{c: c} }

// resultLine is a line of the screen: text, or the cells of a table.
type resultLine struct {
	para
	row *trial.Row
}

// lines are all there is to say, wrapped to w cells.
func (r *resultScreen) lines(w int) []resultLine {
	var out []resultLine
	text := func(st style, texts ...string) {
		for _, t := range texts {
			for _, l := range lines([]para{{t, st}}, w) {
				out = append(out, resultLine{para: l})
			}
		}
	}
	text(verdictStyle(r.c.Verdict), r.c.Sentence)
	for _, warning := range r.c.Warnings {
		text(stWarn, "! "+warning)
	}
	for _, arm := range r.c.Arms[1:] {
		text(stPlain, "")
		text(stTitle, arm.Name+" against "+r.c.Arms[0].Name)
		text(stDim, r.c.Design(arm.Name))
		rows := r.c.Table(arm.Name)
		for i := range rows {
			out = append(out, resultLine{row: &rows[i]})
		}
		if notes := r.c.Notes(arm.Name, false); len(notes) > 0 {
			text(stPlain, "")
			text(stDim, notes...)
		}
	}
	text(stPlain, "")
	text(stDim, r.c.Checks()...)
	return out
}

func verdictStyle(v trial.Verdict) style {
	switch v {
	case trial.Better:
		return stGood
	case trial.Worse:
		return stBad
	case trial.Same, trial.Unclear, trial.TooFewRuns, trial.NotApplicable:
	}
	return stValue
}

func (r *resultScreen) place(m *Model) rect {
	l := arrange(m.w, m.h, len(m.notices.lines(m.w, m.h)), 0, warned(m.shown()))
	return rect{0, l.header, m.w, l.notes - l.header}
}

func (r *resultScreen) draw(c *canvas, m *Model) {
	at := r.place(m)
	for _, clear := range []rect{at, {0, c.h - 1, c.w, 1}} {
		c.fill(clear, " ", stPlain)
	}
	drawHints(c, c.h-1, []hint{{"↑↓", "scroll", 1}, {"esc", "close", 0}})
	in := part(c, at, true, []fig{{"Result", stTitle, 0}}, []fig{{resultWord(r.c.Verdict), verdictStyle(r.c.Verdict), 0}})
	list := r.lines(in.w)
	first := max(0, min(r.line, len(list)-in.h))
	for i := 0; i < in.h && first+i < len(list); i++ {
		l, y := list[first+i], in.y+i
		if l.row == nil {
			c.text(in.x, y, in.w, l.text, l.st)
			continue
		}
		drawResultRow(c, in.x, y, in.w, *l.row)
	}
	if rest := len(list) - first - in.h; rest > 0 && at.w > 24 {
		c.right(at.x+2, at.y+at.h-1, at.w-4, " more: pgdn ↓ ", stDim)
	}
}

func resultWord(v trial.Verdict) string {
	if v == trial.Unclear || v == trial.TooFewRuns {
		return "undecided"
	}
	return v.Text()
}

// drawResultRow draws a metric. Where the screen is narrow the arms' figures go
// first, then p, the interval, and the scope.
func drawResultRow(c *canvas, x, y, w int, r trial.Row) {
	const nameW, nameMin, scopeW, verdictW, diffW, intervalW, pW, figureW = 30, 24, 8, 14, 10, 20, 8, 11
	st := stPlain
	if r.Primary {
		st = stTitle
	}
	name := min(nameW, max(nameMin, w-scopeW-verdictW-diffW-intervalW))
	narrow := w < nameMin+scopeW+verdictW+diffW
	if narrow {
		name = max(10, w-verdictW-diffW)
	}
	c.text(x, y, name-1, truncate(clean(r.TitleText()), name-1), st)
	x, w = x+name, w-name
	cells := []struct {
		text string
		w    int
		st   style
		left bool
	}{
		{r.Scope, scopeW, stDim, true},
		{r.VerdictText(), verdictW, verdictStyle(r.Verdict), true},
		{r.ShortDifference(), diffW, verdictStyle(r.Verdict), false},
		{r.Interval, intervalW, stPlain, false},
		{r.ShortP(), pW, stPlain, false},
		{r.EstimateText(r.Base), figureW, stBase, false},
		{r.EstimateText(r.Cand), figureW, stValue, false},
	}
	if narrow {
		cells = cells[1:]
	}
	for _, cell := range cells {
		if w < cell.w {
			return
		}
		place(c, x, y, cell.w-1, truncate(cell.text, cell.w-1), cell.st, !cell.left)
		x, w = x+cell.w, w-cell.w
	}
}

func (r *resultScreen) key(m *Model, k string) (overlay, tea.Cmd) {
	switch k {
	case "esc", "q", "enter":
		return nil, nil
	}
	in := r.place(m).inner()
	r.line = scroll(r.line, k, len(r.lines(in.w-2)), max(1, in.h))
	return r, nil
}
