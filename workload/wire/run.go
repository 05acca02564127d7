package wire

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// run is a run under way.
type run struct {
	opts    Options
	threads int // or what stands for them
	clients []*client
	start   time.Time
	abort   context.CancelCauseFunc
	// stopping tells clients to begin nothing any more, and to forget what they
	// are in the middle of. stopped is closed afterwards.
	stopping atomic.Bool
	stopped  chan struct{}
}

// engine drives the clients of a run.
type engine interface {
	// loops are to be called in a goroutine each. They return when all clients are
	// over.
	loops() []func(ctx context.Context)
	// wake has clients that wait for a time see that the run is stopping.
	wake()
	// stats is what all did, after the loops.
	stats() Stats
	close()
}

// now is the time since the run began.
func (r *run) now() time.Duration { return time.Since(r.start) }

// over tells whether no transaction is to begin at that time.
func (r *run) over(at time.Duration) bool { return r.opts.Duration > 0 && at >= r.opts.Duration }

// Run keeps all clients busy until the duration is over, ctx ends, or every
// client has stopped or begun all its transactions. It returns when all are
// through. The connections stay open, and stay the caller's.
//
// If all connections are direct, a few threads drive the clients. If one is not,
// none is any more (Conn.Indirect): each client then has a goroutine, which costs
// more CPU time and is the same otherwise.
//
// At the end of the duration, transactions in flight are finished and counted.
// When ctx ends they are cancelled on the server and not counted; Run then
// returns within about a second, without an error. A client that loses its
// connection (*LostError) or cannot open one, whose server breaks the protocol or whose
// task aborts, ends the run with an error, but for what a LossTask takes on
// its client alone. The stats hold what was done in every case.
func Run(ctx context.Context, o Options) (Stats, error) {
	s, err := start(ctx, o)
	if err != nil {
		return s, fmt.Errorf("running clients: %w", err)
	}
	return s, nil
}

func start(ctx context.Context, o Options) (Stats, error) {
	if err := o.check(); err != nil {
		return Stats{}, err
	}
	r := &run{opts: o, threads: o.threads(), stopped: make(chan struct{})}
	indirect := o.indirect()
	newEngine := newDirect
	if indirect != "" {
		newEngine = newStreams
	}
	e, err := newEngine(r)
	if err != nil {
		return Stats{}, err
	}
	defer e.close()
	s, err := r.drive(ctx, e)
	s.Indirect = indirect
	return s, err
}

// drive runs the engine to its end.
func (r *run) drive(ctx context.Context, e engine) (Stats, error) {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.abort = cancel
	r.start = time.Now()

	all := make(chan struct{})
	var loops, watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-all:
		case <-inner.Done():
			r.end(e, all)
		}
	})
	for _, loop := range e.loops() {
		loops.Go(func() { loop(inner) })
	}
	loops.Wait()
	elapsed := r.now()
	close(all)
	watch.Wait()

	s := e.stats()
	s.Elapsed = elapsed
	if inner.Err() == nil {
		return s, nil
	}
	if cause := context.Cause(inner); ctx.Err() == nil || cause != context.Cause(ctx) {
		return s, cause
	}
	s.Cancelled = true
	return s, nil
}
