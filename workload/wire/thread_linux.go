package wire

import (
	"context"
	"io"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// readBuffer is the size of a thread's read buffer.
	readBuffer = 64 << 10
	// readsAtOnce is how many full buffers of one client are read before the
	// other clients' turn.
	readsAtOnce = 8
)

// threads is the engine for direct connections.
type threads []*thread

func newDirect(r *run) (engine, error) {
	all := make(threads, 0, r.threads)
	// One place in the scheduler at least is left for all other goroutines.
	hold := r.threads < runtime.GOMAXPROCS(0)
	for i := range r.threads {
		t := &thread{share: newShare(&r.opts, i, r.threads), run: r, in: make([]byte, readBuffer)}
		for index := i; index < len(r.opts.Clients); index += r.threads {
			c := newClient(r, index, &t.share)
			c.driver = t
			t.clients = append(t.clients, c)
		}
		t.live = len(t.clients)
		t.timers = make(timers, 0, len(t.clients))
		var err error
		if t.poller, err = newPoller(len(t.clients), hold); err != nil {
			all.close()
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

func (all threads) loops() []func(context.Context) {
	var loops []func(context.Context)
	for _, t := range all {
		loops = append(loops, t.loop)
	}
	return loops
}

func (all threads) wake() {
	for _, t := range all {
		t.poller.wake()
	}
}

func (all threads) stats() Stats {
	s := Stats{Threads: len(all)}
	for _, t := range all {
		s.add(t.share.stats)
	}
	return s
}

func (all threads) close() {
	for _, t := range all {
		t.poller.close()
	}
}

// thread drives some of the clients. All of it but the poller's wake belongs to
// the goroutine in loop.
type thread struct {
	share
	run     *run
	clients []*client
	live    int // clients not over
	poller  *poller
	timers  timers
	in      []byte
	told    bool // that the run is to end
	place   *place
}

// loop drives the clients until all are over. What ends ctx also wakes the thread.
func (t *thread) loop(context.Context) {
	// Its CPU time is measured, and a thread of its own is not handed around.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	t.place = newPlace(t.run.opts.Rate > 0)
	defer t.place.close()
	cpu := threadCPU()
	defer func() { t.stats.CPU = time.Duration(threadCPU() - cpu) }()
	if err := t.drive(); err != nil {
		t.run.abort(err)
		for _, c := range t.clients {
			c.leave()
		}
	}
}

func (t *thread) drive() error {
	for id, c := range t.clients {
		if err := t.poller.add(c.conn.fd, id); err != nil {
			return err
		}
	}
	for _, c := range t.clients {
		c.step(t.run.now())
	}
	for t.live > 0 {
		at, in := time.Duration(-1), time.Duration(0)
		if len(t.timers) > 0 {
			at = t.timers[0].at
			in = at - t.run.now()
		}
		events, err := t.poller.wait(at, in)
		if err != nil {
			return err
		}
		for i := range events {
			t.handle(&events[i])
		}
		if t.run.stopping.Load() && !t.told {
			t.tell()
		}
		t.expire()
	}
	return nil
}

// expire lets the clients go on whose time has come. One that sets itself a timer
// for now has its turn after those events that wait already.
func (t *thread) expire() {
	if len(t.timers) == 0 {
		return
	}
	now := t.run.now()
	for n := len(t.timers); n > 0 && len(t.timers) > 0 && t.timers[0].at <= now; n-- {
		if c := t.timers.pop().client; !c.over {
			c.step(now)
		}
	}
}

func (t *thread) handle(e *unix.EpollEvent) {
	if e.Fd < 0 {
		return // a wake-up or the clock: what to do is seen in drive
	}
	c := t.clients[e.Fd]
	if c.over {
		return
	}
	if e.Events&unix.EPOLLOUT != 0 && len(c.pending) > 0 {
		t.flush(c)
	}
	if e.Events&^unix.EPOLLOUT != 0 && !c.over {
		t.read(c)
	}
}

// read takes what has arrived for a client.
func (t *thread) read(c *client) {
	for range readsAtOnce {
		n, errno := receive(c.conn.fd, t.in)
		if errno == unix.EAGAIN {
			return
		}
		if errno != 0 {
			c.lost(errno)
			return
		}
		if n == 0 {
			c.lost(io.EOF)
			return
		}
		asked := c.replies > 0
		c.now = t.run.now()
		t.place.answer(c.now)
		if err := c.scan.feed(t.in[:n], c); err != nil {
			c.confused(err)
			return
		}
		if asked && c.replies == 0 {
			c.step(c.now)
		}
		if n < len(t.in) || c.over {
			return
		}
	}
	t.check(c, t.poller.again(c.conn.fd, t.number(c), len(c.pending) > 0))
}

// write sends a request, or begins to.
func (t *thread) write(c *client, b []byte) {
	n, errno := transmit(c.conn.fd, b)
	if n == len(b) {
		return
	}
	if errno != 0 && errno != unix.EAGAIN {
		t.unwritable(c, errno)
		return
	}
	c.pending = append(c.pending[:0], b[n:]...)
	t.check(c, t.poller.again(c.conn.fd, t.number(c), true))
}

// flush sends more of a request.
func (t *thread) flush(c *client) {
	n, errno := transmit(c.conn.fd, c.pending)
	if errno == unix.EAGAIN {
		return
	}
	if errno != 0 {
		t.unwritable(c, errno)
		return
	}
	left := copy(c.pending, c.pending[n:])
	c.pending = c.pending[:left]
	t.check(c, t.poller.again(c.conn.fd, t.number(c), left > 0))
}

// unwritable is the end of a connection that is seen when writing. What the server
// said before it closed it may still be there.
func (t *thread) unwritable(c *client, errno unix.Errno) {
	for {
		n, failed := receive(c.conn.fd, t.in)
		if n == 0 || failed != 0 || c.scan.feed(t.in[:n], c) != nil {
			break
		}
	}
	c.lost(errno)
}

// check ends a client that cannot be watched.
func (t *thread) check(c *client, err error) {
	if err != nil {
		c.confused(err)
	}
}

// number is a client's index in its thread.
func (t *thread) number(c *client) int { return c.index / t.run.threads }

// tell has the clients that do not wait for an answer end.
func (t *thread) tell() {
	t.told = true
	for _, c := range t.clients {
		switch {
		case c.over:
		case c.replies == 0:
			c.leave()
		default:
			c.waiting.Store(c.conn)
		}
	}
}

// wait has the client go on at that time.
func (t *thread) wait(c *client, until time.Duration) { t.timers.push(until, c) }

// left takes note that a client is over.
func (t *thread) left(c *client) {
	t.live--
	_ = t.poller.remove(c.conn.fd) // an event that still comes finds the client over
}
