package trial

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"pgtlb/probes"
)

// WriteOpenMetrics writes runs in the OpenMetrics text form, with the time of every
// sample, to be loaded into Prometheus ("promtool tsdb create-blocks-from
// openmetrics") and what else reads it. Figures are the derived ones, so all are
// gauges; units are the base units of that form: bytes, seconds, ratios of 1. What
// is missing has no sample.
func WriteOpenMetrics(w io.Writer, runs []*Run) error {
	families := map[string][]omSample{}
	for _, run := range runs {
		collect(families, run)
	}
	out := bufio.NewWriter(w)
	for _, m := range probes.Catalogue() {
		samples := families[m.ID]
		if len(samples) == 0 {
			continue
		}
		// The samples of one series stand together, in the order of time.
		slices.SortStableFunc(samples, func(a, b omSample) int { return strings.Compare(a.labels, b.labels) })
		n := openMetricsName(m)
		fmt.Fprintf(out, "# TYPE %s gauge\n", n.name)
		if n.unit != "" {
			fmt.Fprintf(out, "# UNIT %s %s\n", n.name, n.unit)
		}
		fmt.Fprintf(out, "# HELP %s %s\n", n.name, omEscape(m.Meaning))
		for i, s := range samples {
			// Two samples of one millisecond, as at a mark, would be one and the same.
			if i+1 < len(samples) && samples[i+1].labels == s.labels && omTime(samples[i+1].at) == omTime(s.at) {
				continue
			}
			fmt.Fprintf(out, "%s{%s} %s %s\n", n.name, s.labels, plain(s.value*n.factor), omTime(s.at))
		}
	}
	fmt.Fprint(out, "# EOF\n")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing OpenMetrics: %w", err)
	}
	return nil
}

type omSample struct {
	labels string
	value  float64
	at     time.Time
}

func collect(families map[string][]omSample, run *Run) {
	add := func(m probes.Metric, label string, v float64, at time.Time) {
		families[m.ID] = append(families[m.ID], omSample{omLabels(run.Meta, label), v, at})
	}
	if run.Meta.ByHand != nil {
		s := run.Meta.ByHand.summary()
		for _, m := range probes.Catalogue() {
			if f, ok := s.Figures[probes.Key{ID: m.ID}]; ok {
				add(m, "", f.Value, run.Meta.Created)
			}
		}
		return
	}
	start := time.Time{}
	for i, f := range Frames(run) {
		if i == 0 {
			start = f.At.Add(-f.T)
		}
		// The wall clock may be set back; measured time cannot.
		at := start.Add(f.T)
		eachValue(&f, func(m probes.Metric, label string, v probes.Value) {
			if v.OK() {
				add(m, label, v.V, at)
			}
		})
	}
}

// omLabels are the labels of a series, sorted by their names.
func omLabels(m Meta, label string) string {
	set := map[string]string{"run": m.Name, "scenario": scenarios(m), "pages": m.Pages, "label": label}
	if m.Step != nil {
		set["experiment"], set["arm"] = m.Step.Experiment, m.Step.Arm
	}
	var parts []string
	for name, value := range set {
		if value != "" {
			parts = append(parts, name+`="`+omEscape(value)+`"`)
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

func omEscape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(probes.Clean(s))
}

// omTime is a time in seconds since 1970, to the millisecond, which is as fine as
// Prometheus keeps it.
func omTime(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }

// omName is a metric's name in that form, its unit, which ends the name, and what a
// value is multiplied with.
type omName struct {
	name, unit string
	factor     float64
}

func openMetricsName(m probes.Metric) omName {
	base, n := m.ID, omName{factor: 1}
	for _, u := range []struct {
		unit, suffix, base string
		factor             float64
	}{
		{"kB", "_kb", "bytes", 1024}, {"bytes", "_bytes", "bytes", 1}, {"ms", "_ms", "seconds", 1e-3},
		{"µs", "_us", "seconds", 1e-6}, {"s", "_s", "seconds", 1}, {"%", "_pct", "ratio", 0.01},
	} {
		if m.Unit == u.unit {
			base, n.unit, n.factor = strings.TrimSuffix(m.ID, u.suffix), u.base, u.factor
		}
	}
	if m.Kind == probes.Counter {
		n.unit = strings.TrimPrefix(n.unit+"_per_second", "_")
	}
	n.name = strings.TrimSuffix("pgtlb_"+base+"_"+n.unit, "_")
	return n
}
