package perf

// Count is one raw read of one event on one CPU, or on one task with all tasks that inherited the event from it.
type Count struct {
	Value   uint64 `json:"value"`   // events seen while the event ran, not scaled
	Enabled uint64 `json:"enabled"` // ns the event was enabled; for a task only time on a CPU
	Running uint64 `json:"running"` // ns the event occupied a counter, at most Enabled
}

// Reading is one raw read of one event.
type Reading struct {
	ID    string  `json:"id"`
	Group string  `json:"group"`         // events of the same group ran at the same moments
	Per   []Count `json:"per"`           // one per CPU (system wide) or per attached task (tree)
	CPU   []int   `json:"cpu,omitempty"` // CPU number of each entry of Per; empty for a tree
}

// Scale returns how many events happened between two raw reads of the same event. Each part is extrapolated from the
// time it ran to the time it was enabled, then the parts are summed. runningShare is the time run divided by the time
// enabled (0..1); below 0.9 it belongs beside the figure. counted is false where there is no figure: no part that was
// enabled ever ran, a counter or a time went backwards, or the reads do not belong together (different lengths). A
// part that was enabled and never ran is not in delta and lowers runningShare. A task that was never on a CPU
// between the reads has no enabled time and did cause no events: that is a counted 0.
func Scale(prev, cur []Count) (delta, runningShare float64, counted bool) {
	if len(prev) != len(cur) || len(cur) == 0 {
		return 0, 0, false
	}
	var enabled, running float64
	for i, c := range cur {
		p := prev[i]
		if c.Value < p.Value || c.Enabled < p.Enabled || c.Running < p.Running {
			return 0, 0, false
		}
		dv, de, dr := float64(c.Value-p.Value), float64(c.Enabled-p.Enabled), float64(c.Running-p.Running)
		enabled += de
		if dr == 0 {
			continue
		}
		factor := 1.0
		if de > dr {
			factor = de / dr
		}
		running += min(dr, de)
		delta += dv * factor
	}
	switch {
	case enabled == 0:
		return delta, 1, true
	case running == 0:
		return 0, 0, false
	}
	return delta, running / enabled, true
}
