package trial

import (
	"time"

	"pgtlb/probes"
)

// Mode says what kind of session the screen shows.
type Mode string

const (
	Watching  Mode = "watch"
	InLab     Mode = "lab"
	Replaying Mode = "replay"
)

// Phase is where the session stands.
type Phase string

const (
	Preparing Phase = "preparing" // lab: server and data are being made
	Ready     Phase = "ready"
	Changing  Phase = "changing" // lab: restarting with other pages
	Failed    Phase = "failed"   // Err and Log say why; only quit is left
	Lost      Phase = "lost"     // the server ended by itself; what was measured can still be looked at
	Stopping  Phase = "stopping"
)

// State is everything a screen shows. It is immutable: the session publishes a
// new one for every change, and slices in it are never written again.
type State struct {
	Seq    uint64
	At     time.Time
	Mode   Mode
	Phase  Phase
	Steps  []Step // of Preparing or Changing, in order
	Err    string // of Failed: one sentence
	Log    []string
	Host   probes.Host
	Server probes.ServerInfo
	// Unreachable says since when and why the server cannot be reached; empty
	// while it can.
	Unreachable string
	// Silent says for how long the server, which can be reached, has not answered;
	// empty while it answers.
	Silent   string
	Pages    string // proved page mode, "4kB"; empty where unknown
	Dataset  *Dataset
	Loads    []LoadState // the scenarios that keys can start, in key order
	Interval time.Duration
	// History holds the frames of this session, oldest first.
	History []probes.Frame
	// Metrics describes what is measured, as opened.
	Metrics     []probes.Metric
	Unavailable []probes.Miss
	// Counting is whose kernel events are counted; empty where none are.
	Counting probes.CountingScope
	// Run is the run being recorded, or the last one.
	Run *RunState
	// Recorded is the file of a run without a load, once it is complete.
	Recorded string
	// Baseline is nil until one is chosen.
	Baseline *BaselineState
	// Compare tells whether the baseline is laid under the live lines.
	Compare bool
	// Question waits for an answer; nil when nothing is asked.
	Question *Question
	// Notices are the latest messages, newest last.
	Notices []Notice
	// Inspected is the backend whose exact memory was asked for.
	Inspected *Inspected
	// Pass is the reading of every backend's exact memory; nil until asked for.
	Pass *Pass
	// Holders is who holds huge pages; nil until asked for.
	Holders *Holders
	// Examined is what the doctor found when it was asked last; nil before.
	Examined *Examined
	// Experiment is the one under way or the last one; nil before the first.
	Experiment *ExperimentState
	// Dropped counts states that the screen was too slow to take, until there has
	// been none for a while.
	Dropped uint64
	// Replay is set when a recorded run is shown.
	Replay *ReplayState
}

// Last returns the newest frame, nil before the first.
func (s *State) Last() *probes.Frame {
	if len(s.History) == 0 {
		return nil
	}
	return &s.History[len(s.History)-1]
}

// Now returns the newest frame that is long enough for rates, else the newest;
// nil before the first. It is the one whose figures are shown as those of now.
func (s *State) Now() *probes.Frame {
	for i := len(s.History) - 1; i >= 0; i-- {
		if !s.History[i].TooShort {
			return &s.History[i]
		}
	}
	return s.Last()
}

// Step is one part of preparing, with its progress.
type Step struct {
	Name   string
	Detail string
	Done   int64
	Total  int64 // 0 where the end is not known
	Unit   string
	State  StepState
	Took   time.Duration // once it is done
}

// StepState is how far a step is.
type StepState string

const (
	StepPending StepState = "pending"
	StepRunning StepState = "running"
	StepDone    StepState = "done"
	StepFailed  StepState = "failed"
)

// LoadStatus is what a scenario does now.
type LoadStatus string

const (
	LoadStopped  LoadStatus = "stopped"
	LoadStarting LoadStatus = "starting" // prewarm, connecting
	LoadRunning  LoadStatus = "running"
	LoadStopping LoadStatus = "stopping"
	LoadFailed   LoadStatus = "failed"
)

// LoadState is one scenario and what it does.
type LoadState struct {
	Key     int // its place in the list, from 1; the digits start and stop the first nine
	Name    string
	Summary string
	Shows   string
	Script  string // the text of its scripts, each under its name and weight where there are several
	Clients int
	Params  []ParamState // what can be set before it is started, in the order of the list
	// Answered is what became of the last SetParam.
	Answered ParamAnswer
	Status   LoadStatus
	Started  time.Time // of the first transaction
	Elapsed  time.Duration
	Detail   string // "prewarming 0.2 GB", or the error
	// Fault is what is wrong with the script files that were chosen last: a
	// sentence, then the line and a caret below the spot.
	Fault []string
	// Apdex is of the run up to now, or of the last one; nil before the first
	// transaction.
	Apdex *Apdex
}

// ParamState is one parameter of a load.
type ParamState struct {
	Name    string
	Value   string // "" where nothing is chosen yet
	Default string // the value that the session began with
	// Min and Max are of a number; "" is no limit.
	Min, Max string
	Meaning  string
	Text     bool     // the value is text, not a number
	Choices  []string // the only values that it can have
}

// ParamAnswer is what became of a SetParam of a load.
type ParamAnswer struct {
	N           int    // counts them from 1; 0 before the first
	Name, Value string // as they were asked for
	Why         string // why it was refused, a sentence; empty where it was taken
}

// RunState is the run being recorded, or the last one.
type RunState struct {
	Name   string
	Label  string // "point-select, 8 clients, 4kB"
	Active bool
	// From is the index into State.History of the first frame of the load; the
	// session keeps it right when old frames are dropped (it may become 0).
	From int
	// Start is the T of the sample at which the load started.
	Start   time.Duration
	Summary *Summary
	Path    string
}

// BaselineState is the baseline laid under the live lines.
type BaselineState struct {
	Name  string
	Label string // "point-select, 8 clients, 4kB"
	Taken time.Time
	// Frames are the baseline's frames from the start of its load on; Start is
	// the T of the sample at which its load started.
	Frames []probes.Frame
	Start  time.Duration
	// Summary covers the same length from load start as the current run, or all
	// of the baseline when it is shorter (then Ended is true) or nothing runs.
	Summary *Summary
	Ended   bool
	// Metrics are as the baseline had them opened.
	Metrics []probes.Metric
	// Differs names what makes the two hard to compare ("rows 1,000,000 against 6,000,000").
	Differs []string
}

// Question asks the person before something is done.
type Question struct {
	ID     int
	Text   string   // one sentence ending in a question mark
	Detail []string // what exactly will be done, and undone
	Yes    string   // what y does: "reserve 1,098 pages"
	No     string   // what n does
}

// Notice is a message to the person.
type Notice struct {
	At    time.Time
	Text  string
	Error bool
}

// Inspected is one backend's exact memory from smaps_rollup, in kB.
type Inspected struct {
	Pid     int
	Start   uint64 // with Pid it identifies the process, as in probes.Backend
	At      time.Time
	Took    time.Duration
	Pss     uint64
	Rss     uint64
	Private uint64
	Shared  uint64
	Hugetlb uint64
	Missing string
}

// Pass is one reading of the exact memory of all backends, one after the other.
type Pass struct {
	Began, Ended time.Time // Ended is zero while it is under way
	Total        int       // processes that are read, or were to be
	Read         []Inspected
	// Stopped tells that it was ended before all were read.
	Stopped bool
	// Denied says why none could be read, with what would help.
	Denied string
}

// Of returns what was read of that very process.
func (p *Pass) Of(b *probes.Backend) (Inspected, bool) {
	if p == nil {
		return Inspected{}, false
	}
	for i := range p.Read {
		if p.Read[i].Is(b) {
			return p.Read[i], true
		}
	}
	return Inspected{}, false
}

// Holders is who holds huge pages, as it was at a moment.
type Holders struct {
	At      time.Time
	Took    time.Duration
	Use     probes.HugetlbUse
	Running bool   // the processes are being looked at again
	Missing string // why there is nothing
}

// ReplayState is where a replay stands.
type ReplayState struct {
	Name   string
	Pos    int // samples shown
	Total  int
	Ended  bool
	Paused bool
	// Interrupted is set for a run without footer.
	Interrupted bool
	EndReason   string
}
