package trial

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"pgtlb/probes"
)

// WriteMarkdown writes a report that reads well as plain text too: its tables
// are aligned and its lines need no renderer.
func WriteMarkdown(w io.Writer, r Report) error {
	var m markdown
	m.line("# " + mdText(r.Title))
	m.line(mdText(r.Sentence))
	if r.Verdict != "" {
		m.line("**" + mdText(r.Verdict) + "**")
	}
	if r.Ceiling != "" {
		m.line(mdText(r.Ceiling))
	}
	m.list(r.Warnings)
	if r.Many {
		m.arms(r.Comparison)
		m.dots(r.Dots)
		m.line("What follows is " + mdText(r.Pictured) + ".")
	} else {
		m.heading("Result")
		m.table(resultTable(r.Rows, r.Paired))
		m.notes(r.Rows)
	}
	if len(r.Steady.Notes) > 0 {
		m.heading("Filling of page tables and steady state")
		m.list(r.Steady.Notes)
	}
	if len(r.Steady.Filling) > 0 {
		m.line("While page tables were filling:")
		m.table(resultTable(r.Steady.Filling, r.Paired))
	}
	if len(r.Steady.Steady) > 0 {
		m.line("In the steady state:")
		m.table(resultTable(r.Steady.Steady, r.Paired))
	}
	m.bars(r.Bars)
	m.queries(r.Queries)
	m.surroundings(r)
	m.heading("Where the figures come from")
	rows := [][]string{{"figure", "source", "scope"}}
	for _, s := range r.Sources {
		rows = append(rows, []string{s.Title, s.Source, s.Scope})
	}
	m.table(rows, "lll")
	if _, err := io.WriteString(w, m.String()); err != nil {
		return fmt.Errorf("writing the Markdown report: %w", err)
	}
	return nil
}

// surroundings writes what is known of machine, server and measurement.
func (m *markdown) surroundings(r Report) {
	for _, g := range r.Facts {
		if len(g.Facts) == 0 {
			continue
		}
		m.heading(g.Title)
		rows := [][]string{{"", ""}}
		for _, f := range g.Facts {
			rows = append(rows, []string{f.Label, f.String()})
		}
		m.table(rows, "ll")
	}
	if len(r.Settings) > 0 {
		m.heading("Settings that are not at their default")
		m.table(settingsTable(r))
	}
	if len(r.Repeat) > 0 {
		m.heading("How to repeat")
		for _, c := range r.Repeat {
			// Indented code needs no escapes; a control character could end it.
			m.line("    " + probes.Clean(c))
		}
	}
	if len(r.Unavailable) > 0 {
		m.heading("What was not available")
		var lines []string
		for _, l := range lacks(r.Unavailable) {
			lines = append(lines, l.String())
		}
		m.list(lines)
	}
	if len(r.Gaps) > 0 {
		m.heading("What some samples missed")
		m.list(gapTexts(r.Gaps))
	}
	if len(r.Audit) > 0 {
		m.heading("Checks")
		var lines []string
		for _, a := range r.Audit {
			lines = append(lines, a.String())
		}
		m.list(lines)
	}
}

func settingsTable(r Report) ([][]string, string) {
	if !r.Paired {
		rows := [][]string{{"setting", "value", "source"}}
		for _, s := range r.Settings {
			rows = append(rows, []string{s.Name, s.Value, s.Source})
		}
		return rows, "lll"
	}
	rows := [][]string{{"setting", "baseline", "current", "source"}}
	for _, s := range r.Settings {
		base := s.Base
		if base == "" {
			base = s.Value
		}
		rows = append(rows, []string{s.Name, base, s.Value, s.Source})
	}
	return rows, "llll"
}

func resultTable(rows []ReportRow, paired bool) ([][]string, string) {
	if !paired {
		out := [][]string{{"", "value", "scope"}}
		for _, r := range rows {
			out = append(out, []string{r.Title, r.Cand.String(), r.Scope})
		}
		return out, "lrl"
	}
	out := [][]string{{"", "baseline", "current", "difference", "scope"}}
	for _, r := range rows {
		out = append(out, []string{r.Title, r.Base.String(), r.Cand.String(), r.Diff, r.Scope})
	}
	return out, "lrrrl"
}

// markdown collects the text of a report.
type markdown struct{ strings.Builder }

func (m *markdown) line(s string)    { m.WriteString(s + "\n\n") }
func (m *markdown) heading(s string) { m.line("## " + mdText(s)) }

func (m *markdown) list(lines []string) {
	for _, l := range lines {
		m.WriteString("- " + mdText(l) + "\n")
	}
	if len(lines) > 0 {
		m.WriteString("\n")
	}
}

// arms writes the table of each candidate, with what it is judged by.
func (m *markdown) arms(c *Comparison) {
	for _, arm := range c.Arms[1:] {
		m.heading(arm.Name + " against " + c.Arms[0].Name)
		if d := c.Design(arm.Name); d != "" {
			m.line(mdText(d) + ".")
		}
		m.table(comparisonTable(c, arm.Name, false))
		m.list(c.Notes(arm.Name, false))
	}
	if len(c.Background) > 0 {
		m.heading("Background")
		for _, arm := range c.Arms[1:] {
			m.table(backgroundTable(c, arm.Name))
		}
	}
}

// dots lists the runs of a plot.
func (m *markdown) dots(d *Dots) {
	if d == nil {
		return
	}
	m.heading("All runs in the order of time")
	rows := [][]string{{"run", "arm", "block", d.Title}}
	for _, p := range d.Points {
		block := "-"
		if p.Block > 0 {
			block = strconv.Itoa(p.Block)
		}
		rows = append(rows, []string{p.Run, d.Arms[p.Arm], block, probes.Number(p.Value)})
	}
	m.table(rows, "llrr")
}

// notes writes the notes of the rows that have one, each with its row's title.
func (m *markdown) notes(rows []ReportRow) {
	var lines []string
	for _, r := range rows {
		if r.Note != "" {
			lines = append(lines, r.Title+": "+r.Note)
		}
	}
	m.list(lines)
}

func (m *markdown) bars(b *Bars) {
	if b == nil {
		return
	}
	m.heading("Page tables of the client backends, largest first")
	if len(b.Base) > 0 {
		m.line("baseline: " + barsText(b.Base))
	}
	m.line("current: " + barsText(b.Current))
}

// queries lists the texts that were seen in each run.
func (m *markdown) queries(runs []QueriesSeen) {
	for _, q := range runs {
		title := "Queries seen"
		if len(runs) > 1 {
			title += " in " + q.Run
		}
		m.heading(title)
		m.line(mdText(q.Note))
		for _, s := range q.Texts {
			m.line(mdText(s.SeenText()) + ":")
			m.line("    " + probes.Clean(s.Text)) // as in surroundings
		}
	}
}

// barsText names each backend's page table, or the spread where there are many.
func barsText(kB []uint64) string {
	const few = 8
	text := func(i int) string { return probes.Memory(float64(kB[i])) }
	switch n := len(kB); {
	case n == 0:
		return "n/a"
	case n > few:
		return fmt.Sprintf("%d backends, largest %s, median %s, smallest %s", n, text(0), text(n/2), text(n-1))
	}
	out := make([]string, len(kB))
	for i := range kB {
		out[i] = text(i)
	}
	return strings.Join(out, ", ")
}

// table writes rows whose columns are aligned as "l" and "r" say; the first row
// is the head.
func (m *markdown) table(rows [][]string, align string) {
	for _, row := range rows {
		for i := range row {
			row[i] = mdText(row[i])
		}
	}
	width := columnWidths(rows, len(align))
	for n, row := range rows {
		for i, cell := range row {
			m.WriteString("| " + padded(cell, width[i], align[i] == 'r') + " ")
		}
		m.WriteString("|\n")
		if n == 0 {
			m.rule(width, align)
		}
	}
	m.WriteString("\n")
}

// columnWidths are what the widest cell of each column takes, at least 3.
func columnWidths(rows [][]string, columns int) []int {
	width := make([]int, columns)
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell), 3)
		}
	}
	return width
}

// padded fills a cell up with blanks.
func padded(cell string, width int, right bool) string {
	pad := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(cell)))
	if right {
		return pad + cell
	}
	return cell + pad
}

func (m *markdown) rule(width []int, align string) {
	for i, w := range width {
		if align[i] == 'r' {
			m.WriteString("|" + strings.Repeat("-", w+1) + ":")
		} else {
			m.WriteString("|" + strings.Repeat("-", w+2))
		}
	}
	m.WriteString("|\n")
}

// mdText makes outside text harmless in Markdown: no control characters, no
// markup, no HTML.
func mdText(s string) string {
	return markup.Replace(probes.Clean(s))
}

// markup escapes what Markdown would take for its own. Underscores inside words
// are no markup, so settings stay readable.
var markup = strings.NewReplacer("|", `\|`, "<", "&lt;", "`", "'", "*", `\*`, "[", `\[`, "]", `\]`)
