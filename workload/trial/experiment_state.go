package trial

import (
	"time"

	"pgtlb/workload/experiment"
)

// ExperimentOptions say what an experiment varies and how each of its steps is
// made.
type ExperimentOptions struct {
	// Plan is what is to be made. Resume is the journal of an experiment that is gone
	// on with, which may be open for more steps already; its plan counts then.
	Plan   experiment.Plan
	Resume *experiment.Journal
	// MostPairs is the most that the gate may be answered with; 0 is what is planned.
	MostPairs int
	// Measure is the length of the measured part of each step; 0 is the load's own.
	Measure time.Duration
	WarmUp  WarmUp
	// Settle is the pause between reading the data in and connecting the clients.
	Settle time.Duration
	// Background is a shell command that is run every few seconds beside each run.
	Background string
	// RestartCmd is the shell command that restarts a server that pgtlb did not make.
	RestartCmd string
}

// most is how many pairs the experiment may get.
func (o *ExperimentOptions) most() int { return max(o.MostPairs, o.Plan.Pairs) }

// ExperimentState is where the experiment of a session stands, or how it ended.
type ExperimentState struct {
	// Progress holds the plan, what was made, the step being made and the time left.
	Progress experiment.Progress
	// Detail is what goes on in the step: "restarting the server", "measuring, 12 s".
	Detail string
	// Waiting tells that Detail is a wait that takes longer than usual.
	Waiting bool
	// Checking is set until the first step: values, pools and rights are looked at.
	Checking bool
	// Gate waits for AnswerGate; nil while nothing is asked.
	Gate *experiment.Gate
	// Result holds the arms against each other once it is over; nil while too little
	// was made to be compared.
	Result *Comparison
	// WithRepeats is Result with the steps that were repeated out of order; nil where
	// there are none.
	WithRepeats *Comparison
	// Over is set once all is made or it has ended otherwise, and all is put back.
	Over bool
	// Interrupted tells that it was ended before its time; what was made is kept.
	Interrupted bool
	// Err is why it ended before its time, a sentence; empty otherwise.
	Err string
}
