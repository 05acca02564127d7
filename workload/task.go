package workload

import (
	"errors"
	"fmt"
	"io"
	"time"

	"pgtlb/workload/script"
	"pgtlb/workload/wire"
)

// task is one client of a load: it steps a script machine and speaks to the
// server through package wire. It belongs to its client's thread.
type task struct {
	load   *loading
	client int
	m      *script.Machine
	choose script.Rand

	// Of the session.
	prepared [][]bool // by script and command
	status   byte     // transaction status of the last ReadyForQuery

	// Of the present transaction.
	open   bool
	script int
	lag    time.Duration // from its scheduled start to its real one
	tries  int64
	// failed is the first error of this try, with its words in err.
	failed wire.State
	err    error
	// retry says what comes after the rollback.
	retry, rolling bool

	// Of the present request.
	preparing []int // commands being prepared
	step      script.Step
	command   int // the command that is being measured
	sent      time.Duration
	results   []script.Result // of \gset and \aset

	// Of an open pipeline: what is to be sent at its end.
	pipe  []byte
	syncs int

	// row counts the failures in a row that have the SQLSTATE last.
	row  int
	last wire.State

	stats []scriptStats
	clock time.Time // the run's beginning, for what Next does in between
	gone  bool      // it ended early
}

// scriptStats are what one client did with one script.
type scriptStats struct {
	latency                  Moments
	failed, retried, retries int64
	serialization, deadlock  int64 // of the failed
	commands                 []commandStats
}

type commandStats struct {
	took            Moments
	failed, retried int64
}

var (
	serializationFailure = wire.State{'4', '0', '0', '0', '1'}
	deadlockDetected     = wire.State{'4', '0', 'P', '0', '1'}
)

// forget empties the client's figures.
func (t *task) forget() {
	t.stats = make([]scriptStats, len(t.load.program.Scripts))
	if t.load.work.PerCommand {
		for i, s := range t.load.program.Scripts {
			t.stats[i].commands = make([]commandStats, len(s.Commands))
		}
	}
}

// Reconnected notes that the session is a new one.
func (t *task) Reconnected() {
	t.status = 'I'
	for _, p := range t.prepared {
		clear(p)
	}
}

// Next goes on with the transaction, or begins one.
func (t *task) Next(at wire.Moment, buf []byte) ([]byte, wire.Action) {
	switch {
	case t.gone:
		return buf, wire.Stop()
	case !t.open:
		t.begin(at)
	case t.err != nil && t.failed == wire.State{}:
		return buf, t.abort(t.err)
	case t.rolling:
		t.rolling = false
		return t.rolledBack(at, buf)
	case t.failed != wire.State{}:
		return t.recover(at, buf)
	case len(t.preparing) > 0:
		for _, i := range t.preparing {
			t.prepared[t.script][i] = true
		}
		t.preparing = t.preparing[:0]
		if t.step.Action == script.SendSQL {
			return t.execute(at, buf)
		}
	}
	return t.advance(at, buf)
}

// begin chooses a script.
func (t *task) begin(at wire.Moment) {
	if t.clock.IsZero() {
		t.clock = time.Now().Add(-at.Now)
	}
	t.script = t.load.chooser.Choose(&t.choose)
	t.m.Begin(t.script)
	t.open, t.tries, t.lag = true, 1, at.Now-at.Begin
	t.clear()
}

// clear forgets what the try before has left.
func (t *task) clear() {
	t.failed, t.err, t.retry = wire.State{}, nil, false
	t.preparing, t.pipe, t.syncs = t.preparing[:0], t.pipe[:0], 0
}

// advance runs the script until it has to wait.
func (t *task) advance(at wire.Moment, buf []byte) ([]byte, wire.Action) {
	for {
		step, err := t.next(at)
		if err != nil {
			return buf, t.abort(err)
		}
		switch step.Action {
		case script.EndOfScript:
			return buf, t.finish(at)
		case script.SendSQL:
			t.step = step
			if step.Pipeline {
				t.pipe = t.bind(t.pipe)
				continue
			}
			if t.load.mode == script.Prepared && !t.prepared[t.script][step.Command] {
				return t.prepare(at, buf, step.Command)
			}
			return t.execute(at, buf)
		case script.SleepFor:
			if step.Delay > 0 {
				t.measure(at, step.Command)
				return buf, wire.Sleep(t.now(at) + step.Delay)
			}
		case script.RunShell:
			if err := t.shell(at, step); err != nil {
				return buf, t.abort(err)
			}
		case script.StartPipeline:
			t.step = step
			if missing := t.unprepared(step.Command); len(missing) > 0 {
				return t.prepare(at, buf, missing...)
			}
		case script.SyncPipeline:
			t.pipe = wire.AppendSync(t.pipe)
			t.syncs++
		case script.EndPipeline:
			t.measure(at, step.Command)
			buf = wire.AppendSync(append(buf, t.pipe...))
			replies := t.syncs + 1
			t.pipe, t.syncs = t.pipe[:0], 0
			return buf, wire.Send(replies)
		}
	}
}

// next steps the machine; with PerCommand what it does by itself is measured by
// observe.
func (t *task) next(at wire.Moment) (script.Step, error) {
	if t.load.work.PerCommand {
		t.sent = t.now(at)
	}
	return t.m.Next()
}

// observe measures a command that the machine has done by itself.
func (t *task) observe(command int) {
	now := time.Since(t.clock)
	t.stats[t.script].commands[command].took.add(now - t.sent)
	t.sent = now
}

// now is the time; a shell command may have taken a while.
func (t *task) now(at wire.Moment) time.Duration {
	return max(at.Now, time.Since(t.clock))
}

// measure notes that a command begins which the server, or time, ends.
func (t *task) measure(at wire.Moment, command int) { t.command, t.sent = command, at.Now }

// measured notes its end.
func (t *task) measured(now time.Duration, failed bool) {
	if !t.load.work.PerCommand || t.command < 0 {
		return
	}
	c := &t.stats[t.script].commands[t.command]
	if failed {
		c.failed++
	} else {
		c.took.add(now - t.sent)
	}
}

// unprepared are the SQL commands of a pipeline that have to be prepared before
// it starts.
func (t *task) unprepared(start int) []int {
	if t.load.mode != script.Prepared {
		return nil
	}
	var list []int
	for _, i := range t.load.program.Scripts[t.script].Pipeline(start) {
		if !t.prepared[t.script][i] {
			list = append(list, i)
		}
	}
	return list
}

// prepare has the server prepare commands.
func (t *task) prepare(at wire.Moment, buf []byte, commands ...int) ([]byte, wire.Action) {
	t.preparing = append(t.preparing[:0], commands...)
	t.measure(at, -1)
	for _, i := range commands {
		buf = wire.AppendParse(buf, t.load.names[t.script][i], t.load.program.Scripts[t.script].Commands[i].SQL.Parameters)
	}
	return wire.AppendSync(buf), wire.Send(1)
}

// execute sends the SQL of the present step.
func (t *task) execute(at wire.Moment, buf []byte) ([]byte, wire.Action) {
	t.measure(at, t.step.Command)
	if t.load.mode == script.Simple {
		var mark int
		buf, mark = wire.BeginQuery(buf)
		buf = wire.EndQuery(append(buf, t.step.Text...), mark)
	} else {
		buf = wire.AppendSync(t.bind(buf))
	}
	if t.step.SQL.Store != script.StoreNone {
		t.results = t.results[:0]
		return buf, wire.SendRows(1)
	}
	return buf, wire.Send(1)
}

// bind appends the present step in the extended protocol, without Sync.
func (t *task) bind(buf []byte) []byte {
	name := ""
	if t.load.mode == script.Prepared {
		name = t.load.names[t.script][t.step.Command]
	} else {
		buf = wire.AppendParse(buf, "", t.step.SQL.Parameters)
	}
	buf, mark := wire.BeginBind(buf, name, len(t.step.Args))
	for _, arg := range t.step.Args {
		if arg == nil {
			buf = wire.AppendNull(buf)
			continue
		}
		var param int
		buf, param = wire.BeginParam(buf)
		buf = wire.EndParam(append(buf, arg...), param)
	}
	return wire.AppendExecute(wire.EndBind(buf, mark))
}

// shell runs a shell command. All clients of the thread wait for it, as in
// pgbench.
func (t *task) shell(at wire.Moment, step script.Step) error {
	if t.load.o.Shell == nil {
		return errors.New("shell commands are not run here")
	}
	t.measure(wire.Moment{Now: t.now(at)}, step.Command)
	output, err := t.load.shell(string(step.Text))
	if t.load.program.Scripts[t.script].Commands[step.Command].Kind == script.SetShellCommand {
		if exited(err) {
			err = nil
		}
	} else if t.load.o.Debug != nil {
		_, _ = io.WriteString(t.load.o.Debug, output) // a lost line must not end the load
	}
	t.measured(t.now(at), err != nil)
	return t.m.ShellDone(output, err)
}

// exited tells of a command that ended by itself with another code than 0.
func exited(err error) bool {
	var e interface{ ExitCode() int }
	return errors.As(err, &e) && e.ExitCode() >= 0
}

// Columns notes the columns of an answer that is to be stored.
func (t *task) Columns(command int, c wire.Columns) {
	r := t.result(command)
	for i := range c.Len() {
		if name, ok := c.Name(i); ok {
			r.Columns = append(r.Columns, string(name))
		}
	}
}

// Row keeps the last row of an answer.
func (t *task) Row(command int, row wire.Row) {
	r := t.result(command)
	r.Rows++
	r.Last = r.Last[:0]
	for i := range row.Len() {
		v, _ := row.Value(i)
		r.Last = append(r.Last, append([]byte(nil), v...))
	}
}

// result is the answer of a statement, made when it is first asked for.
func (t *task) result(command int) *script.Result {
	for len(t.results) <= command {
		t.results = append(t.results, script.Result{})
	}
	return &t.results[command]
}

// Result takes the end of an answer.
func (t *task) Result(at wire.Moment, r *wire.Result) {
	t.status = r.Status
	if t.rolling {
		if r.State != (wire.State{}) {
			t.failed, t.err = wire.State{}, fmt.Errorf("rolling back: %w", r.Err())
		}
		return
	}
	failed := r.State != wire.State{}
	t.measured(at.Now, failed)
	switch {
	case failed && t.failed == wire.State{}:
		t.failed, t.err = r.State, r.Err()
	case failed || len(t.preparing) > 0:
	case t.step.Action == script.SendSQL && t.step.SQL.Store != script.StoreNone:
		if r.Commands > 0 {
			t.result(r.Commands - 1)
		}
		t.err = t.m.Results(t.results)
	}
}

// recover handles an error of the server: the transaction is tried again, or it
// has failed, or the client ends.
func (t *task) recover(at wire.Moment, buf []byte) ([]byte, wire.Action) {
	if w := t.load.o.Errors; w != nil {
		_, _ = fmt.Fprintf(w, "client %d got an error in command %d (SQL) of script %d; %v\n", t.client, t.step.Command, t.script, t.err)
	}
	again := t.failed == serializationFailure || t.failed == deadlockDetected
	if !again && t.load.work.Strict {
		s := t.load.program.Scripts[t.script]
		return buf, t.abort(fmt.Errorf("%s:%d: %w", s.Name, s.Commands[t.step.Command].Line, t.err))
	}
	t.retry = again && t.mayRetry(at)
	if t.status != 'I' {
		t.rolling = true
		return wire.AppendQuery(buf, "ROLLBACK"), wire.Send(1)
	}
	return t.rolledBack(at, buf)
}

// mayRetry tells whether there is another try for a transaction.
func (t *task) mayRetry(at wire.Moment) bool {
	o := &t.load.o
	return (o.MaxTries < 0 || t.tries < int64(o.MaxTries)) &&
		(o.LatencyLimit == 0 || at.Now-at.Begin <= o.LatencyLimit) && !at.Over
}

func (t *task) rolledBack(at wire.Moment, buf []byte) ([]byte, wire.Action) {
	if !t.retry {
		return buf, t.fail(at)
	}
	if t.load.work.PerCommand && t.command >= 0 {
		t.stats[t.script].commands[t.command].retried++
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
