package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"

	"pgtlb/probes"
	"pgtlb/workload/experiment"
	"pgtlb/workload/trial"
)

// following tells of an experiment on the standard error and answers what it asks.
type following struct {
	*follower
	a       *app
	e       *experimentFlags
	answer  func(trial.Command)
	refused error // a no, or why nobody could be asked
	began   bool
	shown   int    // steps that were told
	waiting string // the wait that was told last
	asked   int    // the question that was answered last
	gate    bool
}

// take looks at a state and tells whether the experiment is over.
func (f *following) take(ctx context.Context, st *trial.State) bool {
	// Once the program is being ended nothing is asked any more.
	if q := st.Question; q != nil && q.ID != f.asked && ctx.Err() == nil {
		f.asked = q.ID
		f.confirm(ctx, q)
	}
	x := st.Experiment
	if x == nil {
		return false
	}
	if !x.Checking && !f.began && x.Progress.Plan.Name != "" {
		f.began = true
		f.shown = len(x.Progress.Made) // those of before are told at the end
		f.begin(&x.Progress)
	}
	for ; f.began && f.shown < len(x.Progress.Made); f.shown++ {
		f.say("%s", stepLine(&x.Progress, x.Progress.Made[f.shown]))
	}
	if x.Waiting && x.Detail != f.waiting {
		f.waiting = x.Detail
		f.say("%s", x.Detail)
	}
	if x.Gate != nil && !f.gate && ctx.Err() == nil {
		f.gate = true
		f.open(ctx, x.Gate)
	}
	return x.Over
}

// confirm answers a question of the session.
func (f *following) confirm(ctx context.Context, q *trial.Question) {
	lines := make([]string, len(q.Detail))
	for i, d := range q.Detail {
		lines[i] = "  " + probes.Clean(d)
	}
	err := f.a.confirm(ctx, lines, probes.Clean(q.Text), f.e.lab.yes, "the experiment was not begun")
	if err != nil {
		f.refused = err
	}
	f.answer(trial.Answer{ID: q.ID, Yes: err == nil})
}

// begin says what is going to be made.
func (f *following) begin(p *experiment.Progress) {
	plan := p.Plan
	f.say("experiment %s: %s = %s, %d identical runs, then %s in order %s: %d steps", plan.Name, plan.Factor, strings.Join(plan.Values, ", "),
		experiment.Identical, probes.Plural(plan.Pairs, "pair"), plan.Order, len(plan.Steps()))
	if done := len(p.Made); done > 0 {
		f.say("%s made before", probes.Plural(done, "step"))
	}
}

// open says what is known before the first change and how many pairs to make.
func (f *following) open(ctx context.Context, g *experiment.Gate) {
	for _, l := range gateLines(g) {
		f.say("%s", l)
	}
	pairs := g.Planned
	switch {
	case f.e.pairs == "auto":
		if g.Pairs > 0 {
			pairs = min(g.Pairs, experiment.AutoPairs)
		}
		f.say("--pairs auto: %s", probes.Plural(pairs, "pair"))
	case !f.a.mayAsk() || f.e.lab.yes:
		f.say("going on with the %s that are planned", probes.Plural(pairs, "pair"))
	default:
		pairs = f.howMany(ctx, g)
	}
	f.answer(trial.AnswerGate{Pairs: pairs})
}

// howMany asks for the number of pairs; when the program is being ended it is the
// one that is planned.
func (f *following) howMany(ctx context.Context, g *experiment.Gate) int {
	for {
		text, err := f.a.ask(ctx, fmt.Sprintf("How many pairs? [%d; 0 ends it] ", g.Planned))
		if err != nil || text == "" {
			return g.Planned
		}
		if n, err := strconv.Atoi(text); err == nil && n >= 0 && n <= experiment.MostPairs {
			return n
		}
		f.say("write a number from 0 to %d", experiment.MostPairs)
	}
}

// gateLines say what is known before the first change.
func gateLines(g *experiment.Gate) []string {
	if len(g.Identical) < 2 {
		return []string{fmt.Sprintf("noise floor: not known, only %d of the identical runs was made", len(g.Identical))}
	}
	var figures []string
	for _, v := range g.Identical {
		figures = append(figures, probes.Number(v))
	}
	lines := []string{fmt.Sprintf("%d identical runs (%s TPS) are %.1f %% apart; the noise floor at the end, of six, is then likely near %.1f %%", len(figures), strings.Join(figures, ", "), 100*g.Spread, 100*g.Floor)}
	switch {
	case g.Hidden:
		lines = append(lines, fmt.Sprintf("a difference of %.3g %% is likely too small for that: no number of pairs makes it a result then; longer steps (--measure), a quieter machine or a larger --detect may", 100*g.Detect))
	case g.Pairs > 0:
		lines = append(lines, fmt.Sprintf("a difference of %.3g %% takes about %s with that spread (%d planned), %s; %s", 100*g.Detect, probes.Plural(g.Pairs, "pair"), g.Planned, probes.About(time.Duration(g.Pairs)*g.Block), cautiousText(g)))
	}
	return append(lines, fmt.Sprintf("as planned, %s: %s", probes.Plural(g.Planned, "pair"), probes.About(time.Duration(g.Planned)*g.Block)))
}

// cautiousText says what it takes where the identical runs lie close by chance.
func cautiousText(g *experiment.Gate) string {
	few := fmt.Sprintf("%d runs tell little about the spread: ", len(g.Identical))
	if g.Cautious == 0 {
		return few + "if they lie close by chance, no number of pairs makes it a result"
	}
	return few + "to be safe make " + probes.Plural(g.Cautious, "pair")
}

// stepLine tells of a step that was made.
func stepLine(p *experiment.Progress, m experiment.Made) string {
	s := m.Step
	place := fmt.Sprintf("pair %d of %d", s.Block, p.Plan.Pairs)
	if s.Block == 0 {
		place = "before the first change"
	}
	if s.Repeat {
		place += ", repeated"
	}
	text := fmt.Sprintf("step %2d of %d  %-24s %-12s", s.Position, len(p.Plan.Steps()), place, p.Plan.Arms()[s.Arm])
	if m.State == experiment.Done {
		text += fmt.Sprintf(" %10s TPS", probes.Number(m.Primary))
	} else if text += " " + string(m.State); m.Why != string(m.State) {
		text += ": " + m.Why
	}
	if p.Left > 0 && m.State != experiment.Interrupted {
		text += "  " + probes.About(p.Left) + " left"
	}
	return text
}

// undoLeftovers puts back what crashed experiments left on servers.
func (a *app) undoLeftovers(ctx context.Context, store *trial.Store, cfg *pgx.ConnConfig) error {
	lines, err := trial.UndoLeftovers(ctx, store.Dir(), cfg)
	for _, l := range lines {
		_, _ = fmt.Fprintln(a.err, probes.Clean(l))
	}
	return err
}

// experimentEnded prints what was found and says how it ended.
func (a *app) experimentEnded(ctx context.Context, e *experimentFlags, store *trial.Store, last *trial.State, err error) error {
	x := last.Experiment
	if x == nil || x.Progress.Of == 0 { // it has no journal
		if x != nil && x.Err != "" && err == nil {
			err = errors.New(x.Err)
		}
		if ctx.Err() != nil {
			return &exitError{exitInterrupted, err}
		}
		return err
	}
	if x.Err != "" {
		err = errors.Join(err, errors.New(x.Err))
	}
	j, readErr := experiment.Exact(store.Dir(), x.Progress.Plan.Name)
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	f := found{x.Result, x.WithRepeats}
	if f.result == nil {
		if f, readErr = findOf(store, j); readErr != nil {
			return errors.Join(err, readErr)
		}
	}
	err = errors.Join(err, a.experimentResult(e, j, f))
	if err == nil && f.result != nil && !e.asJSON && ctx.Err() == nil {
		_, _ = fmt.Fprintf(a.err, "pgtlb compare %s prints this again, pgtlb report %s -o report.html writes the report\n", j.Plan.Name, j.Plan.Name)
	}
	j.Plan.RepeatFailed = e.repeatFailed // as it was wished now
	all, ahead := len(j.Plan.Steps()), len(j.Ahead())
	switch {
	case ctx.Err() != nil && ahead > 0:
		_, _ = fmt.Fprintf(a.err, "%d of %d steps are made and kept; %s goes on\n", all-len(j.Left()), all, goOn(j))
		return &exitError{exitInterrupted, err}
	case err != nil:
		if ahead > 0 {
			_, _ = fmt.Fprintf(a.err, "what was made is kept; %s goes on\n", goOn(j))
		}
		return err
	case ctx.Err() != nil: // it came too late to cut anything off
		_, _ = fmt.Fprintf(a.err, "all %d steps are made; pgtlb compare %s prints the result\n", all, j.Plan.Name)
	}
	return failedSteps(j)
}

// goOn is the command that goes on with an experiment.
func goOn(j *experiment.Journal) string { return "pgtlb experiment --resume " + j.Plan.Name }

// failedSteps is how an experiment ends all of whose steps were made: with a no where
// some failed.
func failedSteps(j *experiment.Journal) error {
	failed, _ := j.Unmade()
	if len(failed) == 0 {
		return nil
	}
	return &exitError{exitNo, fmt.Errorf("%d of %d steps failed; %s --repeat-failed makes them again", len(failed), len(j.Plan.Steps()), goOn(j))}
}

// found is what an experiment shows: its arms against the first. withRepeats also counts
// steps that were repeated out of order. Both are nil where there is nothing yet.
type found struct{ result, withRepeats *trial.Comparison }

// findOf reads the runs of an experiment.
func findOf(store *trial.Store, j *experiment.Journal) (f found, err error) {
	if notYet(j) != "" {
		return f, nil
	}
	c, err := trial.CompareExperiment(store, j, false)
	if err != nil {
		return f, err
	}
	f.result = &c
	if j.Repeated() {
		c, err := trial.CompareExperiment(store, j, true)
		if err != nil {
			return f, err
		}
		f.withRepeats = &c
	}
	return f, nil
}

// experimentResult prints what was found.
func (a *app) experimentResult(e *experimentFlags, j *experiment.Journal, f found) error {
	if e.asJSON {
		return a.encodeExperiment(j, f)
	}
	return a.writeExperiment(j, f, false)
}

// writeExperiment prints what was found as text; all prints every metric.
func (a *app) writeExperiment(j *experiment.Journal, f found, all bool) error {
	if f.result == nil {
		_, err := fmt.Fprintln(a.err, notYet(j))
		return err
	}
	if err := f.result.WriteText(a.out, all); err != nil || f.withRepeats == nil {
		return err
	}
	_, _ = fmt.Fprintln(a.out, "\nWith the steps that were repeated out of order:")
	return f.withRepeats.WriteText(a.out, all)
}

// notYet says which arm has no run yet, empty where each has.
func notYet(j *experiment.Journal) string {
	for i, name := range j.Plan.Arms() {
		if len(j.Counting(i, false)) == 0 {
			return fmt.Sprintf("nothing to compare yet: there is no run of %s = %s", j.Plan.Factor, name)
		}
	}
	return ""
}

// experiments is --list.
func (a *app) experiments() error {
	store, err := a.store()
	if err != nil {
		return err
	}
	names, err := experiment.Names(store.Dir())
	if err != nil {
		return err
	}
	if len(names) == 0 {
		_, err := fmt.Fprintf(a.err, "no experiments in %s yet\n", probes.Clean(store.Dir()))
		return err
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "NAME\tWHEN\tVARIED\tSTEPS\tSTATE")
	for _, n := range names {
		under, known := experiment.UnderWay(store.Dir(), n)
		j, err := experiment.Exact(store.Dir(), n)
		if err != nil {
			_, _ = fmt.Fprintf(w, "%s\t\t\t\t%s\n", probes.Clean(n), probes.Clean(err.Error()))
			continue
		}
		failed, left := j.Unmade()
		all := len(j.Plan.Steps())
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%d of %d\t%s\n", probes.Clean(n), j.Plan.Created.Local().Format("2006-01-02 15:04"),
			probes.Clean(j.Plan.Factor+"="+strings.Join(j.Plan.Values, ",")), all-len(left)-len(failed), all, probes.Clean(stateText(j, under, known, failed, left)))
	}
	return w.Flush()
}

// stateText says how an experiment stands. under tells that a pgtlb is at it, as far as
// that is known.
func stateText(j *experiment.Journal, under, known bool, failed []experiment.Made, left []experiment.Step) string {
	text := "ended by a crash"
	switch {
	case under:
		text = "under way"
	case j.End != nil:
		text = j.End.Reason
	case !known:
		text = "under way, or ended by a crash"
	}
	if len(failed) > 0 {
		text += fmt.Sprintf("; %d failed", len(failed))
	}
	if len(left) > 0 && !under {
		text += "; --resume goes on"
	}
	return text
}
