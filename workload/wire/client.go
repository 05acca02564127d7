package wire

import (
	"bytes"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// driver is what an engine does for a client, all in the goroutine that drives it.
type driver interface {
	// write begins to send a request. b is the driver's own until the answer is
	// complete.
	write(c *client, b []byte)
	// wait has step called at that time, or at once if it has passed.
	wait(c *client, until time.Duration)
	// left is told that the client is over.
	left(c *client)
}

// client is one client of a run: what it does next and what it counts. The engine
// says when. It belongs to the goroutine that drives it, but for waiting.
type client struct {
	*share
	index  int
	run    *run
	conn   *Conn // nil between two transactions that have a connection each
	task   Task
	shown  RowTask // task, if it can look at rows
	driver driver

	scan      scanner
	result    Result
	lastWords []byte // the body of an error or a notice
	pending   []byte // of a request, what the socket did not take yet
	replies   int32  // ReadyForQuery still to come
	over      bool

	begun            int64 // transactions
	scheduled        time.Duration
	drawn            bool // scheduled is the start of a transaction not yet begun
	inTransaction    bool
	asked            bool // the transaction has sent something
	unconnected      bool // a transaction is to begin as soon as there is a connection
	transactionBegin time.Duration
	lag              time.Duration

	now time.Duration // of the read whose messages are looked at

	// waiting is the connection on which the client waits for an answer. It has
	// to be set only when the run is to end.
	waiting atomic.Pointer[Conn]
}

// newClient adds the client of that index, on its share of the run.
func newClient(r *run, index int, s *share) *client {
	given := r.opts.Clients[index]
	c := &client{share: s, index: index, run: r, conn: given.Conn, task: given.Task}
	c.shown, _ = given.Task.(RowTask)
	r.clients = append(r.clients, c)
	return c
}

// step lets the client do what it can without waiting for the server.
func (c *client) step(now time.Duration) {
	for {
		if c.run.stopping.Load() {
			c.leave()
			return
		}
		if !c.inTransaction && !c.begin(now) {
			return
		}
		at := Moment{Now: now, Begin: c.transactionBegin, Over: c.run.over(now)}
		buf, act := c.task.Next(at, c.out[:0])
		c.out = buf[:0]
		switch act.kind {
		case send:
			c.send(buf, act)
			return
		case sleep:
			c.driver.wait(c, act.until)
			return
		case done, fail:
			c.finish(act, now)
			if !c.asked {
				// It is the other clients' turn first, in case this one never asks.
				c.driver.wait(c, now)
				return
			}
		case stop:
			c.leave()
			return
		case abort:
			c.abort(act.err)
			return
		default:
			c.abort(errors.New("its task does not say what comes next"))
			return
		}
	}
}

// begin begins a transaction, or has the client wait for its scheduled start or
// for a connection, or ends it when there is none to come.
func (c *client) begin(now time.Duration) bool {
	o := &c.run.opts
	connected := o.Reconnect != nil && c.conn != nil // for the transaction that is to begin
	if !connected && !c.due(now) {
		return false
	}
	if c.conn == nil {
		c.unconnected = true
		return false
	}
	c.transactionBegin, c.lag = now, 0
	if o.Rate > 0 {
		c.drawn = false
		c.transactionBegin, c.lag = c.scheduled, now-c.scheduled
	}
	c.begun++
	c.inTransaction, c.asked = true, false
	return true
}

// due tells whether a transaction is to begin now.
func (c *client) due(now time.Duration) bool {
	o := &c.run.opts
	if c.run.over(now) || o.Transactions > 0 && c.begun >= o.Transactions {
		c.leave()
		return false
	}
	if o.Rate == 0 {
		return true
	}
	if !c.drawn && !c.schedule(now) {
		c.leave()
		return false
	}
	if c.scheduled > now {
		c.driver.wait(c, c.scheduled)
		return false
	}
	return true
}

// schedule draws the start of the next transaction, past those that are too late
// already, and tells whether there is one before the end.
func (c *client) schedule(now time.Duration) bool {
	o := &c.run.opts
	c.scheduled = c.throttle.draw()
	for o.LatencyLimit > 0 && c.scheduled < now-o.LatencyLimit {
		c.stats.Skipped++
		c.recorder.Skipped(c.index)
		if c.begun++; o.Transactions > 0 && c.begun >= o.Transactions {
			return false
		}
		c.scheduled = c.throttle.draw()
	}
	c.drawn = true
	return !c.run.over(c.scheduled)
}

// finish counts the transaction.
func (c *client) finish(act Action, now time.Duration) {
	c.inTransaction = false
	if c.run.opts.Reconnect != nil {
		defer c.disconnect()
	}
	if act.kind == fail {
		c.stats.Failed++
		c.recorder.Failed(c.index, act.state)
		return
	}
	latency := now - c.transactionBegin
	c.stats.Transactions++
	if limit := c.run.opts.LatencyLimit; limit > 0 && latency > limit {
		c.stats.Late++
	}
	c.recorder.Done(c.index, latency, c.lag)
}

// connected gives the client the connection of its next transaction, and the time
// that it took to open it.
func (c *client) connected(conn *Conn, took time.Duration) {
	c.conn, c.unconnected = conn, false
	c.scan.reset()
	c.lastWords = c.lastWords[:0]
	c.recorder.Connected(c.index, took)
	if t, ok := c.task.(ReconnectTask); ok {
		t.Reconnected()
	}
}

// disconnect closes the connection of one transaction.
func (c *client) disconnect() {
	_ = c.conn.Close() // what the transaction did is known; the server ends the session in any case
	c.conn = nil
}

// send begins to send a request.
func (c *client) send(buf []byte, act Action) {
	if act.replies < 1 || len(buf) == 0 || act.rows && c.shown == nil {
		c.abort(errors.New("its task sent a request that it cannot get an answer to"))
		return
	}
	c.asked = true
	c.replies = act.replies
	c.scan.rows = act.rows
	c.result.reset()
	c.driver.write(c, buf)
}

var (
	errCopy      = errors.New("COPY FROM STDIN is not supported: copy from a file on the server, or use another tool")
	errUnasked   = errors.New("the server said that it is ready without having been asked")
	errTooShort  = errors.New("the server sent a message that is too short")
	errNoRequest = errors.New("the server sent rows that no request asked for")
)

// message takes what the scanner hands over.
func (c *client) message(typ byte, body []byte) error {
	switch typ {
	case 'Z':
		if len(body) == 0 {
			return errTooShort
		}
		return c.ready(body[0])
	case 'C':
		c.result.completed(body)
	case 'I':
		c.result.Commands++
		c.result.Affected = 0
	case 'E':
		c.result.failed(body)
		c.listen(body)
	case 'N':
		c.listen(body)
	case 'G', 'W':
		return errCopy
	case 'H':
		c.result.Copied = true
	case 'T':
		if c.replies == 0 {
			return errNoRequest
		}
		c.shown.Columns(c.result.Commands, Columns(body))
	case 'D':
		if c.replies == 0 {
			return errNoRequest
		}
		c.shown.Row(c.result.Commands, Row(body))
	}
	return nil
}

// listen keeps what a server says before it ends a session: what is fatal, and class 57P,
// operator intervention, which a crash of another backend announces by a mere notice.
func (c *client) listen(body []byte) {
	for t, v := range errorFields(body) {
		if t == 'C' && bytes.HasPrefix(v, []byte("57P")) || t == 'V' && (string(v) == "FATAL" || string(v) == "PANIC") {
			c.lastWords = append(c.lastWords[:0], body...)
			return
		}
	}
}

// ready is the end of an answer.
func (c *client) ready(status byte) error {
	if c.replies == 0 {
		return errUnasked
	}
	c.replies--
	c.result.Status = status
	if !c.run.stopping.Load() {
		at := Moment{Now: c.now, Begin: c.transactionBegin, Over: c.run.over(c.now)}
		c.task.Result(at, &c.result)
	}
	c.result.reset()
	return nil
}

// lost ends the client, and with it the run unless its task is a LossTask that will not
// have that, because the connection is gone.
func (c *client) lost(cause error) {
	c.conn.broken = true
	e := &LostError{Client: c.index, Clients: len(c.run.opts.Clients), Cause: cause}
	if len(c.lastWords) > 0 {
		e.Said = parseError(c.lastWords)
	}
	c.giveUp(e, e)
}

// confused does the same because of what the server sent.
func (c *client) confused(err error) {
	c.conn.broken = true
	c.giveUp(err, c.named(err))
}

// unable does the same because there is no connection to be had.
func (c *client) unable(err error) { c.giveUp(err, c.named(err)) }

// giveUp ends the client, and the run with the error that names the client unless its
// task says that it ends alone.
func (c *client) giveUp(err, named error) {
	if c.over {
		return
	}
	t, ok := c.task.(LossTask)
	if !ok || c.run.stopping.Load() || !t.Lost(err) {
		c.run.abort(named)
	}
	c.leave()
}

// abort ends the run because of the client.
func (c *client) abort(err error) {
	c.run.abort(c.named(err))
	c.leave()
}

// named is an error of the client.
func (c *client) named(err error) error {
	return fmt.Errorf("%s: %w", clientName(c.index, len(c.run.opts.Clients)), err)
}

// clientName is how messages call a client: with its number from 0, as pgbench does.
func clientName(index, clients int) string {
	return fmt.Sprintf("client %d (of %d, from 0)", index, clients)
}

// leave ends the client.
func (c *client) leave() {
	if c.over {
		return
	}
	c.over = true
	if c.replies > 0 {
		c.conn.broken = true // it is in the middle of an answer
	}
	c.waiting.Store(nil)
	c.driver.left(c)
}
