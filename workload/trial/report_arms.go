package trial

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"pgtlb/probes"
	"pgtlb/workload/verdict"
)

// BuildArmsReport makes the report of arms that CompareArms has compared. What can
// be told of single runs only, as lines over time, is told of one run of the base and
// one of the first candidate, which it names.
func BuildArmsReport(base ArmRuns, cands []ArmRuns, cmp Comparison, o ReportOptions) Report {
	b, c := armSetOf(base), armSetOf(cands[0])
	sets := []*armSet{b, c}
	for _, other := range cands[1:] {
		sets = append(sets, armSetOf(other))
	}
	atB, atC, how := standing(b, c, &cmp)
	r := buildReport(c.runs[atC], b.runs[atB], &cmp, o)
	if len(sets) == 2 && len(b.runs) == 1 && len(c.runs) == 1 {
		return r
	}
	r.Many = true
	r.Key = keyCells(&cmp)
	r.Rows = []ReportRow{}
	var names []string
	for _, s := range sets[1:] {
		names = append(names, s.name)
	}
	r.Title = strings.Join(names, ", ") + " against " + b.name
	if cmp.Experiment != "" {
		r.Title += ": experiment " + cmp.Experiment
	}
	r.Sentence, r.Verdict = cmp.Sentence, ""
	r.Warnings = cmp.Warnings
	r.Pictured = fmt.Sprintf("of %s (baseline) and %s (current), %s", b.arms[atB].Meta.Name, c.arms[atC].Meta.Name, how)
	r.Dots = dotsOf(&cmp, sets)
	r.Repeat = again(sets, cmp.Experiment, r.Repeat)
	return r
}

// standing chooses the two runs that stand for their arms: the pair whose ratio is
// nearest to the estimate, or the runs nearest to their medians.
func standing(base, cand *armSet, cmp *Comparison) (b, c int, how string) {
	at := slices.IndexFunc(cmp.Rows, func(r Row) bool { return r.Primary && r.CandName == cand.name })
	if at < 0 {
		return 0, 0, "the first runs"
	}
	row := cmp.Rows[at]
	p := pairing(base, cand)
	if p.pairs == nil || row.DiffPct == nil {
		return nearest(base, row.Metric), nearest(cand, row.Metric), "the runs nearest to the median " + row.Title
	}
	fb, fc := p.base.figures(row.Metric), p.cand.figures(row.Metric)
	best, least := 0, math.Inf(1)
	for i, pair := range p.pairs {
		x, y := fb[pair[0]], fc[pair[1]]
		if away := math.Abs(y.Value/x.Value - 1 - *row.DiffPct/100); x.OK() && y.OK() && away < least {
			best, least = i, away
		}
	}
	same := func(all *armSet, r *Run) int { return slices.Index(all.runs, r) }
	return same(base, p.base.runs[p.pairs[best][0]]), same(cand, p.cand.runs[p.pairs[best][1]]),
		"the pair whose difference in " + row.Title + " is nearest to the estimate"
}

// nearest is the run whose figure is nearest to the median.
func nearest(m *armSet, metric string) int {
	middle := verdict.Center(m.values(metric)).Center
	best, least := 0, math.Inf(1)
	for i, f := range m.figures(metric) {
		if away := math.Abs(f.Value - middle); f.OK() && away < least {
			best, least = i, away
		}
	}
	return best
}

// again says how to repeat the runs: the command of an experiment, or those of the
// runs that stand for the arms, and how to compare what is stored.
func again(sets []*armSet, experiment string, ofRuns []string) []string {
	var lines []string
	if experiment == "" {
		return ofRuns
	}
	for _, s := range sets {
		for _, a := range s.arms {
			if a.Meta.Command != "" && !slices.Contains(lines, a.Meta.Command) {
				lines = append(lines, a.Meta.Command)
			}
		}
	}
	if len(lines) == 0 {
		lines = ofRuns
	}
	return append(lines, command("compare", experiment))
}

// keyCells are the figures that are written large: the medians of the arms.
func keyCells(cmp *Comparison) []ReportRow {
	var out []ReportRow
	first := cmp.Arms[1].Name
	rows := cmp.Table(first)
	faults := probes.PageFaults
	// Those of a client from its beginning on do not depend on how much of the filling
	// of page tables fell into the warm-up.
	for _, id := range []string{probes.ClientPageFaults, probes.ServerPageFaults} {
		if slices.ContainsFunc(rows, func(r Row) bool { return r.Metric == id && r.Cand.Center != nil }) {
			faults = id
			break
		}
	}
	for _, r := range rows {
		if !keyMetric(r.Metric, faults) || r.Cand.Center == nil {
			continue
		}
		better := map[Verdict]int{Better: 1, Worse: -1}[r.Verdict]
		diff := r.ShortDifference() + ", " + r.VerdictText()
		if r.Verdict == NotApplicable {
			diff = r.ShortDifference()
		}
		out = append(out, ReportRow{Metric: r.Metric, Title: r.Title, Base: Cell{Main: r.EstimateText(r.Base)}, Cand: Cell{Main: r.EstimateText(r.Cand)}, Diff: diff, Better: better})
	}
	return out
}
