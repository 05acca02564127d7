package wire

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

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
// when every client is through.
func (r *run) end(e engine, all <-chan struct{}) {
	r.stopping.Store(true)
	close(r.stopped)
	e.wake()
	if waitFor(all, grace) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), enough)
	defer cancel()
	for ctx.Err() == nil {
		r.cancelQueries(ctx)
		if waitFor(all, again) {
			return
		}
	}
	for _, c := range r.clients {
		if conn := c.waiting.Load(); conn != nil {
			conn.socket.interrupt()
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
func (r *run) cancelQueries(ctx context.Context) {
	var waiting []*client
	for _, c := range r.clients {
		if c.waiting.Load() != nil {
			waiting = append(waiting, c)
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
				if conn := waiting[i].waiting.Load(); conn != nil {
					_ = conn.cancel(ctx) // what cannot be cancelled is shut down in the end
				}
			}
		})
	}
	senders.Wait()
}
