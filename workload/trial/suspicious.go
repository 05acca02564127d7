package trial

import (
	"fmt"
	"strings"

	"pgtlb/probes"
	"pgtlb/workload/verdict"
)

// driftAlpha is the highest p of a trend that is told.
const driftAlpha = 0.05

// suspicious are warnings on the runs of one arm: a trend over time, runs that lie
// far from the others, two groups of runs, runs without an end.
func suspicious(m *armSet, metric string) []string {
	var out []string
	for _, r := range m.runs {
		if r.End == nil {
			out = append(out, fmt.Sprintf("run %s of %s was interrupted: its recording has no end", probes.Clean(r.Meta.Name), m.name))
		}
	}
	def, there := probes.Lookup(metric)
	var names []string
	var values []float64
	for i, f := range m.figures(metric) {
		if f.OK() {
			names, values = append(names, probes.Clean(m.arms[i].Meta.Name)), append(values, f.Value)
		}
	}
	if !there || len(values) == 0 {
		return out
	}
	if change, p, ok := verdict.Drift(values); ok && p <= driftAlpha {
		out = append(out, fmt.Sprintf("drift: the %s of %s changed by %s %% from the first half of the runs to the second (trend p %s)",
			def.Title, m.name, signed(100*change, 1), PText(p)))
	}
	middle := verdict.Center(values).Center
	var far []string
	for _, i := range verdict.Outliers(values) {
		far = append(far, fmt.Sprintf("%s (%s, the median is %s)", names[i], Level(def, values[i]), Level(def, middle)))
	}
	if len(far) > 0 {
		out = append(out, fmt.Sprintf("%s of %s lies far from the others: %s", def.Title, m.name, strings.Join(far, ", ")))
	}
	if low, high, two := verdict.TwoModes(values); two {
		out = append(out, fmt.Sprintf("%s of %s falls into two groups, around %s and %s: something else may have changed between these runs",
			def.Title, m.name, Level(def, low), Level(def, high)))
	}
	return out
}
