package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"pgtlb/probes"
	"pgtlb/tui"
	"pgtlb/workload/trial"
)

func (a *app) watch() *cobra.Command {
	var c connection
	var plain, allowLoad, queries bool
	var interval float64
	var reports, scope string
	cmd := &cobra.Command{
		Use:   "watch [connection]",
		Short: "Watch a running server; nothing there is created or changed",
		Long: `Watches a running server read only: no object is created, no setting changed.
Without flags it takes the local Unix socket, as psql does.

With --allow-load the keys of the scenarios start load on that server, each time
after a question that names host, database, clients and size. What a scenario
needs is made in schema pgtlb.`,
		Example: "  pgtlb watch -h /run/postgresql -U postgres\n  pgtlb watch postgres://dba@db1/app\n  pgtlb watch -d bench --allow-load",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := c.config(args)
			if err != nil {
				return err
			}
			screen := !plain && a.isTerminal()
			if allowLoad && !screen {
				return errors.New("--allow-load: without a screen there are no keys that start a load; pgtlb bench drives one")
			}
			if queries && !allowLoad {
				return errors.New("--with-queries: watch keeps no run but those of loads (--allow-load); pgtlb record keeps one of what it watches")
			}
			open := a.store
			if allowLoad {
				open = a.writableStore
			}
			store, err := open()
			if err != nil {
				return err
			}
			o := a.session(trial.Watching, store)
			o.Config, o.Reports, o.AllowLoad, o.Queries = cfg, reports, allowLoad, queries
			if o.Scope, err = probes.ParsePerfScope(scope); err != nil {
				return err
			}
			if o.Interval, err = seconds(interval); err != nil {
				return err
			}
			s := trial.NewSession(o)
			if !screen {
				return a.plainWatch(cmd.Context(), s)
			}
			return a.screen(cmd.Context(), s)
		},
	}
	c.addFlags(cmd)
	cmd.Flags().BoolVar(&plain, "plain", false, "one line per sample instead of a screen")
	cmd.Flags().BoolVar(&allowLoad, "allow-load", false, "let keys start scenarios on this server, each after a question")
	addQueries(cmd.Flags(), &queries)
	cmd.Flags().Float64Var(&interval, "interval", 1, "seconds between samples")
	cmd.Flags().StringVar(&scope, "scope", "", scopeHelp)
	cmd.Flags().StringVar(&reports, "report-dir", "", "where e writes reports (default: the working directory)")
	return cmd
}

// scopeHelp is the help of --scope.
const scopeHelp = "whose events are counted: system, cgroup (the server's service or container) or server (its processes); default: the first of these that is permitted"

// seconds checks an interval.
func seconds(s float64) (time.Duration, error) {
	if !(s >= 0.1 && s <= 60) { // NaN too
		return 0, fmt.Errorf("--interval %v: choose 0.1 to 60 seconds", s)
	}
	return time.Duration(s * float64(time.Second)), nil
}

// runner is an engine that works while its Run does.
type runner interface {
	tui.Engine
	Run(ctx context.Context) error
}

// screen shows an engine until the person quits or a signal comes, then ends
// the engine in order and says what was left behind.
func (a *app) screen(ctx context.Context, r runner) error {
	work, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- r.Run(work) }()
	o := tui.FromEnviron(os.Environ())
	o.Version = version
	shown := tui.Run(ctx, r, o)
	stop()
	err := <-ended
	if f, ok := r.(interface{ Farewell() []string }); ok {
		for _, l := range f.Farewell() {
			_, _ = fmt.Fprintln(a.out, probes.Clean(l))
		}
	}
	if ctx.Err() != nil {
		return &exitError{exitInterrupted, err}
	}
	return errors.Join(shown, err)
}
