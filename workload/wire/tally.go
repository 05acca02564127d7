package wire

import (
	"runtime"
	"sync/atomic"
	"time"

	"pgtlb/probes"
)

// Counts is what one thread's clients did in some interval.
type Counts struct {
	Latency                       *probes.Histogram // of the transactions, lag included
	Transactions, Failed, Skipped int64
	LagSum, LagMax                time.Duration
	FailedBy                      map[State]int64
	// Connect is the time that the connections of transactions with one each took to
	// open; nil or empty if there were none. ConnectSum is exact.
	Connect     *probes.Histogram
	Connections int64
	ConnectSum  time.Duration
}

// NewCounts returns empty counts.
func NewCounts() *Counts {
	return &Counts{Latency: probes.NewHistogram(), FailedBy: map[State]int64{}}
}

// Reset forgets everything counted.
func (c *Counts) Reset() {
	c.Latency.Reset()
	clear(c.FailedBy)
	if c.Connect != nil {
		c.Connect.Reset()
	}
	*c = Counts{Latency: c.Latency, FailedBy: c.FailedBy, Connect: c.Connect}
}

// Add adds other to c.
func (c *Counts) Add(other *Counts) {
	c.Latency.Add(other.Latency)
	c.Transactions += other.Transactions
	c.Failed += other.Failed
	c.Skipped += other.Skipped
	c.LagSum += other.LagSum
	c.LagMax = max(c.LagMax, other.LagMax)
	for state, n := range other.FailedBy {
		c.FailedBy[state] += n
	}
	if other.Connections == 0 {
		return
	}
	c.Connections += other.Connections
	c.ConnectSum += other.ConnectSum
	c.connect().Add(other.Connect)
}

// connect is Connect, made when it is first used: most runs open no connections.
func (c *Counts) connect() *probes.Histogram {
	if c.Connect == nil {
		c.Connect = probes.NewHistogram()
	}
	return c.Connect
}

// Tally is a Recorder whose counts another goroutine takes away while the thread
// goes on. The thread never waits for it, not even when that goroutine is
// preempted in the middle of it, which is why there is no lock.
type Tally struct {
	_       [64]byte // two threads' tallies do not share a cache line
	busy    atomic.Bool
	current atomic.Pointer[Counts]
	_       [64]byte
}

// NewTally returns an empty tally.
func NewTally() *Tally {
	t := &Tally{}
	t.current.Store(NewCounts())
	return t
}

// Done counts a transaction.
func (t *Tally) Done(_ int, latency, lag time.Duration) {
	t.busy.Store(true)
	c := t.current.Load()
	c.Latency.Record(latency)
	c.Transactions++
	if lag > 0 {
		c.LagSum += lag
		c.LagMax = max(c.LagMax, lag)
	}
	t.busy.Store(false)
}

// Failed counts a failed transaction.
func (t *Tally) Failed(_ int, state State) {
	t.busy.Store(true)
	c := t.current.Load()
	c.Failed++
	c.FailedBy[state]++
	t.busy.Store(false)
}

// Skipped counts a transaction that was not begun.
func (t *Tally) Skipped(int) {
	t.busy.Store(true)
	t.current.Load().Skipped++
	t.busy.Store(false)
}

// Connected counts a connection opened for one transaction.
func (t *Tally) Connected(_ int, took time.Duration) {
	t.busy.Store(true)
	c := t.current.Load()
	c.Connections++
	c.ConnectSum += took
	c.connect().Record(took)
	t.busy.Store(false)
}

// Take returns the counts since the last Take, and lets the thread go on in
// empty, which must be that. One goroutine takes at a time.
func (t *Tally) Take(empty *Counts) *Counts {
	taken := t.current.Swap(empty)
	// A thread that still writes to taken was busy before the exchange.
	for t.busy.Load() {
		runtime.Gosched()
	}
	return taken
}
