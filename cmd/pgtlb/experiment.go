package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pgtlb/probes"
	"pgtlb/workload"
	"pgtlb/workload/experiment"
	"pgtlb/workload/lab"
	"pgtlb/workload/script"
	"pgtlb/workload/trial"
	"pgtlb/workload/verdict"
)

// experimentFlags are the flags of pgtlb experiment.
type experimentFlags struct {
	flags *pflag.FlagSet
	conn  connection
	lab   labFlags
	load  loadFlags

	inLab, allowLoad, asJSON, list, repeatFailed bool

	vary, scenario, pairs, order, detect, margin string
	params                                       []string
	protocol                                     string
	jobs                                         int
	rate                                         float64
	measure, settle, limit                       time.Duration
	seed                                         int64
	background, restart                          string
	name, resume                                 string
}

// Limits of an experiment on the command line.
const (
	defaultPairs = 6 // the fewest that can show a difference
	stepSlack    = 5 * time.Minute
)

func (a *app) experiment() *cobra.Command {
	var e experimentFlags
	return a.experimentCommand(&e)
}

func (a *app) experimentCommand(e *experimentFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "experiment [connection]",
		Short: "Vary a setting in alternating runs and say whether the difference is real",
		Long: `Makes runs with two or more values of a setting, in turn and in alternating
order, each after the same preparation, and says what the difference is, how sure
that is, and how small a difference these runs could have shown.

--vary names the setting and its values. huge_pages takes page sizes. What needs a
restart is restarted before every run of every value; what can be set for a session
is set in the load's sessions only. The same value twice is an A/A experiment: it
shows what this machine does by itself. Two identical runs come before the first
change; their spread, the noise floor, tells how many pairs --detect takes.

With --lab it is made on a private throw-away server. On any other server it needs
--allow-load, and --restart-cmd where a restart is needed; it says what it changes and
what a restart cuts off, and asks. Settings are written down before they are
changed and put back at the end, after a crash by the next pgtlb experiment.

Ctrl-C keeps the steps that were made; --resume goes on.`,
		Example: "  pgtlb experiment --lab --vary huge_pages=4kB,2MB --reserve\n" +
			"  pgtlb experiment --lab --vary shared_buffers=128MB,1GB --pairs auto --detect 3%\n" +
			"  pgtlb experiment --vary work_mem=4MB,64MB --scenario join-aggregate --allow-load -h /run/postgresql shop\n" +
			"  pgtlb experiment --vary shared_buffers=1GB,6GB --restart-cmd 'systemctl restart postgresql' --allow-load shop\n" +
			"  pgtlb experiment --resume last",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case e.list:
				return a.experiments()
			case e.resume != "":
				return a.resumed(cmd.Context(), e, args)
			}
			return a.experimented(cmd.Context(), e, args, nil)
		},
	}
	e.addFlags(cmd)
	return cmd
}

func (e *experimentFlags) addFlags(cmd *cobra.Command) {
	e.conn.addFlags(cmd)
	e.lab.addFlags(cmd)
	e.load.addClients(cmd, "5s")
	f := cmd.Flags()
	e.flags = f
	f.StringVar(&e.vary, "vary", "", "setting and values: huge_pages=4kB,2MB, shared_buffers=1GB,6GB, work_mem=4MB,64MB")
	f.StringVar(&e.scenario, "scenario", "point-select", "scenario that each step runs")
	f.StringArrayVar(&e.params, "param", nil, "parameter of the scenario, name=value; may be repeated")
	f.IntVarP(&e.jobs, "jobs", "j", 0, "threads that drive the clients (default: half of the CPUs)")
	f.StringVarP(&e.protocol, "protocol", "M", "", "protocol: simple, extended or prepared (default: the scenario's own)")
	f.Float64VarP(&e.rate, "rate", "R", 0, "transactions per second of all clients; 0 is as many as they can")
	f.StringVar(&e.pairs, "pairs", strconv.Itoa(defaultPairs), "runs of each value, or auto for as many as --detect takes, 30 at most (with more than two values the default is the fewest that can show a difference)")
	f.DurationVar(&e.measure, "measure", 25*time.Second, "length of the measured part of each step")
	f.DurationVar(&e.settle, "settle", 2*time.Second, "pause between reading the data in and connecting the clients")
	f.StringVar(&e.order, "order", string(experiment.ABBA), "abba: turn the order around from pair to pair; random: draw it")
	f.Int64Var(&e.seed, "seed", 1, "seed of --order random")
	f.StringVar(&e.detect, "detect", "3%", "difference that the experiment is to find")
	f.StringVar(&e.margin, "margin", "1%", "difference below which values count as the same")
	f.DurationVar(&e.limit, "step-limit", 0, "time after which a step counts as hung and is ended (default: what it should take and 5 minutes)")
	f.BoolVar(&e.repeatFailed, "repeat-failed", false, "make failed and hung steps again at the end, marked as out of order")
	f.StringVar(&e.background, "background-cmd", "", "shell command that is run every 5 s beside each run; its time, exit code and first lines are kept")
	f.StringVar(&e.restart, "restart-cmd", "", "shell command that restarts a server that pgtlb did not start")
	f.BoolVar(&e.inLab, "lab", false, "make it on a private throw-away server")
	f.BoolVar(&e.allowLoad, "allow-load", false, "let it run on a server that pgtlb did not start")
	f.StringVar(&e.name, "name", "", "name of the experiment (default: from the time and the setting)")
	f.StringVar(&e.resume, "resume", "", "go on with an interrupted experiment: its name, the beginning of it, or last")
	f.BoolVar(&e.list, "list", false, "list the experiments, newest first")
	f.BoolVar(&e.asJSON, "json", false, "one JSON object on the standard output")
	f.Lookup("yes").Usage = "answer yes: change settings and run load on a server that pgtlb did not start, reserve pages, make the pairs that are planned"
}

// plan checks the flags that say what is made.
func (e *experimentFlags) plan(a *app) (experiment.Plan, error) {
	p := experiment.Plan{Name: e.name, Seed: e.seed, RepeatFailed: e.repeatFailed, Limit: e.limit, Arguments: trial.WithoutPasswords(a.experimentArguments())}
	var err error
	if e.vary == "" {
		return p, errors.New("--vary: name the setting and its values, as in --vary huge_pages=4kB,2MB")
	}
	if p.Factor, p.Values, err = experiment.ParseVary(e.vary); err != nil {
		return p, err
	}
	p.Factor = strings.ToLower(p.Factor)
	if p.Order, err = experiment.ParseOrder(e.order); err != nil {
		return p, fmt.Errorf("--order: %w", err)
	}
	if p.Detect, err = percent(e.detect); err != nil {
		return p, fmt.Errorf("--detect %w", err)
	}
	if p.Margin, err = percent(e.margin); err != nil {
		return p, fmt.Errorf("--margin %w", err)
	}
	if p.Pairs = verdict.FewestPairs(len(p.Values) - 1); e.pairs != "auto" && (e.pairs != strconv.Itoa(defaultPairs) || e.flags.Changed("pairs")) {
		if p.Pairs, err = strconv.Atoi(e.pairs); err != nil || p.Pairs < 1 || p.Pairs > experiment.MostPairs {
			return p, fmt.Errorf("--pairs %s: write a number from 1 to %d, or auto", e.pairs, experiment.MostPairs)
		}
	}
	warm, err := e.load.warmUp()
	if err != nil {
		return p, err
	}
	switch {
	case e.measure < time.Second || e.measure > 24*time.Hour:
		return p, fmt.Errorf("--measure %v: choose 1s to 24h", e.measure)
	case e.settle < 0 || e.settle > time.Hour:
		return p, fmt.Errorf("--settle %v: choose 0s to 1h", e.settle)
	case e.limit < 0:
		return p, fmt.Errorf("--step-limit %v: it is a time above 0", e.limit)
	case e.limit == 0:
		p.Limit = warm.Most + e.measure + e.settle + stepSlack
	}
	return p, p.Check()
}

// experimentArguments are the arguments behind the verb.
func (a *app) experimentArguments() []string {
	i := slices.Index(a.args, "experiment")
	return slices.Clone(a.args[i+1:])
}

// percent reads "3%" or "3" as 0.03.
func percent(s string) (float64, error) {
	n, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(s), "%")), 64)
	if err != nil {
		return 0, fmt.Errorf("%s: write it in percent, as in 3%%", s)
	}
	return n / 100, nil
}

// what makes the load of each step.
func (e *experimentFlags) what(o *trial.LabOptions) (workload.Load, error) {
	e.load.seconds = max(1, int(e.measure/time.Second))
	w, err := e.load.load(o, e.scenario)
	if err != nil {
		return w, err
	}
	switch {
	case e.jobs < 0:
		return w, fmt.Errorf("--jobs %d: there must be at least 1", e.jobs)
	case !(e.rate >= 0):
		return w, fmt.Errorf("--rate %v: it is a number of transactions per second", e.rate)
	case e.protocol != "":
		mode, err := script.ParseMode(e.protocol)
		if err != nil {
			return w, fmt.Errorf("--protocol %s: write simple, extended or prepared", e.protocol)
		}
		w.Mode = &mode
	}
	w.Rate = e.rate
	if err := addParams(w.Values, e.params); err != nil {
		return w, err
	}
	if w.Values, err = w.Scenario.Resolve(w.Values); err != nil {
		return w, fmt.Errorf("%s: %w", e.scenario, err)
	}
	w.Threads = e.jobs
	return w, nil
}

// experimented makes an experiment, or goes on with one.
func (a *app) experimented(ctx context.Context, e *experimentFlags, args []string, j *experiment.Journal) error {
	o := trial.ExperimentOptions{Resume: j, Measure: e.measure, Settle: e.settle, Background: e.background, RestartCmd: e.restart}
	var err error
	if o.Plan, err = e.plan(a); err != nil {
		return err
	}
	if j == nil && e.name != "" {
		if err := experiment.CheckName(e.name); err != nil {
			return fmt.Errorf("--name: %w", err)
		}
	}
	if err := o.Check(probes.SystemRoots(), e.inLab); err != nil {
		return err
	}
	o.MostPairs = e.mostPairs(a.mayAsk())
	if o.WarmUp, err = e.load.warmUp(); err != nil {
		return err
	}
	e.lab.flush = lab.AboutFlush(o.Plan.Factor)
	so, err := a.experimentSession(ctx, e, args)
	if err != nil {
		return err
	}
	so.Experiment, so.WarmUp = &o, trial.WarmUp{}
	schedule(e.jobs)
	f := &following{a: a, e: e, follower: &follower{progress: a.err}}
	s := trial.NewSession(so)
	f.answer = s.Do
	last, err := follow(ctx, s, f.follower, func(st *trial.State) bool { return f.take(ctx, st) })
	return a.experimentEnded(ctx, e, so.Store, &last, errors.Join(err, f.refused))
}

// mostPairs is how many pairs the gate may be answered with; 0 is what is planned.
func (e *experimentFlags) mostPairs(mayAsk bool) int {
	switch {
	case e.pairs == "auto":
		return experiment.AutoPairs
	case mayAsk && !e.lab.yes: // a person is asked how many
		return experiment.MostPairs
	}
	return 0
}

// experimentSession makes the options of the session on a lab or on a server that
// pgtlb did not make, once what earlier experiments left is put back.
func (a *app) experimentSession(ctx context.Context, e *experimentFlags, args []string) (trial.Options, error) {
	if e.inLab {
		if n := changedOf(e.flags, append([]string{"restart-cmd", "allow-load"}, ofConnection...)); n != "" || len(args) > 0 {
			return trial.Options{}, errors.New("--lab makes and restarts its own server: leave the connection, --restart-cmd and --allow-load out")
		}
		so, err := a.labSession(ctx, &e.lab, &e.load, e.what)
		if err == nil {
			err = a.undoLeftovers(ctx, so.Store, nil)
		}
		return so, err
	}
	if n := changedOf(e.flags, ofLab); n != "" {
		return trial.Options{}, fmt.Errorf("--%s is of a lab: add --lab", n)
	}
	w, err := e.what(&trial.LabOptions{Rows: e.lab.rows, Seed: e.lab.seed})
	if err != nil {
		return trial.Options{}, err
	}
	cfg, err := e.conn.config(args)
	if err != nil {
		return trial.Options{}, err
	}
	scope, err := probes.ParsePerfScope(e.lab.scope)
	if err != nil {
		return trial.Options{}, err
	}
	store, err := a.writableStore()
	if err != nil {
		return trial.Options{}, err
	}
	if err := a.undoLeftovers(ctx, store, cfg); err != nil {
		return trial.Options{}, err
	}
	if !e.allowLoad {
		return trial.Options{}, errAllowLoad
	}
	so := a.session(trial.Watching, store)
	so.Config, so.AllowLoad, so.First, so.Scope, so.Queries = cfg, true, w, scope, e.load.queries
	return so, nil
}

// changedOf is the first of the flags that was given, "" if none was.
func changedOf(f *pflag.FlagSet, names []string) string {
	for _, n := range names {
		if f.Changed(n) {
			return n
		}
	}
	return ""
}

// resumed goes on with an experiment by the arguments that began it.
func (a *app) resumed(ctx context.Context, now *experimentFlags, args []string) error {
	store, err := a.store()
	if err != nil {
		return err
	}
	j, err := experiment.Open(store.Dir(), now.resume)
	if err != nil {
		return fmt.Errorf("--resume %w", err)
	}
	if len(j.Plan.Arguments) == 0 {
		return fmt.Errorf("--resume %s: it was begun on the screen with scripts of its own, which are not kept: begin it there again", j.Plan.Name)
	}
	var e experimentFlags
	cmd := a.experimentCommand(&e)
	if err := cmd.ParseFlags(j.Plan.Arguments); err != nil {
		return fmt.Errorf("--resume %s: reading the arguments that began it: %w", j.Plan.Name, err)
	}
	if args, err = e.takeOver(now, args, cmd.Flags().Args()); err != nil {
		return fmt.Errorf("--resume %s: %w", j.Plan.Name, err)
	}
	j.Plan.RepeatFailed = e.repeatFailed
	if under, _ := j.UnderWay(); under {
		return fmt.Errorf("--resume %s: %w", j.Plan.Name, j.Busy())
	}
	if len(j.Ahead()) == 0 {
		_, _ = fmt.Fprintf(a.err, "experiment %s: nothing is left to be made\n", j.Plan.Name)
		f, err := findOf(store, j)
		if err == nil {
			err = a.experimentResult(&e, j, f)
		}
		if err != nil {
			return err
		}
		return failedSteps(j)
	}
	// Taken from now on, nobody else begins to go on with it while a lab is made.
	if err := j.GoOn(); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(a.err, "going on with experiment %s\n", j.Plan.Name)
	return errors.Join(a.experimented(ctx, &e, args, j), j.Release())
}

// givenAgain are the flags that may stand beside --resume: how the server is reached
// and restarted, what is allowed, and how the outcome is written.
var givenAgain = append([]string{"resume", "restart-cmd", "background-cmd", "allow-load", "yes", "json", "repeat-failed"}, ofConnection...)

// takeOver gives the flags that began an experiment what now stands beside --resume,
// which wins, and returns the connection's argument. It refuses what would change the
// experiment, and texts without their password: they would be run as they are.
func (e *experimentFlags) takeOver(now *experimentFlags, args, begun []string) ([]string, error) {
	if changedOf(now.flags, ofConnection) == "" && len(args) == 0 {
		args = begun
	} else {
		e.conn = connection{}
	}
	if !e.inLab { // a yes of then is none to what a restart cuts off now
		e.lab.yes = false
	}
	given := len(args) > 0 && !slices.Equal(args, begun) || changedOf(now.flags, ofConnection) != ""
	var errs []error
	now.flags.Visit(func(f *pflag.Flag) {
		switch {
		case e.flags.Lookup(f.Name) == nil: // of the whole program
		case !slices.Contains(givenAgain, f.Name):
			errs = append(errs, fmt.Errorf("it goes on as it was begun: leave --%s out, or begin another experiment", f.Name))
		default:
			errs = append(errs, e.flags.Set(f.Name, f.Value.String()))
		}
	})
	e.flags.Visit(func(f *pflag.Flag) {
		switch {
		case now.flags.Changed(f.Name) || !trial.HidesPassword(f.Value.String()):
		case slices.Contains(ofConnection, f.Name) && given:
		case slices.Contains(ofConnection, f.Name):
			errs = append(errs, errGiveConnection)
		case slices.Contains(givenAgain, f.Name):
			errs = append(errs, fmt.Errorf("passwords are not kept: give --%s again", f.Name))
		default:
			errs = append(errs, fmt.Errorf("--%s had a password, and passwords are not kept: begin another experiment", f.Name))
		}
	})
	if !given && slices.ContainsFunc(args, trial.HidesPassword) {
		errs = append(errs, errGiveConnection)
	}
	return args, errors.Join(errs...)
}

var errGiveConnection = errors.New("passwords are not kept: give the connection string again, or use ~/.pgpass")
