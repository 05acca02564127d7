package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"pgtlb/probes"
	"pgtlb/workload"
	"pgtlb/workload/trial"
)

// follower prints a session's states for somebody without a screen: steps,
// messages and one line per sample.
type follower struct {
	progress io.Writer // steps and messages
	lines    io.Writer // one line per sample; nil prints none
	header   string
	sized    bool   // the size of the data is printed
	seq      uint64 // of the frame printed last
	printed  bool
	steps    map[string]trial.StepState
	last     trial.Notice
}

// say prints one line of progress. Its text may come from the server.
func (f *follower) say(format string, args ...any) {
	_, _ = fmt.Fprintln(f.progress, probes.Clean(fmt.Sprintf(format, args...)))
}

// show prints what is new in a state.
func (f *follower) show(st *trial.State) {
	for _, s := range st.Steps {
		if st.Experiment != nil && !st.Experiment.Checking {
			break // its steps are told as a whole
		}
		if f.steps[s.Name] == s.State || s.State == trial.StepPending {
			continue
		}
		f.steps[s.Name] = s.State
		if s.State != trial.StepDone {
			continue
		}
		f.say("%-12s %5.1f s  %s", s.Name, s.Took.Seconds(), s.Detail)
	}
	if d := st.Dataset; d != nil && !f.sized {
		f.sized = true
		f.say("%-12s          %s", "data", workload.DataSize{Rows: d.Rows, TableBytes: d.TableBytes, IndexBytes: d.IndexBytes,
			SharedBuffers: int64(st.Server.SharedBuffersKB) << 10})
	}
	for _, n := range st.Notices {
		if n.At.After(f.last.At) {
			f.last = n
			if !told(st, n) {
				f.say("%s", n.Text)
			}
		}
	}
	frame := st.Now()
	if f.lines == nil || st.Phase != trial.Ready || frame == nil || f.printed && frame.Seq <= f.seq {
		return
	}
	if h := trial.PlainHeader(st); h != f.header {
		f.header = h
		_, _ = fmt.Fprintln(f.lines, h)
	}
	f.seq, f.printed = frame.Seq, true
	_, _ = fmt.Fprintln(f.lines, trial.PlainLine(st))
}

// follow runs a session and shows its states until done says so, the session
// fails, or ctx ends; then it ends the session in order. It returns the last
// state.
func follow(ctx context.Context, s *trial.Session, f *follower, done func(*trial.State) bool) (trial.State, error) {
	f.steps = map[string]trial.StepState{}
	work, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(work) }()
	var last trial.State
	for {
		// Next ends with io.EOF when the session is over.
		st, err := s.Next(context.WithoutCancel(ctx))
		if err != nil {
			break
		}
		last = st
		over := st.Phase == trial.Failed || st.Phase == trial.Lost
		if !over {
			f.show(&st)
		}
		if over || done(&st) {
			stop()
		}
	}
	err := <-ended
	for _, l := range s.Farewell() {
		f.say("%s", l)
	}
	for _, l := range last.Log {
		f.say("  server log: %s", l)
	}
	return last, err
}

// plainWatch prints a line per sample until a signal comes.
func (a *app) plainWatch(ctx context.Context, s *trial.Session) error {
	_, err := follow(ctx, s, &follower{progress: a.err, lines: a.out}, func(*trial.State) bool { return false })
	if ctx.Err() != nil {
		return &exitError{exitInterrupted, err}
	}
	return err
}

// loadOver tells when the load that the session starts by itself has ended.
func loadOver(scenario string) func(*trial.State) bool {
	began := false
	return func(st *trial.State) bool {
		for _, l := range st.Loads {
			if l.Name != scenario {
				continue
			}
			switch l.Status {
			case trial.LoadFailed:
				return true
			case trial.LoadStopped:
				return began
			default:
				began = true
			}
		}
		return false
	}
}

// driven runs a session with its one load to the end and returns the recorded
// run and what the driver counted. With an error there may still be a run: what
// was measured is kept. A load too short for a run to be kept has none.
func driven(ctx context.Context, o trial.Options, f *follower) (*trial.Run, workload.Result, error) {
	s := trial.NewSession(o)
	last, err := follow(ctx, s, f, loadOver(o.First.Scenario.Name))
	for _, l := range last.Loads {
		if l.Status == trial.LoadFailed {
			err = errors.Join(err, errors.New(failure(l)))
		}
	}
	if last.Run == nil || last.Run.Path == "" {
		if err == nil && ctx.Err() == nil && s.Result().Elapsed == 0 {
			err = errors.New("the load ended before anything was measured")
		}
		return nil, s.Result(), err
	}
	run, readErr := trial.Read(last.Run.Path)
	return run, s.Result(), errors.Join(err, readErr)
}

// failure says why a load failed. The driver's own errors name the scenario.
func failure(l trial.LoadState) string {
	if strings.HasPrefix(l.Detail, "running "+l.Name) {
		return l.Detail
	}
	return l.Name + ": " + l.Detail
}

// told tells whether a message is the failure of a load or an experiment, which ends the program
// and is said then.
func told(st *trial.State, n trial.Notice) bool {
	if e := st.Experiment; e != nil && e.Err != "" && n.Text == "experiment: "+e.Err {
		return true
	}
	return n.Error && slices.ContainsFunc(st.Loads, func(l trial.LoadState) bool {
		return l.Status == trial.LoadFailed && n.Text == l.Name+": "+l.Detail
	})
}

// plainLab is the lab without a screen: a line per second, the report at the end.
func (a *app) plainLab(ctx context.Context, o trial.Options) error {
	run, load, err := driven(ctx, o, &follower{progress: a.err, lines: a.out})
	if run != nil {
		_, _ = fmt.Fprintln(a.out)
		err = errors.Join(err, trial.WriteMarkdown(a.out, trial.BuildReport(run, nil, trial.ReportOptions{Queries: o.Queries})))
	}
	return outcome(ctx, err, load.Failed)
}

// outcome is how a driven load ends the program: interrupted, with an error, or
// with a no where transactions failed.
func outcome(ctx context.Context, err error, failed int64) error {
	switch {
	case ctx.Err() != nil:
		return &exitError{exitInterrupted, err}
	case err == nil && failed > 0:
		return &exitError{exitNo, fmt.Errorf("%d transactions failed", failed)}
	}
	return err
}
