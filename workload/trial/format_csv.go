package trial

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"pgtlb/probes"
)

// CSVColumns are those of WriteCSV, each with its meaning.
func CSVColumns() [][2]string {
	return [][2]string{
		{"run", "name of the run"},
		{"experiment", "experiment that made it, with factor, arm and block; empty where none did"},
		{"factor", ""},
		{"arm", ""},
		{"block", ""},
		{"sample", "number of the sample"},
		{"time", "wall clock of the sample, RFC 3339"},
		{"t_s", "seconds since the run's first sample, measured"},
		{"in_load", "1 while the load was measured, else 0"},
		{"metric", "id of the metric"},
		{"label", "which one, where there are several: scenario, page size"},
		{"unit", "unit of value"},
		{"value", "growth per second of a counter, level, or ratio; empty where it is missing"},
		{"growth", "growth of a counter since its last read"},
		{"covers_s", "seconds that growth covers"},
		{"running_pct", "share of the time that a perf counter ran"},
		{"missing", "why there is no value"},
	}
}

// WriteCSV writes runs in long form, one row for each sample and metric, to be read
// by R, Python or a spreadsheet. A run that was entered by hand has one row for each
// metric, without a sample.
func WriteCSV(w io.Writer, runs []*Run) error {
	out := csv.NewWriter(w)
	var head []string
	for _, c := range CSVColumns() {
		head = append(head, c[0])
	}
	_ = out.Write(head) // errors stay with the writer until the end
	for _, run := range runs {
		writeCSVRun(out, run)
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("writing CSV: %w", err)
	}
	return nil
}

func writeCSVRun(out *csv.Writer, run *Run) {
	start := csvStart(run.Meta)
	if run.Meta.ByHand != nil {
		s := run.Meta.ByHand.summary()
		for _, m := range probes.Catalogue() {
			if f, ok := s.Figures[probes.Key{ID: m.ID}]; ok {
				growth, covers := "", ""
				if m.Kind == probes.Counter {
					growth, covers = plain(f.Total), plain(run.Meta.ByHand.CounterWindowS)
				}
				_ = out.Write(slices.Concat(start, []string{"", run.Meta.Created.Format(timeStamp), "", "1", m.ID, "", rateUnit(m),
					plain(f.Value), growth, covers, "", ""}))
			}
		}
		return
	}
	frames := Frames(run)
	from, to, _ := LoadWindow(frames)
	for i, f := range frames {
		in := "0"
		if i >= from && i < to {
			in = "1"
		}
		at := slices.Concat(start, []string{strconv.FormatUint(f.Seq, 10), f.At.Format(timeStamp), plain((f.T - frames[0].T).Seconds()), in})
		eachValue(&f, func(m probes.Metric, label string, v probes.Value) {
			row := slices.Concat(at, []string{m.ID, cleanCell(label), rateUnit(m), "", "", "", "", probes.Clean(v.Missing)})
			n := len(at)
			if v.OK() {
				row[n+3] = plain(v.V)
				if m.Kind == probes.Counter && v.Elapsed > 0 {
					row[n+4], row[n+5] = plain(v.Delta), plain(v.Elapsed.Seconds())
				}
				if v.RunningPct > 0 {
					row[n+6] = plain(v.RunningPct)
				}
			}
			_ = out.Write(row)
		})
	}
}

// csvStart are the columns that are the same for all of a run.
func csvStart(m Meta) []string {
	if m.Step == nil {
		return []string{cleanCell(m.Name), "", "", "", ""}
	}
	return []string{cleanCell(m.Name), cleanCell(m.Step.Experiment), cleanCell(m.Step.Factor), cleanCell(m.Step.Arm), strconv.Itoa(m.Step.Block)}
}

// cleanCell is a text that no spreadsheet takes for a formula.
func cleanCell(s string) string {
	s = probes.Clean(s)
	if strings.ContainsAny(s[:min(1, len(s))], "=+-@") {
		return "'" + s
	}
	return s
}

const timeStamp = "2006-01-02T15:04:05.000000Z07:00"

// plain writes a number so that every program reads it.
func plain(v float64) string {
	if a := math.Abs(v); a < 1e21 && (a >= 1e-6 || v == 0) {
		return strconv.FormatFloat(v, 'f', -1, 64) // an exponent puts people off
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// eachValue visits the values of a frame in the order of the catalogue, then of the
// labels, and then what the probes could not read at all.
func eachValue(f *probes.Frame, visit func(m probes.Metric, label string, v probes.Value)) {
	labels := map[string][]string{}
	for k := range f.Values {
		labels[k.ID] = append(labels[k.ID], k.Label)
	}
	for _, m := range probes.Catalogue() {
		of := labels[m.ID]
		slices.Sort(of)
		for _, l := range of {
			visit(m, l, f.Values[probes.Key{ID: m.ID, Label: l}])
		}
		if len(of) > 0 {
			continue
		}
		if i := slices.IndexFunc(f.Misses, func(miss probes.Miss) bool { return miss.ID == m.ID }); i >= 0 {
			visit(m, "", probes.Value{Missing: f.Misses[i].Reason})
		}
	}
}
