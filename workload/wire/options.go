package wire

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// Client is a connection and what is done over it.
type Client struct {
	Conn *Conn // nil with Options.Reconnect
	Task Task
}

// Options say what a run is made of. Clients and Recorder are required.
type Options struct {
	Clients []Client
	// Threads is how many OS threads share the clients, at most one each; 0 is
	// DefaultThreads. As many as GOMAXPROCS, or more, use about twice the CPU time for
	// each transaction: a program that wants them raises GOMAXPROCS first. Clients that are not driven directly have a goroutine each
	// instead; they share as many recorders and parts of the rate.
	Threads int
	// Recorder returns the recorder of a thread, from 0. It is called before
	// the threads begin. Goroutines that share one take turns.
	Recorder func(thread int) Recorder
	// Duration is after how long no transaction is begun any more; 0 is never.
	Duration time.Duration
	// Transactions is how many transactions each client begins at most, skipped
	// ones included; 0 is no limit.
	Transactions int64
	// Rate is how many transactions all clients together are to begin in a
	// second, at times of a Poisson process drawn from Seed; 0 is as many as they can.
	Rate float64
	Seed uint64
	// LatencyLimit is the latency above which a transaction counts as late. With
	// a rate, one whose scheduled start has passed by more is skipped. 0 is none.
	LatencyLimit time.Duration
	// Reconnect, if it is set, opens a connection for each transaction, before it
	// begins: its latency counts from when the connection is there, with a rate from
	// its scheduled start. The run closes it after the transaction. Any number of
	// goroutines call it at a time. It must return when ctx ends; any other error
	// ends the run, or the client alone if its task is a LossTask.
	Reconnect func(ctx context.Context, client int) (*Conn, error)
}

// DefaultThreads leaves half of the CPUs this process may use to the server.
func DefaultThreads(clients int) int {
	return max(1, min(clients, runtime.GOMAXPROCS(0)/2))
}

// Stats is what a run did.
type Stats struct {
	// Indirect says why the clients were not driven directly, empty if they were.
	Indirect string
	// Threads is the number of threads; 0 if Indirect, as clients then have a goroutine each.
	Threads                             int
	Transactions, Failed, Skipped, Late int64
	// Elapsed is from the first request until every client was through.
	Elapsed time.Duration
	// CPU is the CPU time, user and kernel, of the threads; 0 if Indirect, as it is
	// not known of goroutines.
	CPU time.Duration
	// Cancelled says that ctx ended the run.
	Cancelled bool
}

// add adds a thread's share.
func (s *Stats) add(o Stats) {
	s.Transactions += o.Transactions
	s.Failed += o.Failed
	s.Skipped += o.Skipped
	s.Late += o.Late
	s.CPU += o.CPU
}

func (o *Options) check() error {
	if len(o.Clients) == 0 {
		return errors.New("there must be at least one client")
	}
	if o.Recorder == nil {
		return errors.New("there must be a recorder")
	}
	if o.Threads < 0 || o.Duration < 0 || o.Transactions < 0 || o.Rate < 0 || o.LatencyLimit < 0 {
		return errors.New("an option is negative")
	}
	for i, c := range o.Clients {
		switch {
		case c.Task == nil:
			return fmt.Errorf("%s has no task", clientName(i, len(o.Clients)))
		case o.Reconnect != nil && c.Conn != nil:
			return fmt.Errorf("%s has a connection, but is to open its own", clientName(i, len(o.Clients)))
		case o.Reconnect == nil && (c.Conn == nil || c.Conn.closed || c.Conn.broken):
			return fmt.Errorf("%s has no open connection", clientName(i, len(o.Clients)))
		}
	}
	return nil
}

// indirect is why the clients cannot be driven directly, empty if they can.
func (o *Options) indirect() string {
	if o.Reconnect != nil {
		return "each transaction has a connection of its own"
	}
	for i, c := range o.Clients {
		if why := c.Conn.Indirect(); why != "" {
			return fmt.Sprintf("the connection of %s %s", clientName(i, len(o.Clients)), why)
		}
	}
	return ""
}

// threads is how many threads there are to be.
func (o *Options) threads() int {
	n := o.Threads
	if n == 0 {
		n = DefaultThreads(len(o.Clients))
	}
	return min(n, len(o.Clients))
}
