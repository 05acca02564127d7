package trial

import (
	"fmt"
	"math"
	"time"

	"pgtlb/probes"
	"pgtlb/workload/verdict"
)

// Background is what else went on beside a run, looked at every few seconds. What
// the samples hold already (CPU time, run queue, pressure, memory) is not in it.
type Background struct {
	At time.Time `json:"at"`
	// T is the time since the sampler's start, as in a sample.
	T time.Duration `json:"t_ns"`
	// Sessions are the server's client sessions that are neither the load's nor
	// pgtlb's, Active those of them that run a statement; nil where not known.
	Sessions *int `json:"sessions,omitempty"`
	Active   *int `json:"active,omitempty"`
	// Top are the processes that used most CPU since the look before, other than the
	// server's and pgtlb's; at most five.
	Top []Busy `json:"top,omitempty"`
	// Command is the outcome of the user's command; nil where there is none.
	Command *CommandOutcome `json:"command,omitempty"`
	Missing string          `json:"missing,omitempty"` // why something is not there
}

// Busy is a process that used CPU time.
type Busy struct {
	Pid    int     `json:"pid"`
	Name   string  `json:"name"`
	CPUPct float64 `json:"cpu_pct"` // of one CPU
}

// CommandOutcome is what a command of the user's did.
type CommandOutcome struct {
	TookMS float64  `json:"took_ms"`
	Exit   int      `json:"exit"`
	Lines  int      `json:"lines"`           // of its output
	First  []string `json:"first,omitempty"` // the first few of them
	Error  string   `json:"error,omitempty"` // why there is no exit code
}

// BackgroundRow is what else went on beside the runs of two arms: medians of the
// runs' means, null where it was not looked at.
type BackgroundRow struct {
	What     string   `json:"what"`
	Unit     string   `json:"unit"`
	CandName string   `json:"cand_name"`
	Base     *float64 `json:"base"`
	Cand     *float64 `json:"cand"`
}

// beside is one thing that is looked at beside each run. limit is how far the arms
// may be apart before that is worth a warning; 0 for what the load itself moves.
type beside struct {
	what, unit string
	limit      float64
	of         func(*Run, Arm) (float64, bool)
}

func besides() []beside {
	return []beside{
		{"CPU time idle", "%", 0, ofAllCPUs(probes.CPUIdle)},
		{"CPU time stolen by the hypervisor", "%", 1, ofAllCPUs(probes.CPUSteal)},
		{"tasks that run or wait for a processor", "", 0, func(_ *Run, a Arm) (float64, bool) {
			f := a.Summary.Get(probes.RunQueue)
			return f.Value, f.OK()
		}},
		{"other sessions", "", 1, looked(func(b Background) (float64, bool) { return count(b.Sessions) })},
		{"other sessions that run a statement", "", 1, looked(func(b Background) (float64, bool) { return count(b.Active) })},
		{"CPU of the busiest other processes", "% of one CPU", 10, looked(busiestPct)},
		{"duration of the command beside the runs", "ms", 0, looked(func(b Background) (float64, bool) {
			if b.Command == nil {
				return 0, false
			}
			return b.Command.TookMS, true
		})},
	}
}

// ofAllCPUs is a kind of CPU time in percent of all CPUs' time.
func ofAllCPUs(id string) func(*Run, Arm) (float64, bool) {
	return func(_ *Run, a Arm) (float64, bool) {
		f := a.Summary.Get(id)
		return 100 * f.Value / float64(max(1, a.Meta.Host.CPUs)), f.OK() && a.Meta.Host.CPUs > 0
	}
}

// busiestPct is what the busiest other processes used, in percent of one CPU.
func busiestPct(b Background) (float64, bool) {
	sum := 0.0
	for _, p := range b.Top {
		sum += p.CPUPct
	}
	return sum, len(b.Top) > 0
}

func count(n *int) (float64, bool) {
	if n == nil {
		return 0, false
	}
	return float64(*n), true
}

// looked is the mean of what was seen beside a run.
func looked(at func(Background) (float64, bool)) func(*Run, Arm) (float64, bool) {
	return func(r *Run, _ Arm) (float64, bool) {
		sum, n := 0.0, 0
		for _, b := range r.Background {
			if v, ok := at(b); ok {
				sum, n = sum+v, n+1
			}
		}
		return sum / float64(max(1, n)), n > 0
	}
}

// backgroundOf holds what went on beside two arms against each other; what changed
// by more than it may comes as warnings.
func backgroundOf(base, cand *armSet) (rows []BackgroundRow, changed []string) {
	for _, b := range besides() {
		row := BackgroundRow{What: b.what, Unit: b.unit, CandName: cand.name, Base: base.beside(b.of), Cand: cand.beside(b.of)}
		if row.Base == nil && row.Cand == nil {
			continue
		}
		rows = append(rows, row)
		if b.limit > 0 && row.Base != nil && row.Cand != nil && math.Abs(*row.Cand-*row.Base) >= b.limit {
			changed = append(changed, fmt.Sprintf("the background changed between %s and %s: %s %s against %s",
				base.name, cand.name, b.what, row.text(row.Base), row.text(row.Cand)))
		}
	}
	return rows, changed
}

// beside is the median over the runs of what went on beside each; nil where nobody
// looked.
func (m *armSet) beside(of func(*Run, Arm) (float64, bool)) *float64 {
	var values []float64
	for i := range m.runs {
		if v, ok := of(m.runs[i], m.arms[i]); ok {
			values = append(values, v)
		}
	}
	return finite(verdict.Center(values).Center)
}

// BaseText and CandText write the row's figures.
func (r BackgroundRow) BaseText() string { return r.text(r.Base) }

// CandText is BaseText of the candidate.
func (r BackgroundRow) CandText() string { return r.text(r.Cand) }

// text writes one of the row's figures.
func (r BackgroundRow) text(v *float64) string {
	if v == nil {
		return "n/a"
	}
	if r.Unit == "" {
		return probes.Number(*v)
	}
	return probes.Number(*v) + " " + r.Unit
}
