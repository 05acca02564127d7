package experiment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pgtlb/workload/verdict"
)

// Stand is where the runs are made.
type Stand interface {
	// Arrange brings the server to the value of the step's arm, with everything as
	// before every other run: restarted where any arm needs that, the data read in.
	// An error that wraps ErrStop ends the experiment, any other only the step.
	Arrange(ctx context.Context, p Plan, s Step) error
	// Measure makes the run and returns its name and the figure of the primary
	// metric. The name is returned with an error too, where a run was begun.
	Measure(ctx context.Context, p Plan, s Step) (run string, primary float64, err error)
}

// ErrStop is wrapped by errors after which no further step makes sense: the setting
// has another value in the sessions than the arm's, the server is gone.
var ErrStop = errors.New("the experiment cannot go on")

// Gate is what is known before the first change.
type Gate struct {
	Identical []float64 // primary figures of the identical runs
	Spread    float64   // (most - least) / median of them
	// Floor is the noise floor to be expected of as many runs as it is taken from at
	// the end: a range grows with the number of runs.
	Floor float64
	// Pairs is how many pairs the wished effect is likely to take with that spread,
	// Cautious how many where the runs happened to lie close, 0 where the effect would
	// then be hidden. Planned is how many are planned.
	Pairs, Cautious, Planned int
	// Hidden is set where the wished effect is likely to be below the noise floor.
	Hidden bool
	Detect float64
	// Block is about how long a pair takes.
	Block time.Duration
}

// Progress is where an experiment stands.
type Progress struct {
	Plan  Plan
	Made  []Made
	Step  Step   // being made
	Of    int    // steps in all, without repetitions
	Phase string // "arranging", "measuring", "done"
	Since time.Time
	// Left is about how long it takes until the end; 0 before the first step is done.
	Left time.Duration
}

// Hooks are what an execution tells and asks.
type Hooks struct {
	// Report is called at each change; it must not block.
	Report func(Progress)
	// Ask is called once, before the first change, and returns how many pairs to
	// make; 0 ends the experiment. nil makes those that are planned.
	Ask func(context.Context, Gate) (int, error)
}

// grace is how long a step that was told to end may take for it. It is longer than
// the longest that a stand may not cut off, the restart of a server.
const grace = 2 * time.Minute

// mostFailures in a row end an experiment: what fails three times fails always.
const mostFailures = 3

// Execute makes the steps of a journal that are left, one after the other. What was
// made is kept whatever happens. It returns nil when all steps were made, also where
// some failed; ctx's error when it ended; else what stopped it. The journal is
// closed.
func Execute(ctx context.Context, j *Journal, stand Stand, h Hooks) error {
	e := &execution{j: j, stand: stand, hooks: h}
	err := e.all(ctx)
	reason := "finished"
	switch {
	case err == nil: // also where ctx ended after the last step
	case ctx.Err() != nil:
		reason = "interrupted"
	case errors.Is(err, errEnough):
		reason, err = "ended by a person before the first change", nil
	default:
		reason = err.Error()
	}
	return errors.Join(err, j.Close(reason))
}

// errEnough is the answer that no pairs are to be made.
var errEnough = errors.New("no pairs are to be made")

type execution struct {
	j     *Journal
	stand Stand
	hooks Hooks
	asked bool
	bad   int // steps that failed in a row
}

func (e *execution) all(ctx context.Context) error {
	for {
		left := e.j.Left()
		if len(left) == 0 {
			break
		}
		if left[0].Block > 0 {
			changed, err := e.gate(ctx)
			if err != nil {
				return err
			}
			if changed {
				continue
			}
		}
		if err := e.step(ctx, left[0]); err != nil {
			return err
		}
	}
	if !e.j.Plan.RepeatFailed {
		return nil
	}
	for _, s := range e.j.failed() {
		if err := e.step(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// gate asks once, before the first change, whether the plan is enough. An
// experiment that is gone on with has been asked before.
func (e *execution) gate(ctx context.Context) (changed bool, err error) {
	if e.asked {
		return false, nil
	}
	e.asked = true
	for _, m := range e.j.Made {
		if m.Step.Block > 0 {
			return false, nil
		}
	}
	if e.hooks.Ask == nil {
		return false, nil
	}
	g := Gate{Identical: e.j.identical(), Planned: e.j.Plan.Pairs, Detect: e.j.Plan.Detect,
		Block: time.Duration(len(e.j.Plan.Values)) * e.usual()}
	if spread, ok := verdict.Spread(g.Identical); ok {
		g.Spread = spread
	}
	if p, ok := verdict.PairsFor(g.Detect, g.Identical, verdict.Usual(0)); ok {
		g.Pairs, g.Cautious, g.Floor, g.Hidden = p.Pairs, p.Cautious, p.Floor, p.Hidden
	}
	n, err := e.hooks.Ask(ctx, g)
	switch {
	case err != nil:
		return false, err
	case n == 0:
		return false, errEnough
	case n == e.j.Plan.Pairs:
		return false, nil
	}
	return true, e.j.setPairs(n)
}

// usual is the mean length of the steps made so far.
func (e *execution) usual() time.Duration {
	var sum time.Duration
	n := 0
	for _, m := range e.j.Made {
		if m.State == Done {
			sum += m.Ended.Sub(m.Started)
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum / time.Duration(n)
}

// step makes one step and writes it down. The error ends the experiment.
func (e *execution) step(ctx context.Context, s Step) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m := Made{Step: s, Started: time.Now()}
	limited, cancel := context.WithTimeoutCause(ctx, e.j.Plan.Limit, errHung)
	defer cancel()
	err := e.make(limited, s, &m)
	m.Ended, m.State = time.Now(), Done
	switch {
	case err == nil:
	case ctx.Err() != nil:
		m.State, m.Why = Interrupted, "interrupted"
	case errors.Is(context.Cause(limited), errHung):
		m.State, m.Why = Hung, fmt.Sprintf("not done after %v: ended", e.j.Plan.Limit)
	case errors.Is(err, ErrStop): // not the step failed: who goes on makes it
		m.State, m.Why = Interrupted, err.Error()
	default:
		m.State, m.Why = Failed, err.Error()
	}
	if werr := e.j.add(m); werr != nil {
		return errors.Join(err, werr)
	}
	e.report(s, "done", m.Started)
	e.bad++
	switch {
	case m.State == Done: // where ctx has ended meanwhile, the next step is not begun
		e.bad = 0
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, ErrStop):
		return err
	case e.bad >= mostFailures:
		return fmt.Errorf("%d steps in a row failed, the last: %s: %w", e.bad, m.Why, ErrStop)
	}
	return nil
}

// errHung is the cause of a context that the watchdog ended.
var errHung = errors.New("hung")

// make arranges and measures.
func (e *execution) make(ctx context.Context, s Step, m *Made) error {
	e.report(s, "arranging", m.Started)
	if err := bounded(ctx, func() error { return e.stand.Arrange(ctx, e.j.Plan, s) }); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil { // what may not be cut off was waited for
		return err
	}
	e.report(s, "measuring", m.Started)
	type measured struct {
		run     string
		primary float64
	}
	got := make(chan measured, 1)
	err := bounded(ctx, func() error {
		run, primary, err := e.stand.Measure(ctx, e.j.Plan, s)
		got <- measured{run, primary}
		return err
	})
	select {
	case g := <-got:
		m.Run, m.Primary = g.run, g.primary
	default:
	}
	return err
}

// bounded waits for f, but not for ever once ctx has ended: an f that does not
// return then is left behind, and the experiment with it.
func bounded(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return fmt.Errorf("a step did not end %v after it was told to: %w", grace, ErrStop)
	}
}

func (e *execution) report(s Step, phase string, since time.Time) {
	if e.hooks.Report == nil {
		return
	}
	p := Progress{Plan: e.j.Plan, Made: e.j.Made[:len(e.j.Made):len(e.j.Made)], Step: s, Of: len(e.j.Plan.Steps()), Phase: phase, Since: since}
	if usual := e.usual(); usual > 0 {
		p.Left = time.Duration(len(e.j.Left())) * usual
		if phase != "done" { // part of the step is over
			p.Left = max(0, max(usual, p.Left)-time.Since(since))
		}
	}
	e.hooks.Report(p)
}
