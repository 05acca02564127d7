package script

import (
	"errors"
	"io"
	"time"
)

// Action is what the driver has to do.
type Action uint8

const (
	// EndOfScript: the transaction is complete. The next one begins with Begin.
	EndOfScript Action = iota
	// SendSQL: send Step.SQL, with Step.Text in simple mode or Step.Args in the others. Outside of a pipeline wait for
	// the answer to its end; where SQL.Store is not StoreNone, give the answer to Results.
	SendSQL
	// SleepFor: wait for Step.Delay.
	SleepFor
	// RunShell: run Step.Text in a shell and give the result to ShellDone.
	RunShell
	// StartPipeline: from here on do not wait for answers. See Script.Pipeline for the prepared mode.
	StartPipeline
	// SyncPipeline: send a Sync and go on without waiting.
	SyncPipeline
	// EndPipeline: send a Sync and wait for all answers.
	EndPipeline
)

// String names the action.
func (a Action) String() string {
	return [...]string{"end", "sql", "sleep", "shell", "startpipeline", "syncpipeline", "endpipeline"}[a]
}

// Step is what the driver has to do next. Its slices belong to the Machine and are valid until the next call of Next.
type Step struct {
	Action   Action
	Command  int      // its index in the script
	SQL      *SQL     // of SendSQL
	Text     []byte   // SendSQL in simple mode: the text with its values; RunShell: the command
	Args     [][]byte // SendSQL in the other modes: the parameters as text; nil is null
	Pipeline bool     // a pipeline is open
	Delay    time.Duration
}

// Client is what a Machine needs to know of its client.
type Client struct {
	Mode  Mode
	Vars  *Vars     // from the same program
	Rand  Rand      // for the random functions
	Debug io.Writer // where debug() writes; nil throws it away
	// Observe is called after each command that Next has done by itself; nil is
	// not called.
	Observe func(command int)
}

// Machine runs the scripts of a program for one client. Backslash commands that need nothing from outside are done
// inside of Next. It is not safe for use by several goroutines.
type Machine struct {
	program *Program
	mode    Mode
	scope   scope
	rand    Rand
	begun   Rand // state at Begin
	script  *Script
	index   int
	at      int // next command
	pipe    bool
	waiting Action // RunShell, or SendSQL with a Store, until its result is here
	observe func(int)

	text []byte
	args [][]byte
	ends []int // of the parameters in text; -1 is null
}

// Machine makes a machine for a client. Begin comes first.
func (p *Program) Machine(c Client) *Machine {
	m := &Machine{program: p, mode: c.Mode, rand: c.Rand, observe: c.Observe}
	m.scope = scope{vars: c.Vars, rand: &m.rand, debug: c.Debug}
	return m
}

// Vars are the client's variables.
func (m *Machine) Vars() *Vars { return m.scope.vars }

// Rand is the client's generator, the one of the random functions.
func (m *Machine) Rand() *Rand { return &m.rand }

// Begin starts a script, by its index in the program, from its first command.
func (m *Machine) Begin(script int) {
	m.index, m.script = script, m.program.Scripts[script]
	m.scope.script, m.scope.slots = script, m.program.slots[script]
	m.begun = m.rand
	m.reset()
}

// Again starts the same script again after a serialization failure or a deadlock, with the random numbers of before.
// Variables keep what was stored in them, as in pgbench.
func (m *Machine) Again() {
	m.rand = m.begun
	m.reset()
}

func (m *Machine) reset() { m.at, m.pipe, m.waiting = 0, false, EndOfScript }

// Next goes on to the next thing that the driver has to do. An error, of type *Error, ends the client.
func (m *Machine) Next() (Step, error) {
	if m.waiting != EndOfScript {
		return Step{}, m.fail(errors.New("the result of the command before has not been given"))
	}
	for m.at < len(m.script.Commands) {
		i := m.at
		c := &m.script.Commands[i]
		m.at++
		m.scope.command = i
		step := Step{Command: i, Pipeline: m.pipe}
		var err error
		switch c.Kind {
		case SQLCommand:
			step.Action = SendSQL
			err = m.sql(c.SQL, &step)
		case SetCommand:
			err = m.set(c)
		case IfCommand, ElifCommand, ElseCommand:
			err = m.branch(c)
		case EndifCommand:
		case SleepCommand:
			step.Action = SleepFor
			step.Delay, err = m.sleep(c)
		case ShellCommand, SetShellCommand:
			step.Action = RunShell
			err = m.shell(c, &step)
		default:
			err = m.pipeline(c.Kind, &step)
		}
		if err != nil {
			return Step{}, m.fail(err)
		}
		if step.Action != EndOfScript {
			return step, nil
		}
		if m.observe != nil {
			m.observe(i)
		}
	}
	if m.pipe {
		return Step{}, m.script.src.fault(-1, "", "end of script reached with pipeline open")
	}
	return Step{Action: EndOfScript, Command: len(m.script.Commands)}, nil
}

// fail places an error of the current command: at the operator that it came from, else at the command's beginning.
func (m *Machine) fail(err error) error {
	c := &m.script.Commands[m.scope.command]
	name := ""
	if c.Kind != SQLCommand {
		name = c.Kind.String()
	} else if c.SQL.Store != StoreNone {
		name = c.SQL.Store.String()
	}
	pos := c.pos
	var spot *spotError
	if errors.As(err, &spot) {
		pos = spot.pos
	}
	return m.script.src.fault(pos, name, err.Error())
}

func (m *Machine) set(c *Command) error {
	v, err := m.scope.eval(c.expr)
	if err != nil {
		return err
	}
	if c.ref < 0 {
		return checkName(c.name)
	}
	*m.variable(c.ref) = variable{data: v, hasData: true}
	return nil
}

// branch runs on into a branch whose condition holds. An \elif or \else that is reached from the branch before it goes
// to the end.
func (m *Machine) branch(c *Command) error {
	if c.Kind != IfCommand {
		m.at = c.last + 1
		return nil
	}
	for {
		v, err := m.scope.eval(c.expr)
		if err != nil {
			return err
		}
		if v.Truth() {
			return nil
		}
		m.at = c.next + 1
		m.scope.command = c.next
		if c = &m.script.Commands[c.next]; c.Kind != ElifCommand {
			return nil
		}
	}
}

func (m *Machine) pipeline(kind CommandKind, step *Step) error {
	switch {
	case kind == StartPipelineCommand && m.mode == Simple:
		return errors.New("cannot use pipeline mode with the simple query protocol")
	case kind == StartPipelineCommand && m.pipe:
		return errors.New("already in pipeline mode")
	case kind != StartPipelineCommand && !m.pipe:
		return errors.New("not in pipeline mode")
	}
	switch kind {
	case StartPipelineCommand:
		step.Action = StartPipeline
	case SyncPipelineCommand:
		step.Action = SyncPipeline
	default:
		step.Action = EndPipeline
	}
	m.pipe = kind != EndPipelineCommand
	step.Pipeline = m.pipe
	return nil
}

// sql fills in the values of the variables. In simple mode a variable that is not set stays as it is written, in the
// others it is null; a variable that is null is the text NULL in every mode.
func (m *Machine) sql(q *SQL, step *Step) error {
	if q.Store != StoreNone {
		if m.pipe {
			return errors.New(`\` + q.Store.String() + " is not allowed in pipeline mode")
		}
		m.waiting = SendSQL
	}
	step.SQL = q
	m.text = m.text[:0]
	if m.mode == Simple {
		for i := range q.pieces {
			m.piece(&q.pieces[i])
		}
		step.Text = m.text
		return nil
	}
	m.ends, m.args = m.ends[:0], m.args[:0]
	for _, ref := range q.refs {
		x := m.variable(ref)
		if !x.set() {
			m.ends = append(m.ends, -1)
			continue
		}
		m.text = x.append(m.text)
		m.ends = append(m.ends, len(m.text))
	}
	start := 0
	for _, end := range m.ends {
		if end < 0 {
			m.args = append(m.args, nil)
			continue
		}
		m.args = append(m.args, m.text[start:end:end])
		start = end
	}
	step.Args = m.args
	return nil
}

func (m *Machine) variable(ref int) *variable { return &m.scope.vars.slots[m.scope.slots[ref]] }

// piece adds a piece of a text, and tells whether its variable was set.
func (m *Machine) piece(a *argument) bool {
	if a.ref >= 0 {
		if x := m.variable(a.ref); x.set() {
			m.text = x.append(m.text)
			return true
		}
	}
	m.text = append(m.text, a.text...)
	return a.ref < 0
}
