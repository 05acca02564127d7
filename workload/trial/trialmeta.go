package trial

import "time"

// StepMeta says which step of an experiment a run is.
type StepMeta struct {
	Experiment string `json:"experiment"` // its name
	Factor     string `json:"factor"`     // the setting that is varied: "huge_pages"
	Arm        string `json:"arm"`        // the value in this run: "4kB"
	// Block counts from 1; runs of one block are held against each other. 0 are the
	// identical runs before the first change.
	Block int `json:"block"`
	// Position is the step's place in the experiment, from 1, in the order in which
	// the steps were made.
	Position int `json:"position"`
	// Seen is the value as the sessions of the load read it themselves; for page sizes
	// with the proof.
	Seen string `json:"seen,omitempty"`
	// OutOfOrder is set for a repetition of a failed step at the end.
	OutOfOrder bool `json:"out_of_order,omitempty"`
}

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
