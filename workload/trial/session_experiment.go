package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"pgtlb/workload/experiment"
)

// experimenting is the experiment under way. It belongs to the loop; what it does
// is a job.
type experimenting struct {
	stand  *stand
	cancel context.CancelFunc
	done   chan struct{} // closed when all is put back
	answer chan int      // to the gate; has room for it
}

// disturbs tells whether a command would change what an experiment measures.
func disturbs(c Command) bool {
	switch c.(type) {
	case StartExperiment, ToggleLoad, SetParam, SetPages, SetInterval:
		return true
	}
	return false
}

// startExperimentOf begins the experiment that a key asked for.
func (s *Session) startExperimentOf(ctx context.Context, c StartExperiment) {
	if c.Key < 1 || c.Key > len(s.loads) {
		s.notify(true, fmt.Sprintf("no scenario has key %d", c.Key))
		return
	}
	s.startExperiment(ctx, s.loads[c.Key-1], c.Experiment)
}

// startExperiment begins an experiment with a load; its outcome is posted.
func (s *Session) startExperiment(ctx context.Context, l *load, o ExperimentOptions) {
	if o.Resume != nil {
		o.Plan = o.Resume.Plan
	}
	s.st.Experiment = &ExperimentState{Checking: true, Progress: experiment.Progress{Plan: o.Plan}}
	working, cancel := context.WithCancel(ctx)
	x := &experimenting{stand: &stand{s: s, o: o, load: l, turn: make(chan struct{}, 1)}, cancel: cancel, done: make(chan struct{}), answer: make(chan int, 1)}
	if err := s.mayExperiment(l, o.Measure); err != nil {
		cancel()
		s.experimentOver(nil, err)
		return
	}
	before := l.what
	s.exp, l.what.Duration = x, cmp.Or(o.Measure, before.Duration)
	ok := s.job(func() {
		defer cancel()
		err, undone := s.makeExperiment(working, x)
		if working.Err() != nil && errors.Is(err, context.Canceled) {
			err = context.Canceled
		}
		s.post(func() {
			l.what = before
			s.exp = nil
			s.experimentOver(undone, err)
			s.startWaiting(ctx)
		})
		close(x.done)
	})
	if !ok {
		cancel()
		l.what, s.exp = before, nil
		s.experimentOver(nil, context.Canceled)
	}
}

// mayExperiment says why no experiment can be begun now.
func (s *Session) mayExperiment(l *load, measure time.Duration) error {
	switch {
	case l == nil:
		return errors.New("an experiment needs a load; on a server that pgtlb did not make that takes --allow-load")
	case s.st.Phase != Ready:
		return errors.New(s.notReady())
	case measure <= 0 && l.what.Duration <= 0 && l.what.Transactions <= 0:
		return errors.New("its steps need a length: how long each is measured")
	}
	for _, other := range s.loads {
		if other.status != LoadStopped && other.status != LoadFailed {
			return fmt.Errorf("%s is %s: it would bend what the experiment measures, stop it first", other.what.Scenario.Name, other.status)
		}
	}
	what := l.what
	_, err := loadMeta(&what)
	return err
}

// makeExperiment checks everything, makes the steps and puts the server back. It
// is a job. undone is what could not be put back.
func (s *Session) makeExperiment(ctx context.Context, x *experimenting) (err, undone error) {
	if err := x.stand.prepare(ctx); err != nil {
		return err, nil
	}
	j, err := x.stand.journal()
	if err != nil {
		return err, nil
	}
	s.showExperiment(func(e *ExperimentState) {
		e.Checking, e.Progress = false, experiment.Progress{Plan: j.Plan, Made: j.Made, Of: len(j.Plan.Steps())}
	})
	err = experiment.Execute(ctx, j, x.stand, experiment.Hooks{
		Report: func(p experiment.Progress) {
			s.showExperiment(func(e *ExperimentState) { e.Progress, e.Detail, e.Waiting = p, "", false })
		},
		Ask: func(ctx context.Context, g experiment.Gate) (int, error) { return s.gate(ctx, x, g) },
	})
	s.showExperiment(func(e *ExperimentState) {
		e.Progress.Plan, e.Progress.Made, e.Progress.Left, e.Progress.Phase = j.Plan, j.Made, 0, ""
		e.Detail, e.Waiting = "putting the server back", false
	})
	undone = x.stand.putBack(context.WithoutCancel(ctx))
	if c, cerr := CompareExperiment(s.o.Store, j, false); cerr == nil {
		s.showExperiment(func(e *ExperimentState) { e.Result = &c })
	}
	if j.Repeated() {
		if c, cerr := CompareExperiment(s.o.Store, j, true); cerr == nil {
			s.showExperiment(func(e *ExperimentState) { e.WithRepeats = &c })
		}
	}
	return err, undone
}

// experimentOver takes note of the end of an experiment.
func (s *Session) experimentOver(undone, err error) {
	e := *s.st.Experiment
	e.Over, e.Checking, e.Gate, e.Detail, e.Waiting = true, false, nil, "", false
	if errors.Is(err, context.Canceled) {
		e.Interrupted, err = true, nil
	}
	if err = errors.Join(err, undone); err != nil {
		e.Err = err.Error()
		s.notify(true, "experiment: "+e.Err)
	}
	s.st.Experiment = &e
	if s.st.Phase == Changing && s.link != nil {
		s.ready()
	}
	if s.cluster != nil && !s.cluster.Running() && !s.ending {
		why := cmp.Or(err, s.cluster.Err(), errors.New("the lab's server does not run any more"))
		s.lost(why, s.serverLog(why))
	}
}

// showExperiment changes what is shown of the experiment. It is called by jobs.
func (s *Session) showExperiment(change func(*ExperimentState)) {
	s.post(func() {
		e := *s.st.Experiment
		change(&e)
		s.st.Experiment = &e
	})
}

// detailExperiment shows what the load of a step does as what the step does.
func (s *Session) detailExperiment() {
	if s.exp == nil || s.st.Experiment.Progress.Phase != "measuring" {
		return
	}
	e, l := *s.st.Experiment, s.exp.stand.load
	if e.Detail = l.detail; l.status == LoadRunning && l.detail == "" {
		e.Detail = "measuring"
	}
	s.st.Experiment = &e
}

// gate shows what is known before the first change and waits for the number of
// pairs.
func (s *Session) gate(ctx context.Context, x *experimenting, g experiment.Gate) (pairs int, err error) {
	s.showExperiment(func(e *ExperimentState) { e.Gate = &g })
	select {
	case pairs = <-x.answer:
		return min(pairs, x.stand.o.most()), nil // no more than was asked for
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// answerGate takes the answer; one that nobody waits for is dropped.
func (s *Session) answerGate(pairs int) {
	if s.exp == nil || s.st.Experiment.Gate == nil || pairs < 0 {
		return
	}
	e := *s.st.Experiment
	e.Gate = nil
	s.st.Experiment = &e
	s.exp.answer <- pairs
}

// stepMeta says for the header of a run which step it is; nil outside of an
// experiment.
func (s *Session) stepMeta() *StepMeta {
	if s.exp == nil {
		return nil
	}
	return s.exp.stand.stepMeta()
}
