package wire

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// run is a run under way.
type run struct {
	opts    Options
	threads int
	start   time.Time
	abort   context.CancelCauseFunc
	// stopping tells clients to begin nothing any more, and to forget what they
	// are in the middle of.
	stopping atomic.Bool
}

// now is the time since the run began.
func (r *run) now() time.Duration { return time.Since(r.start) }

// over tells whether no transaction is to begin at that time.
func (r *run) over(at time.Duration) bool { return r.opts.Duration > 0 && at >= r.opts.Duration }

// Run keeps all clients busy until the duration is over, ctx ends, or every
// client has stopped or begun all its transactions. It returns when all are
// through. The connections stay open, and stay the caller's.
//
// At the end of the duration, transactions in flight are finished and counted.
// When ctx ends they are cancelled on the server and not counted; Run then
// returns within about a second, without an error. A client that loses its
// connection (*LostError), whose server breaks the protocol or whose task aborts,
// ends the run with an error. The stats hold what was done in every case.
func Run(ctx context.Context, o Options) (Stats, error) {
	if err := o.check(); err != nil {
		return Stats{}, fmt.Errorf("running clients: %w", err)
	}
	r := &run{opts: o, threads: o.threads()}
	threads, err := r.makeThreads()
	defer func() {
		for _, t := range threads {
			t.poller.close()
		}
	}()
	if err != nil {
		return Stats{}, fmt.Errorf("running clients: %w", err)
	}
	s, err := r.drive(ctx, threads)
	if err != nil {
		return s, fmt.Errorf("running clients: %w", err)
	}
	return s, nil
}

// makeThreads shares the clients out.
func (r *run) makeThreads() ([]*thread, error) {
	var threads []*thread
	for i := range r.threads {
		t := &thread{run: r, recorder: r.opts.Recorder(i), throttle: newThrottle(&r.opts, i, r.threads), in: make([]byte, readBuffer)}
		for index := i; index < len(r.opts.Clients); index += r.threads {
			given := r.opts.Clients[index]
			c := &client{index: index, conn: given.Conn, task: given.Task, thread: t}
			c.shown, _ = given.Task.(RowTask)
			t.clients = append(t.clients, c)
		}
		t.live = len(t.clients)
		t.timers = make(timers, 0, len(t.clients))
		var err error
		// One place in the scheduler at least is left for all other goroutines.
		hold := r.threads < runtime.GOMAXPROCS(0)
		if t.poller, err = newPoller(len(t.clients), hold); err != nil {
			return threads, err
		}
		threads = append(threads, t)
	}
	return threads, nil
}

// drive runs the threads to their end.
func (r *run) drive(ctx context.Context, threads []*thread) (Stats, error) {
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
			r.end(threads, all)
		}
	})
	for _, t := range threads {
		loops.Go(t.loop)
	}
	loops.Wait()
	s := Stats{Threads: r.threads, Elapsed: r.now()}
	close(all)
	watch.Wait()

	for _, t := range threads {
		s.add(t.stats)
	}
	if inner.Err() == nil {
		return s, nil
	}
	if cause := context.Cause(inner); ctx.Err() == nil || cause != context.Cause(ctx) {
		return s, cause
	}
	s.Cancelled = true
	return s, nil
}

const (
	// atOnce is how many cancel requests are under way at a time: the server
	// starts a process for each.
	atOnce = 16
	// grace is given to requests in flight to end by themselves.
	grace = 20 * time.Millisecond
	// again is the time after which queries still running are cancelled once
	// more: a cancel request that arrives between two queries cancels nothing.
	again = 100 * time.Millisecond
	// enough is the time after which a connection whose query cannot be
	// cancelled is shut down, so that a run ends within a second.
	enough = 850 * time.Millisecond
)

// end makes all clients leave: those that wait for an answer are cancelled on the
// server, again and again, and in the end their sockets are shut down. all closes
// when every thread is through.
func (r *run) end(threads []*thread, all <-chan struct{}) {
	r.stopping.Store(true)
	for _, t := range threads {
		t.poller.wake()
	}
	if waitFor(all, grace) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), enough)
	defer cancel()
	for ctx.Err() == nil {
		cancelQueries(ctx, threads)
		if waitFor(all, again) {
			return
		}
	}
	for _, t := range threads {
		for _, c := range t.clients {
			if c.waiting.Load() {
				c.conn.shutdown()
			}
		}
	}
}

// waitFor tells whether done closes within d.
func waitFor(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// cancelQueries sends a cancel request for every client that waits for an answer.
func cancelQueries(ctx context.Context, threads []*thread) {
	var waiting []*client
	for _, t := range threads {
		for _, c := range t.clients {
			if c.waiting.Load() {
				waiting = append(waiting, c)
			}
		}
	}
	var (
		senders sync.WaitGroup
		next    atomic.Int64
	)
	for range min(atOnce, len(waiting)) {
		senders.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(waiting) || ctx.Err() != nil {
					return
				}
				if c := waiting[i]; c.waiting.Load() {
					_ = c.conn.cancel(ctx) // what cannot be cancelled is shut down in the end
				}
			}
		})
	}
	senders.Wait()
}
