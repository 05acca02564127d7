package wire

import (
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

// thread drives some of the clients. All of it but the poller's wake belongs to
// the goroutine in loop.
type thread struct {
	run      *run
	recorder Recorder
	clients  []*client
	live     int // clients not over
	poller   *poller
	timers   timers
	throttle throttle
	in, out  []byte
	told     bool // that the run is to end
	stats    Stats
}

// loop drives the clients until all are over.
func (t *thread) loop() {
	// Its CPU time is measured, and a thread of its own is not handed around.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer wakeSoon()()
	cpu := threadCPU()
	defer func() { t.stats.CPU = time.Duration(threadCPU() - cpu) }()
	if err := t.drive(); err != nil {
		t.run.abort(err)
		for _, c := range t.clients {
			t.leave(c)
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

// check ends the run when a client cannot be watched.
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
			t.leave(c)
		default:
			c.waiting.Store(true)
		}
	}
}

// leave ends a client.
func (t *thread) leave(c *client) {
	if c.over {
		return
	}
	c.over = true
	t.live--
	if c.replies > 0 {
		c.conn.broken = true // it is in the middle of an answer
	}
	c.waiting.Store(false)
	_ = t.poller.remove(c.conn.fd) // an event that still comes finds the client over
}
