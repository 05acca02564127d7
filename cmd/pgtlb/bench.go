package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pgtlb/workload"
	"pgtlb/workload/script"
)

func (a *app) bench() *cobra.Command {
	var b benchFlags
	cmd := &cobra.Command{
		Use:   "bench [SCENARIO] [connection]",
		Short: "Drive a load without a screen and print what it cost",
		Long: `Drives a scenario, or pgbench's scripts, and prints throughput, latency, counters
and page tables, as text or, with --json, as one JSON object on the standard
output. The run is kept for "pgtlb report" and "pgtlb replay".

The flags are pgbench's, with pgbench's meaning and defaults: a command line of
pgbench works with "pgtlb bench" in its place. Without a scenario, -f or -b it
runs the builtin tpcb-like. -i makes pgbench's tables.

With --lab it runs on a private throw-away server. On any other server it needs
--allow-load, says what it is going to do, and asks; -y answers yes.`,
		Example: "  pgtlb bench point-select --lab -T 10 --json\n" +
			"  pgtlb bench -M prepared -c 16 -j 2 -T 60 -P 5 -f orders.sql@3 -b select-only --allow-load shop",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if b.listed() {
				return a.listBuiltins()
			}
			scenario, rest, err := b.split(args)
			if err != nil {
				return err
			}
			if err := b.check(scenario); err != nil {
				return err
			}
			switch {
			case b.inLab:
				return a.benchLab(cmd.Context(), &b, scenario)
			case b.cleanup:
				return a.benchCleanup(cmd.Context(), &b, rest)
			case b.initialize:
				return a.benchInit(cmd.Context(), &b, rest)
			}
			return a.benchServer(cmd.Context(), &b, scenario, rest)
		},
	}
	b.addFlags(cmd)
	return cmd
}

// listBuiltins is -b list.
func (a *app) listBuiltins() error {
	text := "Available builtin scripts:\n"
	for _, s := range script.Builtins() {
		text += fmt.Sprintf("  %13s: %s\n", s.Name, s.Description)
	}
	_, err := fmt.Fprint(a.err, text)
	return err
}

// split tells the scenario from the connection. A first word that names a
// scenario is one, unless scripts, -i or --cleanup say what is to be done.
func (b *benchFlags) split(args []string) (scenario string, connection []string, err error) {
	mayName := len(b.scripts) == 0 && !b.initialize && !b.cleanup
	if mayName && len(args) > 0 && (b.inLab || isScenario(args[0])) {
		if _, err := workload.Find(args[0]); err != nil {
			return "", nil, err
		}
		scenario, args = args[0], args[1:]
	}
	most := 1
	if b.flags.Changed("dbname") {
		most = 0
	}
	switch {
	case b.inLab && len(args) > 0:
		return "", nil, fmt.Errorf("--lab makes its own server, so there is no database %q to choose", args[0])
	case len(args) > most:
		return "", nil, fmt.Errorf("too many command-line arguments (first is %q)", args[most])
	}
	return scenario, args, nil
}

func isScenario(name string) bool {
	return slices.ContainsFunc(workload.List(), func(s workload.Scenario) bool { return s.Name == name })
}

// ofLab are the flags that only a lab has.
var ofLab = []string{"shared-buffers", "pages", "reserve", "set", "pg-bindir", "os-user", "keep"}

// ofConnection are the flags that a lab does not have.
var ofConnection = []string{"host", "port", "username", "dbname"}

// changed is the first of the flags that was given, "" if none was.
func (b *benchFlags) changed(names []string) string {
	for _, n := range names {
		if b.flags.Changed(n) {
			return n
		}
	}
	return ""
}

// check refuses what does not go together.
func (b *benchFlags) check(scenario string) error {
	if err := b.checkPlace(); err != nil {
		return err
	}
	if err := b.checkRanges(); err != nil {
		return err
	}
	given := b.flags.Changed
	switch {
	case given("transactions") && given("time"):
		return errors.New("specify either a number of transactions (-t) or a duration (-T), not both")
	case given("log-prefix") && !b.log:
		return errors.New("log file prefix (--log-prefix) is allowed only when logging transactions (-l)")
	case b.maxTries == 0 && b.limit == 0 && !given("time") && scenario == "":
		return errors.New("an unlimited number of transaction tries can only be used with --latency-limit or a duration (-T)")
	case b.maxTries == 0 && b.limit == 0 && given("transactions"):
		return errors.New("an unlimited number of transaction tries can only be used with --latency-limit or a duration (-T)")
	case scenario != "" && given("scale"):
		return fmt.Errorf("--scale is of pgbench's tables; %s takes --rows and --param", scenario)
	case scenario == "" && given("rows"):
		return errors.New("--rows is of the scenarios' table; scripts have none, pgbench's tables take -s")
	case b.vacuumAll && (b.inLab || scenario != ""):
		return errors.New("--vacuum-all is of pgbench's tables on a server of your own: in a lab they are fresh, a scenario does not use them")
	case scenario == "" && given("param"):
		return errors.New("--param is for scenarios; scripts take -D name=value")
	}
	return nil
}

// checkPlace refuses flags of another kind of server or of another job.
func (b *benchFlags) checkPlace() error {
	if b.inLab {
		switch n := b.changed(ofConnection); {
		case n != "":
			return fmt.Errorf("--lab makes its own server: leave --%s out", n)
		case b.initialize:
			return errors.New("-i with --lab makes tables that are gone at once: with --lab, -b, -N and -S make them by themselves (-s is their scale)")
		case b.cleanup:
			return errors.New("--cleanup with --lab: nothing of a lab is left that could be removed")
		}
	} else if n := b.changed(ofLab); n != "" {
		return fmt.Errorf("--%s is of a lab: add --lab", n)
	}
	benchmarking := b.changed(ofBenchmark)
	switch n := b.changed(ofInit); {
	case b.initialize && b.cleanup:
		return errors.New("specify either -i or --cleanup, not both")
	case b.cleanup && benchmarking != "":
		return fmt.Errorf("--cleanup only removes what pgtlb made: leave --%s out", benchmarking)
	case b.initialize && benchmarking != "":
		return fmt.Errorf("some of the specified options cannot be used in initialization (-i) mode: --%s", benchmarking)
	case !b.initialize && n != "":
		return fmt.Errorf("some of the specified options cannot be used in benchmarking mode: --%s", n)
	}
	return nil
}

func (b *benchFlags) checkRanges() error {
	given := b.flags.Changed
	switch {
	case !(b.apdex > 0): // NaN too
		return fmt.Errorf("--apdex-t %v: the threshold is a number of milliseconds above 0", b.apdex)
	case given("jobs") && b.jobs < 1:
		return fmt.Errorf("--jobs %d: there must be at least 1", b.jobs)
	case given("transactions") && b.transactions < 1:
		return fmt.Errorf("--transactions %d: there must be at least 1", b.transactions)
	case given("scale") && (b.scale < 1 || b.scale > maxScale):
		return fmt.Errorf("--scale %d: choose 1 to %d", b.scale, maxScale)
	case given("fillfactor") && (b.fillfactor < 10 || b.fillfactor > 100):
		return fmt.Errorf("--fillfactor %d: choose 10 to 100", b.fillfactor)
	case given("rate") && !(b.rate > 0):
		return fmt.Errorf("invalid rate limit: %q", fmt.Sprint(b.rate))
	case given("latency-limit") && !(b.limit > 0):
		return fmt.Errorf("invalid latency limit: %q", fmt.Sprint(b.limit))
	case given("progress") && b.progress < 1:
		return fmt.Errorf("--progress %d: there must be at least 1 second between reports", b.progress)
	case b.maxTries < 0:
		return fmt.Errorf("invalid number of maximum tries: %q", fmt.Sprint(b.maxTries))
	}
	return errors.Join(b.lab.checkRows(), b.load.check())
}

// maxScale is where pgbench's branch numbers, a 32-bit integer, end.
const maxScale = 1<<31 - 1

// showFault prints where in a script a fault is, below the error itself.
func (a *app) showFault(err error) error {
	var fault *script.Error
	if !errors.As(err, &fault) || fault.Spot() == "" {
		return err
	}
	return fmt.Errorf("%w\n%s", err, strings.TrimRight(fault.Spot(), "\n"))
}
