package calibrate

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"pgtlb/probes"
)

// table is one part as rows of text.
type table struct {
	title string
	rows  [][]string // the first are the headings
}

// WriteText writes the verdict, what was measured on, and every round.
func WriteText(w io.Writer, r *Report) error {
	var t strings.Builder
	line := func(format string, args ...any) { t.WriteString(probes.Clean(fmt.Sprintf(format, args...)) + "\n") }
	for _, s := range r.Verdict {
		line("%s", s)
	}
	for _, s := range r.Warnings {
		line("warning: %s", s)
	}
	for _, m := range r.Unavailable {
		s := m.ID + " unavailable: " + m.Text()
		if m.Remedy != "" {
			s += "; " + m.Remedy
		}
		line("%s", s)
	}
	line("")
	m := r.Machine
	line("machine: %s, %s, %s, %s %s", m.Hostname, m.CPUModel, probes.Plural(m.CPUs, "CPU"), m.Kernel, m.Arch)
	line("server: PostgreSQL %s, private, Unix socket, %s pages; point-select over %s rows", r.Server, r.Pages, probes.Number(float64(r.Rows)))
	if r.Pgbench != "" {
		line("pgbench: %s", r.Pgbench)
	}
	line("rounds: %d of %d s for each run, in ABBA order", r.Rounds, r.Seconds)
	for _, tab := range r.tables() {
		line("")
		line("%s", tab.title)
		for _, l := range aligned(tab.rows) {
			line("%s", l)
		}
	}
	line("")
	line("CPU is the client's, in us per transaction: pgtlb's is all of its process while the clients run, Go's runtime included;")
	line("pgbench's is its process's less that of a run with -t 1, which is what starting and connecting cost. Steal and other")
	line("(neither pgtlb, nor the server, nor pgbench) are of the time of all CPUs.")
	if _, err := io.WriteString(w, t.String()); err != nil {
		return fmt.Errorf("writing the calibration: %w", err)
	}
	return nil
}

// tables are the rounds of each part with their median, least and most.
func (r *Report) tables() []table {
	var out []table
	for _, a := range r.Driver {
		t := table{title: "driver against pgbench, " + a.Setting.String(), rows: [][]string{
			{"round", "first", "pgtlb TPS", "CPU", "pgbench TPS", "CPU", "TPS ratio", "CPU ratio", "load", "steal", "other"},
		}}
		for i, p := range a.Pairs {
			first := "pgbench"
			if p.OursFirst {
				first = "pgtlb"
			}
			t.rows = append(t.rows, append([]string{strconv.Itoa(i + 1), first, tps(&p.Ours.TPS), decimals(p.Ours.CPU, 2),
				tps(&p.Pgbench.TPS), decimals(p.Pgbench.CPU, 2), decimals(p.tpsRatio(), 3), decimals(p.cpuRatio(), 3)}, p.Around.cells()...))
		}
		t.summary([]column{{}, {a.Ours.TPS, tps}, {a.Ours.CPU, two}, {a.Pgbench.TPS, tps}, {a.Pgbench.CPU, two}, {a.TPSRatio, three}, {a.CPURatio, three}})
		out = append(out, t)
	}
	if a := r.AA; a != nil {
		t := table{title: "identical runs, " + a.Setting.String(), rows: [][]string{{"round", "TPS", "CPU", "load", "steal", "other"}}}
		for i, x := range a.Runs {
			t.rows = append(t.rows, append([]string{strconv.Itoa(i + 1), tps(&x.TPS), decimals(x.CPU, 2)}, x.Around.cells()...))
		}
		t.summary([]column{{a.TPS, tps}, {a.CPU, two}})
		if a.SpreadPct != nil && a.CVPct != nil {
			t.title += fmt.Sprintf(": spread %s %% (most less least over median), coefficient of variation %s %%", probes.Number(*a.SpreadPct), probes.Number(*a.CVPct))
		}
		out = append(out, t)
	}
	if w := r.Probes; w != nil {
		t := table{title: "with and without the probes, " + w.Setting.String(), rows: [][]string{
			{"round", "first", "watched TPS", "samples", "unwatched TPS", "cost %", "own CPU %", "load", "steal", "other"},
		}}
		for i, p := range w.Pairs {
			first := "unwatched"
			if p.WatchedFirst {
				first = "watched"
			}
			t.rows = append(t.rows, append([]string{strconv.Itoa(i + 1), first, tps(&p.Watched.TPS), strconv.Itoa(p.Watched.Samples),
				tps(&p.Unwatched.TPS), two(p.costPct()), two(p.ownCPU())}, p.Around.cells()...))
		}
		t.summary([]column{{}, {w.Watched.TPS, tps}, {}, {w.Unwatched.TPS, tps}, {w.CostPct, two}, {w.OwnCPU, two}})
		out = append(out, t)
	}
	return out
}

// column is a spread and how to write it; one without a spread stays empty.
type column struct {
	spread *Spread
	write  func(*float64) string
}

// summary adds the rows median, least and most.
func (t *table) summary(columns []column) {
	for _, row := range []struct {
		name string
		of   func(*Spread) *float64
	}{
		{"median", func(s *Spread) *float64 { return &s.Median }},
		{"least", func(s *Spread) *float64 { return &s.Least }},
		{"most", func(s *Spread) *float64 { return &s.Most }},
	} {
		cells := []string{row.name}
		for _, c := range columns {
			text := ""
			if c.spread != nil {
				text = c.write(row.of(c.spread))
			}
			cells = append(cells, text)
		}
		t.rows = append(t.rows, cells)
	}
}

func (a Around) cells() []string {
	return []string{decimals(a.LoadAvg, 2), share(a.Steal), share(a.Other)}
}

func tps(v *float64) string   { return decimals(v, 0) }
func two(v *float64) string   { return decimals(v, 2) }
func three(v *float64) string { return decimals(v, 3) }

// decimals writes a number with that many decimals, whole ones with thousands
// separated; n/a for none.
func decimals(v *float64, n int) string {
	switch {
	case v == nil:
		return "n/a"
	case n == 0:
		return probes.Number(*v)
	}
	return strings.Replace(strconv.FormatFloat(*v, 'f', n, 64), "-", probes.Minus, 1)
}

func share(v *float64) string {
	if v == nil {
		return "n/a"
	}
	return percent(*v) + " %"
}

// aligned writes rows with columns to the right.
func aligned(rows [][]string) []string {
	var width []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	out := make([]string, len(rows))
	for i, row := range rows {
		var b strings.Builder
		for j, cell := range row {
			b.WriteString(strings.Repeat(" ", width[j]-utf8.RuneCountInString(cell)+2))
			b.WriteString(cell)
		}
		out[i] = strings.TrimRight(b.String(), " ")
	}
	return out
}
