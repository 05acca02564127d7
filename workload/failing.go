package workload

import (
	"errors"
	"fmt"

	"pgtlb/workload/wire"
)

// fate is what becomes of a transaction after an error of the server.
type fate uint8

const (
	givenUp fate = iota
	// again: there is another try.
	again
	// dropped: only the end of the duration keeps it from another try, which is not
	// its failure. It is not counted, as in pgbench.
	dropped
)

// recover handles an error of the server: the transaction is tried again, or it
// has failed, or the client ends.
func (t *task) recover(at wire.Moment, buf []byte) ([]byte, wire.Action) {
	if w := t.load.o.Errors; w != nil {
		_, _ = fmt.Fprintf(w, "client %d got an error in command %d (SQL) of script %d; %v\n", t.client, t.wrong, t.script, t.err)
	}
	retryable := t.failed == serializationFailure || t.failed == deadlockDetected
	if !retryable && t.load.work.Strict {
		return buf, t.abort(t.placed(t.wrong, t.err))
	}
	switch {
	case !retryable || !t.mayRetry(at):
		t.after = givenUp
	case at.Over:
		t.after = dropped
	default:
		t.after = again
	}
	if t.status != 'I' {
		t.rolling = true
		return wire.AppendQuery(buf, "ROLLBACK"), wire.Send(1)
	}
	return t.rolledBack(at, buf)
}

// placed is an error of a command, with its place in the script.
func (t *task) placed(command int, err error) error {
	s := t.load.program.Scripts[t.script]
	return fmt.Errorf("%s:%d: %w", s.Name, s.Commands[command].Line, err)
}

// mayRetry tells whether there is another try for a transaction, if the duration
// is not over.
func (t *task) mayRetry(at wire.Moment) bool {
	o := &t.load.o
	return (o.MaxTries < 0 || t.tries < int64(o.MaxTries)) &&
		(o.LatencyLimit == 0 || at.Now-at.Begin <= o.LatencyLimit)
}

func (t *task) rolledBack(at wire.Moment, buf []byte) ([]byte, wire.Action) {
	if t.after == dropped {
		t.open = false
		return buf, wire.Stop()
	}
	if t.load.work.PerCommand && t.command >= 0 {
		c := &t.stats[t.script].commands[t.command]
		c.failed++
		if t.after == again {
			c.retried++
		}
	}
	if t.after == givenUp {
		return buf, t.fail(at)
	}
	t.tries++
	t.clear()
	t.m.Again()
	return t.advance(at, buf)
}

// errOpen ends a client whose script leaves a transaction open.
var errOpen = errors.New("end of script reached without completing the last transaction")

// finish ends a transaction that went well.
func (t *task) finish(at wire.Moment) wire.Action {
	open := t.status != 'I'
	if open && !t.load.work.Strict {
		return t.abort(errOpen)
	}
	t.row = 0
	t.stats[t.script].latency.add(at.Now - at.Begin)
	t.close(at, wire.State{})
	if open {
		t.abort(errOpen) // the transaction counts all the same, as in pgbench
	}
	return wire.Done()
}

// fail ends a transaction that is not tried again.
func (t *task) fail(at wire.Moment) wire.Action {
	s := &t.stats[t.script]
	s.failed++
	state, err := t.failed, t.err
	switch state {
	case serializationFailure:
		s.serialization++
	case deadlockDetected:
		s.deadlock++
	}
	t.close(at, state)
	if err := t.storm(state, err); err != nil {
		return wire.Abort(err)
	}
	return wire.Fail(state)
}

// close counts what both ends have in common.
func (t *task) close(at wire.Moment, failed wire.State) {
	t.open = false
	s := &t.stats[t.script]
	if t.tries > 1 {
		s.retried++
		s.retries += t.tries - 1
		t.load.retried.Add(1)
		t.load.retries.Add(t.tries - 1)
	}
	if t.load.log != nil {
		t.load.log.transaction(t, at, failed)
	}
}

// abort ends the client, and with it the load unless it is to go on as pgbench
// does.
func (t *task) abort(err error) wire.Action {
	if !t.load.work.Strict {
		return wire.Abort(err)
	}
	t.gone = true
	t.load.abort(Aborted{Client: t.client, Err: err})
	return wire.Stop()
}

// Lost ends a script's client alone, as pgbench does, unless no client is left
// with a connection.
func (t *task) Lost(err error) bool {
	var lost *wire.LostError
	if errors.As(err, &lost) {
		lost.Client, lost.Clients = t.client, t.load.o.Clients // those that ended before are not in the run
	}
	if !t.load.work.Strict || t.load.lost.Add(1) == int64(t.load.o.Clients) {
		return false
	}
	if lost != nil {
		err = &aloneError{lost}
	}
	if t.open && t.command >= 0 {
		err = t.placed(t.command, err)
	}
	t.abort(err)
	return true
}

// aloneError is a loss in a text that names the client already.
type aloneError struct{ lost *wire.LostError }

func (e *aloneError) Error() string { return e.lost.What() }
func (e *aloneError) Unwrap() error { return e.lost }

// stormLength is how many transactions of one client in a row may fail alike.
const stormLength = 100

// storm returns an error when a client does nothing but fail for one reason.
// Class 40 (serialization failure, deadlock) is what a contended load can bring
// and goes away by itself.
func (t *task) storm(state wire.State, err error) error {
	if state != t.last {
		t.last, t.row = state, 0
	}
	t.row++
	if t.row < stormLength || state[0] == '4' && state[1] == '0' {
		return nil
	}
	return fmt.Errorf("failed %d times in a row for the same reason: %w", t.row, err)
}
