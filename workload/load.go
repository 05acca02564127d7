package workload

import (
	"context"
	"io"
	"time"

	"pgtlb/workload/script"
)

// Load is one scenario being driven.
type Load struct {
	Scenario Scenario
	Values   Values
	Clients  int
	// Threads is how many OS threads share the clients; 0 leaves half of the
	// CPUs to the server.
	Threads int
	// Mode overrides the protocol mode of the scenario's Work.
	Mode *script.Mode
	// Duration ends the load; 0 means until it is cancelled or its transactions
	// are done.
	Duration time.Duration
	// Transactions is how many each client begins at most; 0 is no limit.
	Transactions int64
	// Rate is how many transactions all clients together begin in a second, at
	// times of a Poisson process; 0 is as many as they can.
	Rate float64
	// LatencyLimit is the latency above which a transaction counts as late. With
	// a rate, one whose start is late by more is skipped. 0 is none.
	LatencyLimit time.Duration
	// MaxTries is how often a transaction is tried that fails with a
	// serialization failure or a deadlock; 0 is once, a negative number without limit, which
	// needs a Duration or a LatencyLimit.
	MaxTries int
	// Defines set variables of the scripts, before all others.
	Defines []Define
	Seed    int64
	// Connect opens one client's connection.
	Connect Connect
	// Shell runs the command of a \shell or \setshell and returns its standard
	// output. Without it these commands are an error.
	Shell func(ctx context.Context, command string) (output string, err error)
	// Debug takes what debug() writes and what \shell prints; nil throws it away.
	// It is written to by several goroutines at a time.
	Debug io.Writer
	// Errors takes a line for each error of the server, in pgbench's words; nil
	// takes none. It is written to as Debug is.
	Errors io.Writer
	// Log takes a line for each transaction, in pgbench's format; nil logs
	// nothing. LogKinds has it tell failures apart.
	Log      io.Writer
	LogKinds bool
	// Report is called after each Every of the measured part, by one goroutine;
	// nil is not called.
	Report func(Interval)
	Every  time.Duration
	// Warmup has the clients at work before the measured part; nil has none.
	Warmup *Warmup
	// Warmed is called once, when the warm-up is over and before the measured
	// part begins; no transaction is under way then.
	Warmed func()
	// Started is called once, when every client is connected and prepared and
	// before the first transaction is sent; clients wait until it returns.
	Started func()
	// Stopped is called once, if Started was, when every client has returned and
	// before their connections are closed, with what made the load fail, if
	// anything.
	Stopped func(err error)
}

// ProtocolMode is the mode that a load of w runs in.
func (l *Load) ProtocolMode(w Work) script.Mode {
	if l.Mode != nil {
		return *l.Mode
	}
	return w.Mode
}

// Warmup is the part of a load that is not measured, in which caches and page
// tables fill.
type Warmup struct {
	// Most is its length, or its greatest length where Over is set.
	Most time.Duration
	// Over is asked once a second whether it may end.
	Over func() bool
}

// Define is a variable set from outside a script.
type Define struct{ Name, Value string }
