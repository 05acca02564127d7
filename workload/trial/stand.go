package trial

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"pgtlb/probes"
	"pgtlb/workload"
	"pgtlb/workload/experiment"
	"pgtlb/workload/lab"
)

// stand makes the steps of an experiment on the server of a session, with one of
// its loads. Its methods are called by jobs, one at a time, but for those that say
// otherwise.
type stand struct {
	s    *Session
	o    ExperimentOptions
	load *load

	setting guc
	way     way
	arms    []arm // of the plan's values, in their order
	before  lab.Pages
	changed bool // the server has, or may have, a value of the experiment
	// started is when a server that pgtlb did not make was started before the first
	// change that takes a restart; zero before that.
	started time.Time
	ledger  *ledger // of what was changed on a server that pgtlb did not make
	system  string  // identifies such a server; empty where that is not known

	// turn has room for one: who arranges, measures or puts back is in it. A step that
	// was left behind keeps it.
	turn chan struct{}

	mu   sync.Mutex // guards the rest
	step *StepMeta  // the one being made; nil before the first
	arm  *arm       // of it
}

// way is how a value comes into force.
type way int

const (
	bySession way = iota // in the load's own sessions; the server does not change
	byReload             // ALTER SYSTEM, then the configuration is read again
	byRestart
)

// wayOf tells how the server takes a change of a setting.
func wayOf(g guc) (way, error) {
	switch g.Context {
	case "postmaster":
		return byRestart, nil
	case "sighup":
		return byReload, nil
	case "backend", "superuser-backend", "superuser", "user":
		return bySession, nil
	case "internal":
		return 0, fmt.Errorf("%s cannot be varied: %w", g.Name, lab.ErrFixed)
	}
	return 0, fmt.Errorf("%s cannot be varied: pgtlb does not know its context %q", g.Name, g.Context)
}

// journal begins the experiment's journal, or opens the one that is gone on with.
func (x *stand) journal() (*experiment.Journal, error) {
	if j := x.o.Resume; j != nil {
		if err := j.GoOn(); err != nil {
			return nil, err
		}
		x.o.Plan = j.Plan
		return j, nil
	}
	x.o.Plan.System = x.system
	if x.o.Plan.Arguments == nil {
		x.s.query(func() { x.o.Plan.Arguments = x.arguments() })
	}
	return experiment.Create(x.s.o.Store.Dir(), x.o.Plan)
}

// enter waits for the turn; false where ctx ends first.
func (x *stand) enter(ctx context.Context) bool {
	select {
	case x.turn <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (x *stand) leave() { <-x.turn }

// Arrange implements experiment.Stand.
func (x *stand) Arrange(ctx context.Context, p experiment.Plan, step experiment.Step) error {
	if !x.enter(ctx) {
		return ctx.Err()
	}
	defer x.leave()
	a := &x.arms[step.Arm]
	x.begin(p, step, a)
	switch x.way {
	case byRestart:
		return x.restart(ctx, p, a)
	case byReload:
		return x.reload(ctx, p, a)
	}
	return nil
}

// begin notes which step is made from now on.
func (x *stand) begin(p experiment.Plan, step experiment.Step, a *arm) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.arm = a
	x.step = &StepMeta{Experiment: p.Name, Factor: p.Factor, Arm: p.Arms()[step.Arm], Block: step.Block, Position: step.Position, OutOfOrder: step.Repeat}
}

// stepMeta is the step being made with the value as the sessions saw it. It may be
// called by any goroutine.
func (x *stand) stepMeta() *StepMeta {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.step == nil {
		return nil
	}
	m := *x.step
	return &m
}

// saw notes the value as it is in force.
func (x *stand) saw(value string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.step.Seen = value
}

// connect opens the sessions of the load of a step, each of which is asked for the
// value that it has. It is called by many goroutines.
func (x *stand) connect(name string, a *arm) workload.Connect {
	var settings map[string]string
	if x.way == bySession {
		settings = a.set
	}
	connect := x.s.connectWith(name, settings)
	return func(ctx context.Context) (*pgx.Conn, error) {
		conn, err := connect(ctx)
		if err != nil {
			return nil, err
		}
		seen, err := x.verify(ctx, conn, a)
		if err != nil {
			_ = conn.Close(context.WithoutCancel(ctx)) // it is of no use
			return nil, err
		}
		if a.pages == 0 && x.stepMeta() != nil {
			x.saw(seen)
		}
		return conn, nil
	}
}

// verify reads the value in a session and stops the experiment where it is not
// that of the arm.
func (x *stand) verify(ctx context.Context, conn *pgx.Conn, a *arm) (seen string, err error) {
	// The simple protocol leaves no prepared statement behind in the session.
	err = conn.QueryRow(ctx, "SELECT current_setting($1)", pgx.QueryExecModeSimpleProtocol, x.setting.Name).Scan(&seen)
	if err != nil {
		return "", fmt.Errorf("reading %s in a session of the load: %w", x.setting.Name, err)
	}
	want := a.set[x.setting.Name]
	if x.setting.same(seen, want) || x.automatic(want) {
		return seen, nil
	}
	from := "from elsewhere"
	if now, err := readSetting(ctx, conn, x.setting.Name); err == nil {
		from = "its source is " + now.Source
		if o := now.owner(); o != "" {
			from = "from " + o
		}
	}
	return "", fmt.Errorf("a session of the load has %s = %s and not %s, %s: take that back, or load as another role or in another database; %w",
		x.setting.Name, probes.Clean(seen), want, from, experiment.ErrStop)
}

// automatic tells whether a value has the server choose another by itself at its
// start, as wal_buffers = -1 does.
func (x *stand) automatic(value string) bool {
	return x.way == byRestart && slices.Contains([]string{"integer", "real"}, x.setting.Type) && x.setting.same(value, "-1")
}
