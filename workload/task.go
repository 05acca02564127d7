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
	wrong  int // the command that it belongs to
	// after says what comes after the rollback.
	after   fate
	rolling bool

	// Of the present request.
	preparing []int // commands being prepared, with a reply each
	step      script.Step
	replies   int // of the server, still to come
	command   int // the command that is being measured
	sent      time.Duration
	sleeping  bool            // in a \sleep
	results   []script.Result // of \gset and \aset

	// Of an open pipeline: what is to be sent at its end.
	pipe []byte
	// piped are its SQL commands in order, with syncMark for each Sync. group is where
	// those begin that the next reply is about.
	piped []int
	group int

	// row counts the failures in a row that have the SQLSTATE last.
	row  int
	last wire.State

	stats []scriptStats
	clock time.Time // the run's beginning, about; see now
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

// syncMark is a Sync among the commands of a pipeline.
const syncMark = -1

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
	if t.sleeping {
		t.sleeping = false
		t.measured(at.Now)
	}
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
		t.preparing = t.preparing[:0]
		if t.step.Action == script.SendSQL {
			return t.execute(at, buf)
		}
	}
	return t.advance(at, buf)
}

// begin chooses a script.
func (t *task) begin(at wire.Moment) {
	t.script = t.load.chooser.Choose(&t.choose)
	t.m.Begin(t.script)
	t.open, t.tries, t.lag = true, 1, at.Now-at.Begin
	t.clear()
}

// clear forgets what the try before has left.
func (t *task) clear() {
	t.failed, t.err, t.sleeping = wire.State{}, nil, false
	t.preparing = t.preparing[:0]
	t.pipe, t.piped, t.group = t.pipe[:0], t.piped[:0], 0
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
				t.pipe, t.piped = t.bind(t.pipe), append(t.piped, step.Command)
				continue
			}
			if t.load.mode == script.Prepared && !t.prepared[t.script][step.Command] {
				return t.prepare(at, buf, step.Command)
			}
			return t.execute(at, buf)
		case script.SleepFor:
			t.measure(at, step.Command)
			t.sleeping = true
			return buf, wire.Sleep(t.now(at) + step.Delay)
		case script.RunShell:
			if err := t.shell(at, step); err != nil {
				return buf, t.abort(err)
			}
		case script.StartPipeline:
			t.step = step
			t.piped, t.group = t.piped[:0], 0
			if missing := t.unprepared(step.Command); len(missing) > 0 {
				return t.prepare(at, buf, missing...)
			}
		case script.SyncPipeline:
			t.pipe, t.piped = wire.AppendSync(t.pipe), append(t.piped, syncMark)
		case script.EndPipeline:
			t.step = step
			return t.endPipeline(at, buf)
		}
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
		buf = wire.AppendSync(wire.AppendParse(buf, t.load.names[t.script][i], t.load.program.Scripts[t.script].Commands[i].SQL.Parameters))
	}
	return buf, t.send(len(commands))
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
		t.results, t.replies = t.results[:0], 1
		return buf, wire.SendRows(1)
	}
	return buf, t.send(1)
}

func (t *task) send(replies int) wire.Action {
	t.replies = replies
	return wire.Send(replies)
}

// endPipeline sends what the pipeline holds.
func (t *task) endPipeline(at wire.Moment, buf []byte) ([]byte, wire.Action) {
	t.measure(at, t.step.Command)
	t.piped = append(t.piped, syncMark)
	replies := 0
	for _, i := range t.piped {
		if i == syncMark {
			replies++
		}
	}
	buf = wire.AppendSync(append(buf, t.pipe...))
	t.pipe = t.pipe[:0]
	return buf, t.send(replies)
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
	t.measure(at, step.Command)
	output, err := t.load.shell(string(step.Text))
	if t.load.program.Scripts[t.script].Commands[step.Command].Kind == script.SetShellCommand {
		if exited(err) {
			err = nil
		}
	} else if t.load.o.Debug != nil {
		_, _ = io.WriteString(t.load.o.Debug, output) // a lost line must not end the load
	}
	if err == nil {
		t.measured(t.now(at))
	}
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
	if failed && t.failed == (wire.State{}) {
		t.failed, t.err, t.wrong = r.State, r.Err(), t.blame(r)
	}
	if len(t.preparing) > 0 {
		if !failed {
			t.prepared[t.script][t.preparing[len(t.preparing)-t.replies]] = true
		}
	} else {
		t.pass()
	}
	if t.replies--; t.replies > 0 || t.failed != (wire.State{}) {
		return
	}
	t.measured(at.Now)
	switch {
	case r.Copied && t.load.work.Strict:
		t.err = t.placed(t.step.Command, errCopyOut)
	case len(t.preparing) == 0 && t.step.Action == script.SendSQL && t.step.SQL.Store != script.StoreNone:
		if r.Commands > 0 {
			t.result(r.Commands - 1)
		}
		t.err = t.m.Results(t.results)
	}
}

// errCopyOut ends a client as pgbench does.
var errCopyOut = errors.New("COPY TO STDOUT is not supported in scripts: copy to a file on the server, or use SELECT")

// blame is the command that an error belongs to: of a pipeline, the one after those that
// went well since the last Sync. An error of the Sync itself, which commits, is the
// last one's.
func (t *task) blame(r *wire.Result) int {
	switch {
	case len(t.preparing) > 0:
		return t.preparing[len(t.preparing)-t.replies]
	case t.step.Action != script.EndPipeline:
		return t.step.Command
	}
	command := t.step.Command
	for _, i := range t.piped[t.group:min(t.group+r.Commands+1, len(t.piped))] {
		if i == syncMark {
			break
		}
		command = i
	}
	return command
}

// pass goes on to the commands of a pipeline that the next reply is about.
func (t *task) pass() {
	for t.group < len(t.piped) {
		t.group++
		if t.piped[t.group-1] == syncMark {
			return
		}
	}
}
