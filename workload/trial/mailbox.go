package trial

import (
	"context"
	"io"
	"sync"
	"time"
)

// mailbox hands the newest state to one reader. Putting never blocks: a state
// that was not taken in time is replaced and counted.
type mailbox struct {
	mu      sync.Mutex
	state   *State
	dropped uint64
	last    time.Time // when one was replaced
	closed  bool
	ready   chan struct{} // holds a token while there is something to take
}

func newMailbox() *mailbox { return &mailbox{ready: make(chan struct{}, 1)} }

// droppedFade is how long states that were replaced count after the last of them.
const droppedFade = 30 * time.Second

// put publishes a state. Those of the start, before anything is measured, follow
// each other faster than anybody looks: they do not count as replaced.
func (m *mailbox) put(s State) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.state != nil && len(m.state.History) > 0:
		m.dropped++
		m.last = time.Now()
	case time.Since(m.last) > droppedFade:
		m.dropped = 0
	}
	s.Dropped = m.dropped
	m.state = &s
	m.signal()
}

// close makes next return io.EOF once the last state is taken.
func (m *mailbox) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.signal()
}

func (m *mailbox) signal() {
	select {
	case m.ready <- struct{}{}:
	default:
	}
}

// next waits for a state that was not taken yet.
func (m *mailbox) next(ctx context.Context) (State, error) {
	for {
		select {
		case <-ctx.Done():
			return State{}, ctx.Err()
		case <-m.ready:
		}
		m.mu.Lock()
		s, closed := m.state, m.closed
		m.state = nil
		if closed {
			m.signal() // for every later call
		}
		m.mu.Unlock()
		switch {
		case s != nil:
			return *s, nil
		case closed:
			return State{}, io.EOF
		}
	}
}
