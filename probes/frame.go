package probes

import (
	"slices"
	"time"
)

// Key names one value of a frame.
type Key struct{ ID, Label string }

// Value is one derived figure.
type Value struct {
	// V is the growth per second for a counter, the level for a gauge, the
	// ratio in percent for a ratio.
	V float64
	// Delta is a counter's growth over the time that the value covers.
	Delta float64
	// Over and Under are what a ratio is made of: V is Over / Under. Ratios of a
	// longer time are those of the sums. Both are 0 for what is no ratio.
	Over, Under float64
	// Since and Elapsed are the time that a counter, or what is made of
	// counters, covers: from one read of its probe, on the clock of Frame.T, to
	// the next that held it. After a late read that is more than the frame's own
	// interval. Both are 0 for levels.
	Since, Elapsed time.Duration
	// RunningPct is the share of the interval, in percent, in which a perf
	// counter really ran; 0 for what perf does not count.
	RunningPct float64
	// Missing is the reason why there is no figure; empty when V holds.
	Missing string
}

// OK tells whether the value holds.
func (v Value) OK() bool { return v.Missing == "" }

// Frame is what two samples say about the interval between them.
type Frame struct {
	Seq     uint64
	At      time.Time
	T       time.Duration // monotonic, of the later sample
	Elapsed time.Duration // measured between the two samples
	// TooShort marks the rest of an interval that a sample at a mark has cut:
	// less than a quarter of the usual time, in which a rate says nothing.
	TooShort bool
	Values   map[Key]Value
	// Hists are the latencies of the interval by scenario.
	Hists    map[string]*Histogram
	Backends []BackendRow
	Marks    []Mark
	Misses   []Miss
	// ProbeTime is for how long at least one probe was being read: they are read
	// side by side, and some wait for one another.
	ProbeTime time.Duration
	// OwnCPUPct is pgtlb's own CPU time in percent of one CPU, with the load driver.
	OwnCPUPct float64
}

// Get returns the unlabelled value of a metric: the whole, not one instance.
func (f *Frame) Get(id string) Value { return f.Of(id, "") }

// Of returns a labelled value of a metric.
func (f *Frame) Of(id, label string) Value {
	if v, ok := f.Values[Key{id, label}]; ok {
		return v
	}
	return Value{Missing: f.why(id)}
}

func (f *Frame) why(id string) string {
	for _, m := range f.Misses {
		if m.ID == id {
			return m.Text()
		}
	}
	return "not measured"
}

// Labels lists the instances of a metric in this frame, sorted; the whole is
// not among them.
func (f *Frame) Labels(id string) []string {
	var out []string
	for k := range f.Values {
		if k.ID == id && k.Label != "" {
			out = append(out, k.Label)
		}
	}
	slices.Sort(out)
	return out
}

// Marked tells whether the frame's later sample carries a mark of this kind.
func (f *Frame) Marked(kind MarkKind) bool {
	for _, m := range f.Marks {
		if m.Kind == kind {
			return true
		}
	}
	return false
}

// BackendRow is a backend with its rates over the interval.
type BackendRow struct {
	Backend
	// Rates is nil for a process that was not there in the previous sample or
	// whose counters could not be read.
	Rates *BackendRates
}

// BackendRates are a backend's changes per second.
type BackendRates struct {
	PageTables  float64 // kB per second, negative when it shrinks
	MinorFaults float64
	MajorFaults float64
	UserPct     float64 // percent of one CPU
	KernelPct   float64
}
