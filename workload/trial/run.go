package trial

import (
	"strings"
	"time"

	"pgtlb/probes"
	"pgtlb/workload"
)

// Schema is the latest version of the run file format. All up to that are read: 1
// had every sample in full, 2 has most as what has changed since the one before, and
// tags, background and totals in lines of their own, 3 has the texts of queries too.
// A run without them is written as plainSchema.
const (
	Schema      = 3
	plainSchema = 2
)

// schemaOf is the version in which a run is written. One with query texts is refused by
// a program that would pass them on unasked.
func schemaOf(m Meta) int {
	if m.Queries {
		return Schema
	}
	return plainSchema
}

// Meta is the header of a run: everything that must be equal, or known to
// differ, before two runs may be compared.
type Meta struct {
	Schema  int       `json:"schema"`
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	Program string    `json:"program"` // pgtlb's version
	// Kind is "load" for a run with a load of ours, "watch" without.
	Kind   string            `json:"kind"`
	Host   probes.Host       `json:"host"`
	Server probes.ServerInfo `json:"server"`
	// Lab is set on pgtlb's own throw-away server.
	Lab     bool       `json:"lab"`
	Loads   []LoadMeta `json:"loads,omitempty"`
	Dataset *Dataset   `json:"dataset,omitempty"`
	// Pages is the proved page mode, "4kB", "2MB", "1GB"; empty where unknown.
	Pages    string        `json:"pages,omitempty"`
	Interval time.Duration `json:"interval_ns"`
	// Metrics are those that were measured, with the source and scope in use.
	Metrics []probes.Metric `json:"metrics"`
	// Unavailable are those that could not be, with the reason.
	Unavailable []probes.Miss `json:"unavailable,omitempty"`
	// Counting is whose kernel events were counted; empty where none were, and in
	// runs from before it was kept.
	Counting probes.CountingScope `json:"counting,omitzero"`
	// Step is set for a run that an experiment made.
	Step *StepMeta `json:"step,omitempty"`
	// ByHand is set for a run that was measured elsewhere and entered by hand: it
	// has these figures and no samples.
	ByHand *ByHand `json:"by_hand,omitempty"`
	// Queries tells that the samples hold the texts of queries: somebody asked for
	// that. Those that speak of passwords are without their constants.
	Queries bool `json:"queries,omitempty"`
	// Command repeats the run.
	Command string `json:"command,omitempty"`
	Note    string `json:"note,omitempty"`
}

// LoadMeta describes one load of a run.
type LoadMeta struct {
	Scenario string           `json:"scenario"`
	Version  int              `json:"version"`
	Params   map[string]int64 `json:"params,omitempty"`
	Clients  int              `json:"clients"`
	Seed     int64            `json:"seed"`
	// DurationS is the length asked for in seconds; 0 means until stopped.
	DurationS float64 `json:"duration_s,omitempty"`
	// Transactions is how many each client was to begin; 0 is no limit.
	Transactions int64 `json:"transactions,omitempty"`
	// Rate is transactions per second asked for; 0 is as many as possible.
	Rate          float64 `json:"rate,omitempty"`
	LatencyLimitS float64 `json:"latency_limit_s,omitempty"`
	Threads       int     `json:"threads,omitempty"` // 0 is pgtlb's choice
	Mode          string  `json:"mode,omitempty"`    // protocol: "simple", "extended", "prepared"
	// Scripts are the names, weights and contents (a digest) of what was run.
	Scripts []ScriptMeta `json:"scripts,omitempty"`
	// WarmUp is how long the load worked before it was measured: "auto", "5s".
	WarmUp string `json:"warm_up,omitempty"`
	// Data is the fingerprint of what the scenario reads.
	Data string `json:"data,omitempty"`
}

// ScriptMeta names a script of a load.
type ScriptMeta struct {
	Name   string `json:"name"`
	Weight int    `json:"weight"`
	Digest string `json:"digest"` // of its text: SHA-256, the first 16 hexadecimal digits
}

// Dataset is the size of the data that the load works on.
type Dataset struct {
	Rows             int64  `json:"rows"`
	TableBytes       int64  `json:"table_bytes"`
	IndexBytes       int64  `json:"index_bytes"`
	Seed             int64  `json:"seed"`
	Fingerprint      string `json:"fingerprint,omitempty"`
	FitsSharedBuffer bool   `json:"fits_shared_buffers"`
}

// Unkept stands for the run of a load that was too short for one to be kept.
func Unkept(l workload.Load) *Run {
	r := &Run{Meta: Meta{Schema: plainSchema, Kind: "load"}}
	if m, err := loadMeta(&l); err == nil {
		r.Meta.Loads = []LoadMeta{m}
	}
	return r
}

// End is the footer of a run.
type End struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason"` // "finished", "stopped by key", "interrupted", "load failed: …"
	// Note says what else happened, e.g. how many samples could not be written.
	Note string `json:"note,omitempty"`
}

// loadFailed tells whether the load did not come to its end.
func (e *End) loadFailed() bool { return strings.HasPrefix(e.Reason, "load failed") }

// Run is a recorded run as read back.
type Run struct {
	Meta    Meta
	Samples []probes.Sample
	// Background is in the order of time; only experiments look at it.
	Background []Background
	// End is nil for a run whose recording was interrupted.
	End *End
	// Tags are a person's words for the run, sorted.
	Tags []string
	// Warnings say what the reader had to leave out, e.g. a line cut in the middle.
	Warnings []string
	// cutting is set for a recording that was cut as it was read, and has no samples.
	cutting *cutting
	// summary is set for a piece of a recording, and stands for its samples.
	summary *Summary
}

// RunInfo is a run as a list shows it.
type RunInfo struct {
	Name     string    `json:"name"`
	Path     string    `json:"path"`
	Created  time.Time `json:"created"`
	Scenario string    `json:"scenario,omitempty"` // "point-select+join-aggregate"
	Pages    string    `json:"pages,omitempty"`
	Server   string    `json:"server"`
	Seconds  float64   `json:"seconds"`
	TPS      float64   `json:"tps,omitempty"` // 0 where there was no load
	Complete bool      `json:"complete"`
	// LoadFailed is set where the load did not come to its end.
	LoadFailed bool `json:"load_failed,omitempty"`
	// Recorded is the name under which it was recorded, where that is another one.
	Recorded string `json:"recorded_as,omitempty"`
	// Recording is set while a pgtlb writes to it.
	Recording bool      `json:"recording,omitempty"`
	Bytes     int64     `json:"bytes"`
	Baseline  bool      `json:"baseline,omitempty"`
	Tags      []string  `json:"tags,omitempty"`
	Step      *StepMeta `json:"step,omitempty"`
	ByHand    bool      `json:"by_hand,omitempty"`
	Queries   bool      `json:"queries,omitempty"` // it holds the texts of queries
	Problem   string    `json:"problem,omitempty"` // why it cannot be read
}
