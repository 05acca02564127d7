package trial

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"pgtlb/probes"
)

// comparisonTable is a candidate's table in words, with its head and alignment. It
// is the same on the plain screen, in Markdown and in HTML.
func comparisonTable(c *Comparison, cand string, all bool) (table [][]string, align string) {
	table = [][]string{{"", "scope", "verdict", "difference", "95 % interval", "p", "adjusted", c.Arms[0].Name, cand}}
	for _, r := range c.rowsOf(cand, all) {
		table = append(table, []string{r.TitleText(), r.Scope, r.VerdictText(), r.ShortDifference(), r.Interval, r.ShortP(), pText(r.PAdjusted), r.EstimateText(r.Base), r.EstimateText(r.Cand)})
	}
	return table, "lllrrrrrr"
}

// rowsOf are a candidate's rows that are printed, or all.
func (c *Comparison) rowsOf(cand string, all bool) []Row {
	if !all {
		return c.Table(cand)
	}
	var out []Row
	for _, r := range c.Rows {
		if r.CandName == cand {
			out = append(out, r)
		}
	}
	return out
}

// TitleText is the metric's title, marked where it is the primary one.
func (r Row) TitleText() string {
	if r.Primary {
		return r.Title + " (primary)"
	}
	return r.Title
}

// VerdictText is the verdict for people, marked where it is a hint only.
func (r Row) VerdictText() string {
	if r.Hint {
		return r.Verdict.Text() + " (hint)"
	}
	return r.Verdict.Text()
}

// EstimateText writes an arm's median.
func (r Row) EstimateText(e Estimate) string {
	m, ok := probes.Lookup(r.Metric)
	if e.Center == nil || !ok {
		return "n/a"
	}
	return Level(m, *e.Center)
}

// pText writes p, or nothing where there is none.
func pText(p *float64) string {
	if p == nil {
		return ""
	}
	return PText(*p)
}

// Design says how the runs were held against each other, and what they can show at
// best.
func (c *Comparison) Design(cand string) string {
	for _, r := range c.Rows {
		if r.CandName != cand || !r.Primary || r.SmallestP == nil {
			continue
		}
		how := c.howMany(r)
		if !c.Paired && r.N > 1 {
			how += ", not paired"
		}
		text := how + ": the smallest p that they can give is " + PText(*r.SmallestP)
		if r.NoiseFloorPct != nil {
			text += fmt.Sprintf("; noise floor of %s %s %%", r.Title, probes.Number(*r.NoiseFloorPct))
		}
		text += fmt.Sprintf("; same means within %s %%", probes.Number(c.MarginPct))
		return text + c.secondary(cand, r.Title)
	}
	return ""
}

// howMany says how many runs a row rests on.
func (c *Comparison) howMany(r Row) string {
	b, d := c.runs(c.Arms[0].Name), c.runs(r.CandName)
	if c.Paired || b == d {
		return runsText(r.N, c.Paired)
	}
	return fmt.Sprintf("%d and %d runs", b, d)
}

// secondary says how the verdicts on metrics that were not asked about are to be
// read; empty where there are none that need it.
func (c *Comparison) secondary(cand, asked string) string {
	sure, hints := 0, 0
	for _, r := range c.Table(cand) {
		switch {
		case r.Hint:
			hints++
		case !r.Primary && r.differs() && *r.PAdjusted > usualAlpha():
			sure++
		}
	}
	if sure+hints == 0 {
		return ""
	}
	text := "; " + asked + " was asked, the other metrics explain it: their p is adjusted for all asked at once"
	if sure > 0 {
		text += ", which does not matter where the whole interval keeps three noise floors from none"
	}
	switch {
	case hints == 1:
		text += "; the verdict that holds alone only is a hint"
	case hints > 1:
		text += fmt.Sprintf("; the %d verdicts that hold alone only are hints", hints)
	}
	return text
}

// alphaText is the highest p of a result.
func alphaText() string { return strconv.FormatFloat(usualAlpha(), 'g', -1, 64) }

func (c *Comparison) runs(arm string) int {
	for _, a := range c.Arms {
		if a.Name == arm {
			return a.Runs
		}
	}
	return 0
}

// Notes are the remarks on a candidate's rows with the metrics that each is on, and at
// the end what further runs would have found of those whose verdict is unclear.
func (c *Comparison) Notes(cand string, all bool) []string {
	titles := map[string][]string{}
	var order, unclear []string
	for _, r := range c.rowsOf(cand, all) {
		if r.Verdict == Unclear && !r.heldBack && r.DetectablePct != nil {
			unclear = append(unclear, r.Title+" "+detectableText(*r.DetectablePct))
		}
		if r.Note == "" {
			continue
		}
		if titles[r.Note] == nil {
			order = append(order, r.Note)
		}
		titles[r.Note] = append(titles[r.Note], r.Title)
	}
	var out []string
	for _, note := range order {
		out = append(out, strings.Join(titles[note], ", ")+": "+note)
	}
	if len(unclear) > 0 {
		out = append(out, "80 of 100 such comparisons would have seen a difference of: "+strings.Join(unclear, ", "))
	}
	return out
}

// detectableText writes a difference as those of rows are: a factor from a twofold
// change on.
func detectableText(pct float64) string {
	if pct >= 100 {
		return "×" + factor(1+pct/100)
	}
	return probes.Number(pct) + " %"
}

// WriteText writes a comparison for a plain screen: the verdict, the warnings, a
// table for each candidate, the background and the checks. all prints every metric.
func (c *Comparison) WriteText(w io.Writer, all bool) error {
	var m markdown
	m.WriteString(probes.Clean(c.Sentence) + "\n")
	if c.Varied != "" {
		m.WriteString("varied: " + probes.Clean(c.Varied) + "\n")
	}
	m.WriteString("\n")
	m.plainList("Warnings", c.Warnings)
	for _, arm := range c.Arms[1:] {
		if d := c.Design(arm.Name); d != "" {
			m.WriteString(arm.Name + " against " + c.Arms[0].Name + ", " + d + "\n\n")
		}
		table, align := comparisonTable(c, arm.Name, all)
		m.plainTable(table, align)
		m.plainList("Notes", c.Notes(arm.Name, all))
	}
	if len(c.Background) > 0 {
		m.WriteString("Background\n")
		for _, arm := range c.Arms[1:] {
			m.plainTable(backgroundTable(c, arm.Name))
		}
	}
	m.plainList("Checks", c.Checks())
	if _, err := io.WriteString(w, strings.TrimRight(m.String(), "\n")+"\n"); err != nil {
		return fmt.Errorf("writing the comparison: %w", err)
	}
	return nil
}

// Checks are the outcomes of the audit, without those that are among the warnings.
func (c *Comparison) Checks() []string {
	var out []string
	for _, a := range c.Audit {
		if !slices.Contains(c.Warnings, a.Text) {
			out = append(out, a.String())
		}
	}
	return out
}

// String is a check with its outcome.
func (a AuditLine) String() string {
	if a.OK {
		return "ok: " + a.Text
	}
	return "WARNING: " + a.Text
}

// backgroundTable is what went on beside a candidate's runs and the base's.
func backgroundTable(c *Comparison, cand string) (table [][]string, align string) {
	table = [][]string{{"", c.Arms[0].Name, cand}}
	for _, b := range c.Background {
		if b.CandName == cand {
			table = append(table, []string{b.What, b.text(b.Base), b.text(b.Cand)})
		}
	}
	return table, "lrr"
}

func (m *markdown) plainList(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	m.WriteString(title + "\n")
	for _, l := range lines {
		m.WriteString("  - " + probes.Clean(l) + "\n")
	}
	m.WriteString("\n")
}

// plainTable writes aligned columns without rules.
func (m *markdown) plainTable(rows [][]string, align string) {
	width := columnWidths(rows, len(align))
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			if i > 0 {
				line += "  "
			}
			line += padded(probes.Clean(cell), width[i], align[i] == 'r')
		}
		m.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	m.WriteString("\n")
}

// ShortDifference is the difference without what stands in brackets.
func (r Row) ShortDifference() string { return brief(r.Difference) }

// ShortP is p, or nothing where there is none.
func (r Row) ShortP() string { return pText(r.P) }
