package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pgtlb/workload/trial"
)

// benchFlags are pgbench's flags, and those that pgtlb adds.
type benchFlags struct {
	flags *pflag.FlagSet
	conn  connection
	lab   labFlags
	load  loadFlags

	inLab, asJSON, allowLoad, cleanup bool
	apdex                             float64
	params                            []string

	scripts  []scriptSpec // in the order in which they were given
	defines  []string
	protocol string

	jobs, transactions, scale, progress, maxTries int
	rate, limit                                   float64
	perCommand, connect, noVacuum, vacuumAll      bool
	log, detailed, goOn, verbose                  bool
	logPrefix                                     string
	initialize, unlogged, foreignKeys, quiet      bool
	fillfactor                                    int
}

// ofBenchmark are the flags that -i does not take.
var ofBenchmark = []string{"builtin", "file", "skip-some-updates", "select-only", "client", "connect", "define", "jobs", "log", "log-prefix",
	"latency-limit", "protocol", "progress", "report-per-command", "report-latencies", "rate", "transactions", "time", "vacuum-all",
	"failures-detailed", "max-tries", "verbose-errors", "continue-on-error", "random-seed", "param", "apdex-t", "json", "warmup", "scope", "rows", "with-queries"}

// ofInit are the flags that only -i takes.
var ofInit = []string{"fillfactor", "unlogged-tables", "foreign-keys", "quiet"}

func (b *benchFlags) addFlags(cmd *cobra.Command) {
	b.conn.addFlags(cmd)
	b.lab.addFlags(cmd)
	b.load.addFlags(cmd, 20)
	f := cmd.Flags()
	b.flags = f
	f.BoolVar(&b.inLab, "lab", false, "run on a private throw-away server")
	f.BoolVar(&b.allowLoad, "allow-load", false, "let the load run on a server that pgtlb did not start")
	f.BoolVar(&b.cleanup, "cleanup", false, "remove what pgtlb made in the database, and end")
	f.BoolVar(&b.asJSON, "json", false, "one JSON object on the standard output")
	f.Float64Var(&b.apdex, "apdex-t", float64(trial.DefaultApdexT)/float64(time.Millisecond), "Apdex threshold in milliseconds")
	f.StringArrayVar(&b.params, "param", nil, "parameter of the scenario, name=value; may be repeated")
	f.Lookup("client").Usage = "clients (default: the scenario's own, 1 for scripts)"
	f.Lookup("time").Usage = "seconds that the load runs (default: 20 for a scenario)"
	f.Lookup("time").DefValue = "0"
	f.Lookup("random-seed").Usage = "seed of the data and of the clients: an integer, time or rand (default: time for scripts, 1 for a scenario)"
	f.Lookup("random-seed").DefValue = ""
	f.Lookup("yes").Usage = "answer yes: run the load on a server that pgtlb did not start, install PostgreSQL where there is none"
	b.addScripts(f)
	b.addLoad(f)
	b.addInit(f)
}

// addScripts adds what says what is run.
func (b *benchFlags) addScripts(f *pflag.FlagSet) {
	f.VarP(&scriptFlag{&b.scripts, false, ""}, "file", "f", "script `FILE[@WEIGHT]` in pgbench's language; may be repeated")
	f.VarP(&scriptFlag{&b.scripts, true, ""}, "builtin", "b", "builtin script `NAME[@WEIGHT]`: tpcb-like, simple-update, select-only; list lists them")
	f.VarPF(&scriptFlag{&b.scripts, true, "simple-update"}, "skip-some-updates", "N", "-b simple-update").NoOptDefVal = "true"
	f.VarPF(&scriptFlag{&b.scripts, true, "select-only"}, "select-only", "S", "-b select-only").NoOptDefVal = "true"
	f.StringArrayVarP(&b.defines, "define", "D", nil, "variable of the scripts, `name=value`; may be repeated")
	f.StringVarP(&b.protocol, "protocol", "M", "simple", "protocol: simple, extended or prepared (a scenario has its own)")
}

// addLoad adds what says how it is run.
func (b *benchFlags) addLoad(f *pflag.FlagSet) {
	f.IntVarP(&b.jobs, "jobs", "j", 0, "threads that drive the clients (default: 1 for scripts, half of the CPUs for a scenario)")
	f.IntVarP(&b.transactions, "transactions", "t", 0, "transactions of each client (default: 10 for scripts without -T)")
	f.Float64VarP(&b.rate, "rate", "R", 0, "transactions per second of all clients")
	f.Float64VarP(&b.limit, "latency-limit", "L", 0, "milliseconds above which a transaction is late; with -R those too late to begin are skipped")
	f.IntVarP(&b.progress, "progress", "P", 0, "a line on the standard error every so many seconds")
	f.BoolVarP(&b.perCommand, "report-per-command", "r", false, "latencies, failures and retries of each command")
	f.BoolVar(&b.perCommand, "report-latencies", false, "-r in older versions")
	_ = f.MarkHidden("report-latencies") // it exists
	f.BoolVarP(&b.connect, "connect", "C", false, "a new connection for each transaction")
	f.BoolVarP(&b.noVacuum, "no-vacuum", "n", false, "no vacuum before")
	f.BoolVarP(&b.vacuumAll, "vacuum-all", "v", false, "vacuum all four of pgbench's tables before")
	f.BoolVarP(&b.log, "log", "l", false, "a line for each transaction in pgbench_log.PID")
	f.StringVar(&b.logPrefix, "log-prefix", "pgbench_log", "beginning of the log file's name")
	f.IntVar(&b.maxTries, "max-tries", 1, "tries of a transaction that fails by serialization or deadlock; 0 is without limit")
	f.BoolVar(&b.detailed, "failures-detailed", false, "failures by kind")
	f.BoolVar(&b.goOn, "continue-on-error", false, "scripts go on after an SQL error")
	f.BoolVar(&b.verbose, "verbose-errors", false, "print every error on the standard error")
}

// addInit adds pgbench -i.
func (b *benchFlags) addInit(f *pflag.FlagSet) {
	f.BoolVarP(&b.initialize, "initialize", "i", false, "make pgbench's tables, and end")
	f.IntVarP(&b.scale, "scale", "s", 1, "scale of pgbench's tables: 100,000 accounts, about 15 MB each; :scale in scripts")
	f.IntVarP(&b.fillfactor, "fillfactor", "F", 100, "with -i: fillfactor of the tables in percent")
	f.BoolVar(&b.unlogged, "unlogged-tables", false, "with -i: unlogged tables")
	f.BoolVar(&b.foreignKeys, "foreign-keys", false, "with -i: foreign keys between the tables")
	f.BoolVarP(&b.quiet, "quiet", "q", false, "with -i: as in pgbench, without an effect here")
}

// scriptSpec is the argument of -f or -b.
type scriptSpec struct {
	text    string
	builtin bool
}

// scriptFlag adds a script to those given so far.
type scriptFlag struct {
	list    *[]scriptSpec
	builtin bool
	name    string // of the builtin that the flag stands for
}

// Set adds one script; it is read later.
func (s *scriptFlag) Set(text string) error {
	if s.name != "" {
		text = s.name
	}
	*s.list = append(*s.list, scriptSpec{text, s.builtin})
	return nil
}

func (s *scriptFlag) String() string { return "" }

// Type is what the help shows behind the flag.
func (s *scriptFlag) Type() string {
	if s.name != "" {
		return "bool"
	}
	return "script"
}

// listed tells whether -b list was given.
func (b *benchFlags) listed() bool {
	for _, s := range b.scripts {
		if s.builtin && s.text == "list" {
			return true
		}
	}
	return false
}

// seedFlag is a random seed: an integer, time or rand.
type seedFlag struct{ seed *int64 }

// Set takes the seed. An unsigned integer keeps its 64 bits.
func (s seedFlag) Set(text string) error {
	switch text {
	case "time":
		*s.seed = time.Now().UnixMicro()
		return nil
	case "rand":
		*s.seed = int64(rand.Uint64()) // its own seed comes from the system
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		var u uint64
		u, err = strconv.ParseUint(text, 10, 64)
		n = int64(u)
	}
	if err != nil {
		return fmt.Errorf("write an integer, time or rand")
	}
	*s.seed = n
	return nil
}

func (s seedFlag) String() string {
	if s.seed == nil {
		return ""
	}
	return strconv.FormatInt(*s.seed, 10)
}

// Type is what the help shows behind the flag.
func (s seedFlag) Type() string { return "seed" }
