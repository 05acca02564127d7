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
		"lacks": lacks,
		"gaps":  gapTexts,
		"side": func(better int) string {
			return map[int]string{1: "good", -1: "bad"}[better]
		},
		"brief": brief,
		"clean": probes.Clean,
		"rows":  func(rows []ReportRow, paired bool) resultRows { return resultRows{rows, paired} },
	}).Parse(reportHTML)
})

// resultRows is what the template's table of results is given.
type resultRows struct {
	Rows   []ReportRow
	Paired bool
}

// page is what the template is given.
type page struct {
	Report
	Key []ReportRow // the figures written large at the top
}

// WriteHTML writes a report as one page that needs nothing else: no script, no
// network, its own style for light, dark, small screens and paper.
func WriteHTML(w io.Writer, r Report) error {
	t, err := reportTemplate()
	if err != nil {
		return fmt.Errorf("parsing the report's template: %w", err)
	}
	if err := t.Execute(w, page{Report: r, Key: keyRows(r)}); err != nil {
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
	for _, id := range []string{probes.TPS, probes.ServerTPS, probes.LatencyP99, faults, probes.PageTableMaxBackend} {
		for _, row := range r.Rows {
			if row.Metric == id && row.Cand.Main != "n/a" {
				out = append(out, row)
			}
		}
	}
	return out
}
