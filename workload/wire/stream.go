package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"
)

const (
	// streamBuffer is the size of a stream's read buffer, a TLS record's.
	streamBuffer = 16 << 10
	// inOnePiece is the length of a request that a socket takes without waiting for
	// the server to read. A longer one is written while the answer is read, or
	// both sides could wait for each other to read.
	inOnePiece = 4 << 10
	// lastWordsIn is the time to read what the server said before it closed a
	// connection that cannot be written to.
	lastWordsIn = 100 * time.Millisecond
)

// streams is the engine for every connection: a goroutine for each client, which
// waits in reads and writes.
type streams []*stream

func newStreams(r *run) (engine, error) {
	var all streams
	shares := make([]share, r.threads)
	for i := range shares {
		shares[i] = newShare(&r.opts, i, r.threads)
		shares[i].recorder = &lockedRecorder{to: shares[i].recorder}
	}
	for i, given := range r.opts.Clients {
		own := shares[i%len(shares)]
		s := &stream{client: newClient(r, i, &own), run: r, in: make([]byte, streamBuffer)}
		s.client.driver = s
		all = append(all, s)
		if given.Conn == nil {
			continue
		}
		var err error
		if s.conn, err = given.Conn.stream(); err != nil {
			return nil, fmt.Errorf("%s: %w", clientName(i, len(r.opts.Clients)), err)
		}
	}
	return all, nil
}

func (all streams) loops() []func(context.Context) {
	var loops []func(context.Context)
	for _, s := range all {
		loops = append(loops, s.loop)
	}
	return loops
}

func (all streams) wake() {
	for _, s := range all {
		if conn := s.asleep.Load(); conn != nil {
			conn.socket.interrupt()
		}
	}
}

func (all streams) stats() Stats {
	var sum Stats
	for _, s := range all {
		sum.add(s.client.stats)
	}
	return sum
}

// close leaves the connections as they were. One that was interrupted for nothing,
// because its answer came just then, is good.
func (all streams) close() {
	for _, s := range all {
		if c := s.client; c.conn != nil && !c.conn.broken {
			_ = s.conn.SetDeadline(time.Time{}) // one that is lost is seen to be so when it is used
		}
	}
}

// stream drives one client.
type stream struct {
	client *client
	run    *run
	conn   net.Conn // the client's, if it has one
	in     []byte
	until  time.Duration // when a client that waits for no answer goes on
	// writing gives the outcome of a write that goes on beside the reads; nil if
	// there is none.
	writing chan error
	// asleep is the connection whose client waits for a time, not for an answer.
	asleep atomic.Pointer[Conn]
}

// loop drives the client until it is over.
func (s *stream) loop(ctx context.Context) {
	c := s.client
	c.step(s.run.now())
	for !c.over {
		switch {
		case c.unconnected:
			s.connect(ctx)
		case c.replies > 0:
			s.read()
		default:
			s.sleep()
		}
	}
}

// connect opens the connection of the next transaction.
func (s *stream) connect(ctx context.Context) {
	c := s.client
	before := s.run.now()
	conn, err := s.run.opts.Reconnect(ctx, c.index)
	now := s.run.now()
	if err == nil && conn == nil {
		err = errors.New("there is none")
	}
	if err == nil {
		s.conn, err = conn.stream()
	}
	switch {
	case err == nil:
		c.connected(conn, now-before)
		c.step(now)
	case ctx.Err() != nil:
		c.leave()
	default:
		c.unable(fmt.Errorf("opening a connection: %w", err))
	}
}

// read takes what arrives of an answer, and waits for it.
func (s *stream) read() {
	c := s.client
	err := s.take()
	if c.over {
		return
	}
	if err == nil && c.replies == 0 {
		if err = s.written(); err == nil {
			c.waiting.Store(nil)
			c.step(c.now)
			return
		}
	}
	if err != nil {
		s.lost(err)
	}
}

// take reads once.
func (s *stream) take() error {
	c := s.client
	n, err := s.conn.Read(s.in)
	c.now = s.run.now()
	if confused := c.scan.feed(s.in[:n], c); confused != nil {
		c.confused(confused)
	}
	return err
}

// write sends a request, or begins to.
func (s *stream) write(c *client, b []byte) {
	c.waiting.Store(c.conn)
	if len(b) > inOnePiece {
		s.writing = make(chan error, 1)
		go func() { s.writing <- s.send(b) }()
		return
	}
	if err := s.send(b); err != nil {
		for s.take() == nil && !c.over {
		}
		s.lost(err)
	}
}

// send writes. If that fails, reading ends soon.
func (s *stream) send(b []byte) error {
	_, err := s.conn.Write(b)
	if err != nil {
		_ = s.conn.SetReadDeadline(time.Now().Add(lastWordsIn)) // if it cannot be set, reading fails now
	}
	return err
}

// written waits for a write that goes on, and returns its outcome.
func (s *stream) written() error {
	if s.writing == nil {
		return nil
	}
	err := <-s.writing
	s.writing = nil
	return err
}

// lost ends the client because of what reading or writing gave.
func (s *stream) lost(err error) {
	if s.writing != nil {
		s.client.conn.socket.interrupt()
		if failed := s.written(); failed != nil && errors.Is(err, os.ErrDeadlineExceeded) {
			err = failed // reading was only ended by it
		}
	}
	s.client.lost(err)
}

// wait has the client go on at that time.
func (s *stream) wait(_ *client, until time.Duration) { s.until = until }

// sleep waits for that time. As in the other engine, what the server says meanwhile
// is heard, that it ends the connection too.
func (s *stream) sleep() {
	c := s.client
	switch {
	case s.until <= s.run.now():
	case c.conn == nil:
		waitFor(s.run.stopped, s.until-s.run.now())
	default:
		s.listen()
	}
	if !c.over {
		c.step(s.run.now())
	}
}

// listen reads until the client goes on.
func (s *stream) listen() {
	c := s.client
	// In this order: wake comes after stopping is set.
	s.asleep.Store(c.conn)
	err := s.conn.SetReadDeadline(s.run.start.Add(s.until))
	for err == nil && !c.over && !s.run.stopping.Load() && s.run.now() < s.until {
		err = s.take()
	}
	s.asleep.Store(nil)
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		err = s.conn.SetReadDeadline(time.Time{})
	}
	if err != nil && !c.over {
		c.lost(err)
	}
}

// left waits for what goes on beside the client, and closes a connection that was
// only its transaction's.
func (s *stream) left(c *client) {
	if s.writing != nil {
		c.conn.socket.interrupt()
		_ = s.written() // the connection is given up
	}
	if s.run.opts.Reconnect != nil && c.conn != nil {
		c.disconnect()
	}
}
