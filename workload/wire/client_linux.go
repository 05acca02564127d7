package wire

import (
	"bytes"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// client is one client of a run. It belongs to its thread, but for waiting.
type client struct {
	index  int
	conn   *Conn
	task   Task
	shown  RowTask // task, if it can look at rows
	thread *thread

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
	transactionBegin time.Duration
	lag              time.Duration

	now time.Duration // of the read whose messages are looked at

	// waiting is set, once the run is to end, while the client waits for an answer.
	waiting atomic.Bool
}

// step lets the client do what it can without waiting.
func (c *client) step(now time.Duration) {
	t := c.thread
	for {
		if t.run.stopping.Load() {
			t.leave(c)
			return
		}
		if !c.inTransaction && !c.begin(now) {
			return
		}
		at := Moment{Now: now, Begin: c.transactionBegin, Over: t.run.over(now)}
		buf, act := c.task.Next(at, t.out[:0])
		t.out = buf[:0]
		switch act.kind {
		case send:
			c.send(buf, act)
			return
		case sleep:
			t.timers.push(act.until, c)
			return
		case done, fail:
			c.finish(act, now)
			if !c.asked {
				// It is the other clients' turn first, in case this one never asks.
				t.timers.push(now, c)
				return
			}
		case stop:
			t.leave(c)
			return
		case abort:
			t.run.abort(fmt.Errorf("client %d of %d: %w", c.index+1, len(t.run.opts.Clients), act.err))
			t.leave(c)
			return
		default:
			t.run.abort(fmt.Errorf("client %d of %d: its task does not say what comes next", c.index+1, len(t.run.opts.Clients)))
			t.leave(c)
			return
		}
	}
}

// begin begins a transaction, or has the client wait for its scheduled start, or
// ends it when there is none to come.
func (c *client) begin(now time.Duration) bool {
	t, o := c.thread, &c.thread.run.opts
	if t.run.over(now) || o.Transactions > 0 && c.begun >= o.Transactions {
		t.leave(c)
		return false
	}
	c.transactionBegin, c.lag = now, 0
	if o.Rate > 0 {
		if !c.drawn && !c.schedule(now) {
			t.leave(c)
			return false
		}
		if c.scheduled > now {
			t.timers.push(c.scheduled, c)
			return false
		}
		c.drawn = false
		c.transactionBegin, c.lag = c.scheduled, now-c.scheduled
	}
	c.begun++
	c.inTransaction, c.asked = true, false
	return true
}

// schedule draws the start of the next transaction, past those that are too late
// already, and tells whether there is one before the end.
func (c *client) schedule(now time.Duration) bool {
	t, o := c.thread, &c.thread.run.opts
	c.scheduled = t.throttle.draw()
	for o.LatencyLimit > 0 && c.scheduled < now-o.LatencyLimit {
		t.stats.Skipped++
		t.recorder.Skipped(c.index)
		if c.begun++; o.Transactions > 0 && c.begun >= o.Transactions {
			return false
		}
		c.scheduled = t.throttle.draw()
	}
	c.drawn = true
	return !t.run.over(c.scheduled)
}

// finish counts the transaction.
func (c *client) finish(act Action, now time.Duration) {
	t := c.thread
	c.inTransaction = false
	if act.kind == fail {
		t.stats.Failed++
		t.recorder.Failed(c.index, act.state)
		return
	}
	latency := now - c.transactionBegin
	t.stats.Transactions++
	if limit := t.run.opts.LatencyLimit; limit > 0 && latency > limit {
		t.stats.Late++
	}
	t.recorder.Done(c.index, latency, c.lag)
}

// send begins to send a request.
func (c *client) send(buf []byte, act Action) {
	if act.replies < 1 || len(buf) == 0 || act.rows && c.shown == nil {
		c.thread.run.abort(fmt.Errorf("client %d of %d: its task sent a request that it cannot get an answer to", c.index+1, len(c.thread.run.opts.Clients)))
		c.thread.leave(c)
		return
	}
	c.asked = true
	c.replies = act.replies
	c.scan.rows = act.rows
	c.result.reset()
	c.thread.write(c, buf)
}

var (
	errCopy      = errors.New("COPY FROM STDIN and replication cannot be driven: use a file on the server or another tool")
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

// listen keeps what a server says before it ends a session: class 57P, operator
// intervention, which a crash of another backend announces by a mere notice.
func (c *client) listen(body []byte) {
	for t, v := range errorFields(body) {
		if t == 'C' && bytes.HasPrefix(v, []byte("57P")) {
			c.lastWords = append(c.lastWords[:0], body...)
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
	if !c.thread.run.stopping.Load() {
		at := Moment{Now: c.now, Begin: c.transactionBegin, Over: c.thread.run.over(c.now)}
		c.task.Result(at, &c.result)
	}
	c.result.reset()
	return nil
}

// lost ends the run, unless it ends anyway, because the connection is gone.
func (c *client) lost(cause error) {
	c.conn.broken = true
	e := &LostError{Client: c.index, Clients: len(c.thread.run.opts.Clients), Cause: cause}
	if len(c.lastWords) > 0 {
		e.Said = parseError(c.lastWords)
	}
	c.thread.run.abort(e)
	c.thread.leave(c)
}

// confused ends the run because of what the server sent.
func (c *client) confused(err error) {
	c.conn.broken = true
	c.thread.run.abort(fmt.Errorf("client %d of %d: %w", c.index+1, len(c.thread.run.opts.Clients), err))
	c.thread.leave(c)
}
