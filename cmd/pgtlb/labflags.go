package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pgtlb/probes"
	"pgtlb/workload"
	"pgtlb/workload/lab"
	"pgtlb/workload/trial"
)

// labFlags are shared by the verbs that make a lab.
type labFlags struct {
	rows          int64
	sharedBuffers string
	pages         string
	reserve       bool
	set           []string
	bindir        string
	osUser        string
	keep          bool
	seed          int64
	yes           bool
	scope         string
	flush         bool // no flag: what is measured is about the flush of the WAL
}

func (l *labFlags) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Int64Var(&l.rows, "rows", workload.DefaultRows, "rows of the test table")
	f.StringVar(&l.sharedBuffers, "shared-buffers", "", "shared_buffers, e.g. 4GB (default: a quarter of the available memory, 2GB at most)")
	f.StringVar(&l.pages, "pages", "4kB", "page size of shared memory: 4kB, 2MB or 1GB")
	f.BoolVar(&l.reserve, "reserve", false, "as root, reserve missing huge pages and give them back at the end")
	f.StringArrayVar(&l.set, "set", nil, "server setting GUC=value; may be repeated")
	f.StringVar(&l.bindir, "pg-bindir", "", "folder of initdb and postgres (default: the newest that is found)")
	f.StringVar(&l.osUser, "os-user", "", "as root, the account that the server runs under")
	f.BoolVar(&l.keep, "keep", false, "keep the server's directory at the end")
	l.seed = 1
	f.Var(seedFlag{&l.seed}, "random-seed", "seed of the data and of the clients: an integer, time or rand")
	f.StringVar(&l.scope, "scope", "", scopeHelp)
	f.BoolVarP(&l.yes, "yes", "y", false, "install PostgreSQL without asking where there is none")
}

// options checks the flags. The server programs are found by find, once all
// else has been checked: it may install them.
func (l *labFlags) options() (trial.LabOptions, error) {
	if err := l.checkRows(); err != nil {
		return trial.LabOptions{}, err
	}
	pages, err := lab.ParsePages(l.pages)
	if err != nil {
		return trial.LabOptions{}, fmt.Errorf("--pages: %w", err)
	}
	settings := map[string]string{}
	for _, s := range l.set {
		name, value, ok := strings.Cut(s, "=")
		if !ok || strings.TrimSpace(name) == "" {
			return trial.LabOptions{}, fmt.Errorf("--set %s: write it as GUC=value, e.g. --set work_mem=64MB", s)
		}
		settings[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	if l.sharedBuffers != "" {
		if _, err := lab.ParseSize(l.sharedBuffers); err != nil {
			return trial.LabOptions{}, fmt.Errorf("--shared-buffers: %w", err)
		}
	}
	return trial.LabOptions{
		Cluster: lab.Options{Settings: settings, SharedBuffers: l.sharedBuffers, Pages: pages,
			Reserve: l.reserve, OSUser: l.osUser, Keep: l.keep},
		Rows: l.rows, Seed: l.seed,
	}, nil
}

func (l *labFlags) checkRows() error {
	if l.rows < 1 {
		return fmt.Errorf("--rows %d: the table needs at least 1 row", l.rows)
	}
	return nil
}

// find finds the server programs or, where there are none, offers to install
// them.
func (l *labFlags) find(ctx context.Context, a *app) (lab.Server, error) {
	server, err := lab.Find(ctx, l.bindir)
	if errors.Is(err, lab.ErrNoServer) {
		return a.offerInstall(ctx, l.yes, err)
	}
	return server, err
}

// loadFlags say what is driven.
type loadFlags struct {
	clients int
	seconds int
	warmup  string
	queries bool
	flags   *pflag.FlagSet
}

func (l *loadFlags) addFlags(cmd *cobra.Command, seconds int) {
	l.addClients(cmd, "0")
	cmd.Flags().IntVarP(&l.seconds, "time", "T", seconds, "seconds that the load runs")
}

// addClients adds what a load has whose length is said otherwise.
func (l *loadFlags) addClients(cmd *cobra.Command, warmup string) {
	f := cmd.Flags()
	l.flags = f
	f.IntVarP(&l.clients, "client", "c", 0, "clients (default: the scenario's own)")
	addQueries(f, &l.queries)
	f.StringVar(&l.warmup, "warmup", warmup, "work before the measured part: seconds, or auto for until page faults settle, 2 minutes at most")
}

// warmUp is the warm-up asked for.
func (l *loadFlags) warmUp() (trial.WarmUp, error) {
	if l.warmup == "auto" {
		return trial.WarmUp{Auto: true, Most: trial.DefaultWarmUp}, nil
	}
	d, err := time.ParseDuration(l.warmup)
	if seconds, plain := strconv.ParseFloat(l.warmup, 64); plain == nil && seconds >= 0 && seconds <= time.Hour.Seconds() {
		d, err = time.Duration(seconds*float64(time.Second)), nil
	}
	if err != nil || d < 0 || d > time.Hour {
		return trial.WarmUp{}, fmt.Errorf("--warmup %s: write auto, or a time up to an hour such as 5s", l.warmup)
	}
	return trial.WarmUp{Most: d}, nil
}

// check refuses what cannot be.
func (l *loadFlags) check() error {
	switch {
	case l.clients < 1 && l.flags.Changed("client"):
		return fmt.Errorf("--client %d: there must be at least 1", l.clients)
	case l.seconds < 1:
		return fmt.Errorf("--time %d: the load must run for at least 1 second", l.seconds)
	}
	return nil
}

// load checks scenario, clients and time and makes the load of them.
func (l *loadFlags) load(o *trial.LabOptions, scenario string) (workload.Load, error) {
	sc, err := workload.Find(scenario)
	if err != nil {
		return workload.Load{}, err
	}
	values := sc.Own(workload.Values{"rows": o.Rows, "data_seed": o.Seed})
	if _, err := sc.Resolve(values); err != nil {
		return workload.Load{}, fmt.Errorf("%s: %w", scenario, err)
	}
	if err := l.check(); err != nil {
		return workload.Load{}, err
	}
	what := workload.Load{Scenario: sc, Values: values, Clients: sc.Clients, Seed: o.Seed,
		Duration: time.Duration(l.seconds) * time.Second}
	if l.clients > 0 {
		what.Clients = l.clients
	}
	return what, roomFor(o, what.Clients)
}

// Connections that the lab has by itself, and those that are not for one
// scenario's clients: pgtlb's own and another scenario's.
const (
	labConnections = lab.MaxConnections
	otherSessions  = 50
)

// roomFor raises max_connections for many clients, and refuses clients that do
// not fit into what --set asks for, before anything is made.
func roomFor(o *trial.LabOptions, clients int) error {
	set, chosen := o.Cluster.Settings["max_connections"]
	switch n, err := strconv.Atoi(set); {
	case clients > maxClients:
		return fmt.Errorf("--client %d: PostgreSQL takes %d connections at most", clients, maxClients)
	case !chosen && clients > labConnections-otherSessions:
		o.Cluster.Settings["max_connections"] = strconv.Itoa(clients + otherSessions)
	case chosen && err == nil && clients > n:
		return fmt.Errorf("--client %d: more than max_connections = %d; leave --set max_connections out, then it is raised", clients, n)
	}
	return nil
}

// maxClients leaves room below PostgreSQL's MAX_BACKENDS of 262143.
const maxClients = 100_000

// labSession checks everything that can be checked, then finds the server
// programs or installs them, and makes the options of a session on a lab. load
// makes its first load, and may change the lab for it; nil starts none.
func (a *app) labSession(ctx context.Context, l *labFlags, lf *loadFlags, load func(*trial.LabOptions) (workload.Load, error)) (trial.Options, error) {
	o, err := l.options()
	if err != nil {
		return trial.Options{}, err
	}
	warm, err := lf.warmUp()
	if err != nil {
		return trial.Options{}, err
	}
	var first workload.Load
	if load != nil {
		if first, err = load(&o); err != nil {
			return trial.Options{}, err
		}
	}
	if first.Scenario.Flushes || l.flush {
		o.Cluster.Settings = lab.Durable(o.Cluster.Settings)
		_, _ = fmt.Fprintln(a.err, "commits wait for the disk in this lab: that is what is asked about (fsync, synchronous_commit and full_page_writes are on unless set otherwise)")
	}
	scope, err := probes.ParsePerfScope(l.scope)
	if err != nil {
		return trial.Options{}, err
	}
	store, err := a.writableStore()
	if err != nil {
		return trial.Options{}, err
	}
	if o.Cluster.Server, err = l.find(ctx, a); err != nil {
		return trial.Options{}, err
	}
	so := a.session(trial.InLab, store)
	so.Lab, so.First, so.WarmUp, so.Scope, so.Queries = o, first, warm, scope, lf.queries
	return so, nil
}

// addQueries adds the flag of the verbs that record.
func addQueries(f *pflag.FlagSet, on *bool) {
	f.BoolVar(on, "with-queries", false, "keep the texts of queries in the run, with their constants; those that speak of secrets end there")
}

// session makes the options that all sessions share.
func (a *app) session(mode trial.Mode, store *trial.Store) trial.Options {
	return trial.Options{Mode: mode, Program: version, Command: trial.CommandLine(a.args), Store: store, Roots: probes.SystemRoots()}
}
