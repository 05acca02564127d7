package probes

import (
	"strings"
	"time"
)

// Sample is what all probes read at one tick, raw, as it is stored.
type Sample struct {
	Seq uint64 `json:"seq"`
	// At is the wall clock at the tick, for people.
	At time.Time `json:"at"`
	// T is the monotonic time of the tick since the sampler's start; intervals
	// are differences of T, never of At and never assumed.
	T       time.Duration `json:"t_ns"`
	Batches []Batch       `json:"batches"`
	// Marks are events since the previous sample, e.g. that a load began.
	Marks []Mark `json:"marks,omitempty"`
	// OwnCPU is pgtlb's own CPU time since its start, the load driver's included.
	OwnCPU time.Duration `json:"own_cpu_ns"`
}

// Batch is the outcome of one probe's read.
type Batch struct {
	Probe string `json:"probe"`
	// Offset is when the read began, after the sample's T; Took is how long it
	// lasted. Rates use T+Offset, so a late probe does not bend its own rates.
	Offset   time.Duration `json:"off_ns"`
	Took     time.Duration `json:"took_ns"`
	Readings []Reading     `json:"r,omitempty"`
	Backends []Backend     `json:"backends,omitempty"`
	Misses   []Miss        `json:"misses,omitempty"`
}

// Reading is one raw value of one metric.
type Reading struct {
	ID string `json:"id"`
	// Label tells instances of a metric apart: the scenario of a load, the page
	// size of a pool ("2048kB"). Empty for the only one or the whole.
	Label string  `json:"l,omitempty"`
	Value float64 `json:"v"`
	// Parts holds a perf event's counts, one per CPU or task, in a fixed order;
	// then Value is unused. Scaling is the Deriver's work.
	Parts []Part `json:"p,omitempty"`
	// Group names the perf counter group; both halves of a ratio have the same.
	Group string `json:"g,omitempty"`
	// Hist holds the measurements of a Distribution since the previous sample.
	Hist *Histogram `json:"h,omitempty"`
}

// Part is one raw read of one perf event on one CPU or task: value, time
// enabled and time running, the times in nanoseconds.
type Part [3]uint64

// Miss is a metric that could not be read, with the reason and what would help.
type Miss struct {
	ID string `json:"metric"`
	// State is in which way it is missing; empty where that is not known, as in
	// recordings from before there were states.
	State  State  `json:"state,omitempty"`
	Reason string `json:"reason"`
	Remedy string `json:"remedy,omitempty"`
}

// MarkKind names an event in a recording.
type MarkKind string

const (
	// LoadStarted: every client of the load is connected and sends its first
	// transaction now. The sample that carries it is taken at that moment.
	LoadStarted MarkKind = "load_started"
	// LoadWarmed: the load's warm-up is over and its measured part begins.
	LoadWarmed MarkKind = "load_warmed"
	// LoadStopped: the last client of the load has stopped.
	LoadStopped MarkKind = "load_stopped"
)

// Mark is an event between two samples.
type Mark struct {
	Kind  MarkKind `json:"kind"`
	Label string   `json:"label,omitempty"` // the scenario
}

// Backend is one process of the server as read, raw.
type Backend struct {
	Pid int `json:"pid"` // in pgtlb's pid namespace
	// StartTicks is field 22 of /proc/PID/stat; with Pid it identifies the
	// process, so a reused pid is not taken for the old one.
	StartTicks uint64 `json:"start"`
	// Role is PostgreSQL's backend_type in short: client, checkpointer, …
	Role     string `json:"role"`
	State    string `json:"state,omitempty"`
	Database string `json:"db,omitempty"`
	User     string `json:"user,omitempty"`
	App      string `json:"app,omitempty"`
	Wait     string `json:"wait,omitempty"`  // "IO:DataFileRead", empty when not waiting
	Query    string `json:"query,omitempty"` // ends with CutMark where it is not whole
	// QuerySecret tells that a query which is too long to be kept whole speaks of
	// secrets, maybe behind what is kept of it. A recorder asks; no run holds it.
	QuerySecret bool      `json:"-"`
	Started     time.Time `json:"started,omitzero"`
	// Own marks pgtlb's own watching sessions; sums leave them out.
	Own bool `json:"own,omitempty"`
	// Mem is nil where /proc/PID/status could not be read, Use where
	// /proc/PID/stat could not.
	Mem *BackendMem `json:"mem,omitempty"`
	Use *BackendUse `json:"use,omitempty"`
}

// Counts tells whether sums over the server hold this process: pgtlb's own
// sessions are not what the server does by itself, and RoleOther is not of it.
func (b *Backend) Counts() bool { return !b.Own && b.Role != RoleOther }

// OfLoad tells whether this is a session of a load of pgtlb's.
func (b *Backend) OfLoad() bool { return !b.Own && strings.HasPrefix(b.App, AppName+" ") }

// BackendMem is a process's memory in kB, from /proc/PID/status.
type BackendMem struct {
	PageTables uint64 `json:"pte"`     // VmPTE
	Hugetlb    uint64 `json:"hugetlb"` // HugetlbPages
	Shmem      uint64 `json:"shmem"`   // RssShmem
	Private    uint64 `json:"anon"`    // RssAnon
	// NoHugetlb: the kernel prints no HugetlbPages, being built without
	// CONFIG_HUGETLBFS, so Hugetlb is no figure.
	NoHugetlb bool `json:"no_hugetlb,omitempty"`
}

// BackendUse holds a process's counters, from /proc/PID/stat.
type BackendUse struct {
	MinorFaults uint64 `json:"minflt"`
	MajorFaults uint64 `json:"majflt"`
	// User and Kernel are CPU time in clock ticks of 1/100 s.
	User   uint64 `json:"utime"`
	Kernel uint64 `json:"stime"`
}
