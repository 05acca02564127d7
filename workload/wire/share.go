package wire

import (
	"sync"
	"time"
)

// share is what the clients of one goroutine have in common.
type share struct {
	recorder Recorder
	throttle *throttle // nil without a rate
	stats    Stats
	out      []byte // for requests
}

// newShare is the share of a thread, from 0.
func newShare(o *Options, thread, threads int) share {
	return share{recorder: o.Recorder(thread), throttle: newThrottle(o, thread, threads)}
}

// lockedRecorder is a Recorder that goroutines share.
type lockedRecorder struct {
	mu sync.Mutex
	to Recorder
}

func (l *lockedRecorder) Done(client int, latency, lag time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.to.Done(client, latency, lag)
}

func (l *lockedRecorder) Failed(client int, state State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.to.Failed(client, state)
}

func (l *lockedRecorder) Skipped(client int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.to.Skipped(client)
}

func (l *lockedRecorder) Connected(client int, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.to.Connected(client, took)
}
