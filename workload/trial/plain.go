package trial

import (
	"fmt"
	"strings"

	"pgtlb/probes"
)

// column is one figure of a plain line.
type column struct {
	title string
	width int
	id    string
	scale float64 // shown = value / scale
	prec  int
}

// plainColumns chooses the columns: cycles where the processor counts them,
// else CPU time; the load's throughput where there is one, else the server's.
func plainColumns(st *State) []column {
	tps := column{"tps", 9, probes.TPS, 1, 1}
	if st.Mode == Watching {
		tps = column{"server tps", 10, probes.ServerTPS, 1, 1}
	}
	cols := []column{
		tps,
		{"p50 ms", 8, probes.LatencyP50, 1, 3},
		{"p95 ms", 8, probes.LatencyP95, 1, 3},
		{"p99 ms", 8, probes.LatencyP99, 1, 3},
		{"faults/s", 9, probes.PageFaults, 1, 0},
	}
	if f := st.Now(); f != nil && f.Get(probes.DTLBMissPct).OK() {
		cols = append(cols, column{"dTLB miss %", 11, probes.DTLBMissPct, 1, 2})
	}
	if f := st.Now(); f != nil && f.Get(probes.CyclesUser).OK() {
		cols = append(cols, column{"Gcyc/s user", 11, probes.CyclesUser, 1e9, 2}, column{"kernel", 6, probes.CyclesKernel, 1e9, 2})
	} else {
		cols = append(cols, column{"CPU s/s user", 12, probes.CPUUser, 1, 2}, column{"kernel", 6, probes.CPUKernel, 1, 2})
	}
	return append(cols,
		column{"PageTables MB", 13, probes.PageTables, 1024, 1},
		column{"largest kB", 10, probes.PageTableMaxBackend, 1, 0},
		column{"huge MB", 8, probes.HugetlbUsed, 1024, 0})
}

// PlainHeader is the head of the lines that PlainLine makes from this state on.
func PlainHeader(st *State) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%8s", "time")
	for _, c := range plainColumns(st) {
		fmt.Fprintf(&b, "  %*s", c.width, c.title)
	}
	return b.String()
}

// PlainLine is the newest sample that is long enough for rates in one line; what
// is missing is a dash.
func PlainLine(st *State) string {
	f := st.Now()
	if f == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString(f.At.Format("15:04:05"))
	for _, c := range plainColumns(st) {
		v := f.Get(c.id)
		if !v.OK() {
			fmt.Fprintf(&b, "  %*s", c.width, "-")
			continue
		}
		fmt.Fprintf(&b, "  %*.*f", c.width, c.prec, v.V/c.scale)
	}
	return b.String()
}
