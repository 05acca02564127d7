package trial

import (
	"fmt"
	"slices"
	"strings"

	"pgtlb/probes"
)

// judge puts the verdict on the primary metric into a sentence, one clause for each
// candidate.
func (c *Comparison) judge() {
	c.Verdict = NotApplicable
	var parts []string
	for i, arm := range c.Arms[1:] {
		at := slices.IndexFunc(c.Rows, func(r Row) bool { return r.Primary && r.CandName == arm.Name })
		if at < 0 {
			parts = append(parts, arm.Name+" against "+c.Arms[0].Name+": neither TPS nor latency was measured in both")
			continue
		}
		if i == 0 {
			c.Verdict = c.Rows[at].Verdict
		}
		parts = append(parts, c.clause(c.Rows[at]))
		if text := c.besideIt(arm.Name); text != "" {
			parts = append(parts, text)
		}
	}
	c.Sentence = strings.Join(parts, ". ") + "."
}

// besideIt names what else is told apart for certain, of the metrics that most is
// learned from.
func (c *Comparison) besideIt(cand string) string {
	telling := []string{probes.LatencyP99, probes.ClientPageFaults, probes.PageTables, probes.PageTableMaxBackend, probes.DTLBMissPct, probes.WalkCyclesPct, probes.CyclesKernel, probes.CPUKernel}
	var sure []string
	for _, r := range c.Table(cand) {
		if !r.Primary && r.differs() && !r.Hint && slices.Contains(telling, r.Metric) {
			text := r.Title + " " + brief(r.Difference)
			if r.Verdict == Worse {
				text += " (worse)"
			}
			sure = append(sure, text)
		}
	}
	if len(sure) == 0 {
		return ""
	}
	return "For certain, beside it: " + strings.Join(sure, ", ")
}

// Text is a verdict for people.
func (v Verdict) Text() string {
	switch v {
	case TooFewRuns:
		return "too few runs"
	default:
		return string(v)
	}
}

// clause is the verdict on one candidate in words.
func (c *Comparison) clause(r Row) string {
	who := r.CandName + " against " + c.Arms[0].Name
	seen := r.Title + " " + brief(r.Difference)
	var figures []string
	if r.Interval != "" {
		figures = append(figures, "95 % interval "+r.Interval)
	}
	if r.P != nil {
		figures = append(figures, "p "+PText(*r.P))
		if n := len(c.Arms) - 1; n > 1 && r.PAdjusted != nil {
			figures = append(figures, fmt.Sprintf("%s adjusted for %d candidates", PText(*r.PAdjusted), n))
		}
	}
	figures = append(figures, c.howMany(r))
	how := " (" + strings.Join(figures, ", ") + ")"
	switch r.Verdict {
	case Better, Worse:
		return strings.ToUpper(string(r.Verdict[:1])) + string(r.Verdict[1:]) + ": " + who + ", " + seen + how
	case Same:
		return fmt.Sprintf("The same: %s, %s differs by less than %s %%%s", who, r.Title, probes.Number(c.MarginPct), how)
	case TooFewRuns:
		if r.N == 1 {
			return "Undecided, one run per side has no known spread: " + who + ", " + seen
		}
		return "Undecided, too few runs: " + who + ", " + seen + how
	case Unclear, NotApplicable:
	}
	text := "Undecided: " + who + ", " + seen + how
	switch {
	case r.heldBack && r.NoiseFloorPct != nil:
		text += fmt.Sprintf("; identical runs differ by %s %%, so this is not a result", probes.Number(*r.NoiseFloorPct))
	case r.DetectablePct != nil:
		text += fmt.Sprintf("; a difference of %s would have been seen in 80 of 100 such comparisons", detectableText(*r.DetectablePct))
		if n := len(c.Arms) - 1; n > 1 {
			text += fmt.Sprintf(" at p %s, its share of %s for %d candidates", PText(usualAlpha()/float64(n)), alphaText(), n)
		}
	}
	return text
}

// Table are the rows of a candidate that are printed: the load first, then what
// explains it, in the order of a report. The other rows are in Rows.
func (c *Comparison) Table(cand string) []Row {
	rows := map[string]Row{}
	for _, r := range c.Rows {
		if r.CandName == cand {
			rows[r.Metric] = r
		}
	}
	var out []Row
	for _, id := range tableMetrics(func(id string) bool { _, ok := rows[id]; return ok }) {
		if r, ok := rows[id]; ok {
			out = append(out, r)
		}
	}
	return out
}
