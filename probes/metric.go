package probes

import (
	"strings"

	"pgtlb/probes/perf"
)

// Kind says how a metric's raw value behaves over time.
type Kind string

const (
	// Counter only grows; what is shown is its growth per second.
	Counter Kind = "counter"
	// Gauge is a level; what is shown is the level itself.
	Gauge Kind = "gauge"
	// Ratio is made of two counters over the same interval.
	Ratio Kind = "ratio"
	// Distribution is a histogram of single measurements in the interval.
	Distribution Kind = "histogram"
)

// Better says which direction of a metric is an improvement.
type Better string

const (
	Up      Better = "up"
	Down    Better = "down"
	Neither Better = "neither"
)

// Metric describes one figure once for every place that shows it: the screen,
// comparisons, the report, the glossary and JSON.
type Metric struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Unit   string `json:"unit"` // of the value; a counter is shown per second
	Kind   Kind   `json:"kind"`
	Better Better `json:"better"`
	// Source names the file, view or event that the figure is read from.
	Source string `json:"source"`
	// Scope says what the figure covers, e.g. "system wide". Empty until opened.
	Scope string `json:"scope,omitempty"`
	// Meaning is one sentence for the glossary.
	Meaning string `json:"meaning"`
}

// Percent tells whether differences of this metric are percentage points.
func (m Metric) Percent() bool { return m.Unit == "%" }

// Covers says in one word what a figure covers, from its scope: "load", "server",
// "cgroup", "machine", or "others" for what is not the server's. It is empty where
// the scope is not known, as of an event that was not opened.
func (m Metric) Covers() string {
	switch s := m.Scope; {
	case s == perf.System().String():
		return "machine"
	case strings.HasSuffix(s, "of the load"):
		return "load"
	case strings.HasPrefix(s, "cgroup "):
		return "cgroup"
	case s == "all but the server":
		return "others"
	case strings.HasPrefix(s, "postmaster "), strings.HasSuffix(s, "of the server"), strings.Contains(s, "database"):
		return "server"
	}
	return ""
}
