package workload

import (
	"bufio"
	"fmt"
	"io"
	"sync"
	"time"

	"pgtlb/workload/wire"
)

// txnLog writes a line for each transaction, in the format of pgbench -l:
// client, transaction number from 1, latency in µs or what became of it, script, time
// of completion in s and µs, then the lag in µs with a rate and the number of
// retries where there may be some.
type txnLog struct {
	mu      sync.Mutex
	w       *bufio.Writer
	err     error // the first that occurred
	rate    bool
	kinds   bool // failures are told apart
	retries bool
	count   []int64 // by client
}

func newTxnLog(w io.Writer, l *Load) *txnLog {
	return &txnLog{w: bufio.NewWriterSize(w, 64<<10), rate: l.Rate > 0, kinds: l.LogKinds, retries: l.MaxTries < 0 || l.MaxTries > 1, count: make([]int64, l.Clients)}
}

// failureName is what the log says in place of a latency.
func (l *txnLog) failureName(state wire.State) string {
	switch {
	case !l.kinds:
		return "failed"
	case state == serializationFailure:
		return "serialization"
	case state == deadlockDetected:
		return "deadlock"
	}
	return "other"
}

// transaction logs one that ended; failed is zero for one that went well.
func (l *txnLog) transaction(t *task, at wire.Moment, failed wire.State) {
	took := fmt.Sprint((at.Now - at.Begin).Microseconds())
	if failed != (wire.State{}) {
		took = l.failureName(failed)
	}
	l.line(t.client, took, t.script, t.lag, t.tries-1)
}

// skipped logs one that was not begun.
func (l *txnLog) skipped(client int) { l.line(client, "skipped", 0, 0, 0) }

func (l *txnLog) line(client int, took string, script int, lag time.Duration, retries int64) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count[client]++
	_, err := fmt.Fprintf(l.w, "%d %d %s %d %d %d", client, l.count[client], took, script, now.Unix(), now.Nanosecond()/1000)
	if l.rate && err == nil {
		_, err = fmt.Fprintf(l.w, " %d", lag.Microseconds())
	}
	if l.retries && err == nil {
		_, err = fmt.Fprintf(l.w, " %d", retries)
	}
	if err == nil {
		err = l.w.WriteByte('\n')
	}
	if l.err == nil {
		l.err = err
	}
}

// close writes what is left and returns the first error there was.
func (l *txnLog) close() error {
	if err := l.w.Flush(); l.err == nil {
		l.err = err
	}
	if l.err != nil {
		return fmt.Errorf("writing the transaction log: %w", l.err)
	}
	return nil
}

// loggedRecorder logs the transactions that a recorder only hears of.
type loggedRecorder struct {
	wire.Recorder
	log     *txnLog
	numbers []int // of the run's clients
}

// Skipped counts and logs one.
func (r loggedRecorder) Skipped(client int) {
	r.log.skipped(r.numbers[client])
	r.Recorder.Skipped(client)
}
