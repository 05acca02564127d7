package trial

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"sync"

	"pgtlb/probes"
)

//go:embed report.html.tmpl
var reportHTML string

// reportTemplate is parsed once. It escapes everything that comes from outside
// for the place where it stands.
var reportTemplate = sync.OnceValues(func() (*template.Template, error) {
	return template.New("report").Funcs(template.FuncMap{
		"line":  lineSVG,
		"bars":  func(b *Bars) template.HTML { return barSVG(*b) },
		"dots":  func(d *Dots) template.HTML { return dotSVG(*d) },
		"ptext": pText,
		"lacks": lacks,
		"sideOf": func(v Verdict) string {
			return map[Verdict]string{Better: "good", Worse: "bad"}[v]
		},
		"gaps": gapTexts,
		"side": func(better int) string {
			return map[int]string{1: "good", -1: "bad"}[better]
		},
		"clean":  probes.Clean,
		"memory": func(kB *uint64) string { return probes.Memory(float64(*kB)) },
		"number": func(v *float64) string { return probes.Count(*v) },
		"rows":   func(rows []ReportRow, paired bool) resultRows { return resultRows{rows, paired} },
	}).Parse(reportHTML)
})

// resultRows is what the template's table of results is given.
type resultRows struct {
	Rows   []ReportRow
	Paired bool
}

// WriteHTML writes a report as one page that needs nothing else: no script, no
// network, its own style for light, dark, small screens and paper.
func WriteHTML(w io.Writer, r Report) error {
	t, err := reportTemplate()
	if err != nil {
		return fmt.Errorf("parsing the report's template: %w", err)
	}
	if err := t.Execute(w, r); err != nil {
		return fmt.Errorf("writing the HTML report: %w", err)
	}
	return nil
}

// keyRows picks the rows that are written large: those that have a figure.
func keyRows(r Report) []ReportRow {
	var out []ReportRow
	faults := probes.PageFaults
	if slices.ContainsFunc(r.Rows, func(row ReportRow) bool { return row.Metric == probes.ServerPageFaults }) {
		faults = probes.ServerPageFaults
	}
	for _, row := range r.Rows {
		if keyMetric(row.Metric, faults) && !row.Cand.missing() {
			row.Diff = brief(row.Diff)
			out = append(out, row)
		}
	}
	return out
}

// keyMetric tells which metrics are written large; faults are the page faults to
// speak of.
func keyMetric(id, faults string) bool {
	switch id {
	case probes.TPS, probes.ServerTPS, probes.LatencyP99, faults, probes.PageTableMaxBackend:
		return true
	}
	return false
}
