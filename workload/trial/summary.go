package trial

import "pgtlb/probes"

// Summary is a run, or its first part, in one number per metric.
type Summary struct {
	// Seconds is the measured length from the start of the load.
	Seconds float64
	// Figures are by metric and label; "" is the whole.
	Figures map[probes.Key]Figure
	// Latency is every transaction of the window, by scenario and "" for all.
	Latency map[string]*probes.Histogram
}

// Figure is one metric over a window.
type Figure struct {
	// Value is the one number for comparing: the mean rate per second of a
	// counter, the ratio of the totals of a ratio, the last level of a
	// gauge that grows to its full size (page tables, backends, pools), the mean
	// of other gauges, the percentile over all transactions for latencies.
	Value float64
	// Total is a counter's growth over the window, 0 for the others.
	Total float64
	// Uncovered is how many seconds of the window Total leaves out, because
	// reads were late or failed; 0 where it covers the window, and for others.
	Uncovered float64
	// Start, End and Max are a gauge's levels.
	Start, End, Max float64
	// RunningPct is the smallest share of time a perf counter ran; 0 for others.
	RunningPct float64
	// Missing is the reason why there is no figure.
	Missing string
}

// OK tells whether the figure holds.
func (f Figure) OK() bool { return f.Missing == "" }

// Get returns the whole's figure of a metric.
func (s *Summary) Get(id string) Figure { return s.Of(id, "") }

// Of returns a labelled figure.
func (s *Summary) Of(id, label string) Figure {
	if s != nil {
		if f, ok := s.Figures[probes.Key{ID: id, Label: label}]; ok {
			return f
		}
	}
	return Figure{Missing: "not measured"}
}
