package wire

import "time"

// Task is what one client does. Its methods are called by the goroutine that
// drives the client, one at a time, and must not block: every other client of the
// thread waits.
type Task interface {
	// Next appends the messages of the next request to buf, which is empty, and
	// says what the client does next. It is called when a transaction begins, after the
	// results of a request, and after a sleep.
	Next(at Moment, buf []byte) ([]byte, Action)
	// Result is called once for each ReadyForQuery of a request. r is reused
	// after the call.
	Result(at Moment, r *Result)
}

// RowTask is a Task that can look at rows. Both methods are called only for a
// request that SendRows sent, and before the Result that they belong to. Their arguments
// are valid during the call only. command counts the commands of one
// ReadyForQuery from 0, for requests of several commands.
type RowTask interface {
	Task
	Columns(command int, c Columns)
	Row(command int, r Row)
}

// ReconnectTask is a Task that is told when each of its transactions has a
// connection of its own (Options.Reconnect).
type ReconnectTask interface {
	Task
	// Reconnected is called before the first Next of a transaction: the session is
	// fresh, so that prepared statements and settings of the one before are gone.
	Reconnected()
}

// LossTask is a Task that may end without the run when it cannot go on.
type LossTask interface {
	Task
	// Lost is called when the client has lost its connection (*LostError), cannot
	// open one, or cannot go on with what the server sent. If it returns true, the client
	// alone ends, as after Stop; else the run ends with that error. It is the last call of the
	// client's run, and is not made when the run is ending anyway.
	Lost(err error) bool
}

// Moment is a time of a run. Times are since the run began, on a monotonic clock.
type Moment struct {
	Now time.Duration
	// Begin is where the latency of the present transaction counts from: its
	// scheduled start with a rate, else the first call of Next for it, when its
	// connection is there.
	Begin time.Duration
	// Over says that the run's duration is over: the transaction is the
	// client's last, and one that failed is not worth another try.
	Over bool
}

type kind uint8

const (
	send kind = iota + 1
	sleep
	done
	fail
	stop
	abort
)

// Action is what a client does next.
type Action struct {
	kind    kind
	rows    bool
	state   State
	replies int32
	until   time.Duration
	err     error
}

// Send sends the messages appended and waits for that many ReadyForQuery: one
// for a simple query, else one for each Sync. It must be at least 1.
func Send(replies int) Action { return Action{kind: send, replies: int32(replies)} }

// SendRows is Send for a request whose rows the task, a RowTask, is shown.
func SendRows(replies int) Action { return Action{kind: send, replies: int32(replies), rows: true} }

// Sleep calls Next again at that time, with the transaction still going on.
func Sleep(until time.Duration) Action { return Action{kind: sleep, until: until} }

// Done ends a transaction: its latency is recorded. Next is called for another
// one when there is to be one.
func Done() Action { return Action{kind: done} }

// Fail ends a transaction that failed with that SQLSTATE. It is counted apart
// and has no latency.
func Fail(state State) Action { return Action{kind: fail, state: state} }

// Stop ends the client; the others go on. The transaction that it leaves, if it
// is in one, is not counted.
func Stop() Action { return Action{kind: stop} }

// Abort ends the whole run with that error.
func Abort(err error) Action { return Action{kind: abort, err: err} }

// Recorder takes what the clients of one thread measure. It is called by one
// goroutine at a time; every method is on the path of a transaction and should not
// wait.
type Recorder interface {
	// Done is a finished transaction: its latency, lag included, and its lag, the
	// time from its scheduled start to its real one (0 without a rate).
	Done(client int, latency, lag time.Duration)
	// Failed is a transaction that its task gave up.
	Failed(client int, state State)
	// Skipped is a transaction that was not begun, because its scheduled start
	// had passed by more than the latency limit.
	Skipped(client int)
	// Connected is a connection opened for one transaction, and how long that took,
	// authentication included. The latency does not contain it; with a rate, the lag does.
	Connected(client int, took time.Duration)
}
