package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

func (a *app) record() *cobra.Command {
	var c connection
	var length int
	var interval float64
	var scope string
	var asJSON, queries bool
	cmd := &cobra.Command{
		Use:   "record [connection]",
		Short: "Watch a running server without a screen and keep the run",
		Long: `Watches a running server read only for -T seconds, keeps the run for "pgtlb
report" and "pgtlb replay", and prints counters, page tables and huge pages, as
text or, with --json, as one JSON object on the standard output.

With --with-queries the run also holds the texts of queries, which "pgtlb report
--with-queries" lists and "pgtlb replay" shows. Constants are in them: a run of that
kind may hold personal data. A text that speaks of passwords, keys or other secrets is
kept up to there.`,
		Example: "  pgtlb record -h /run/postgresql -U postgres -T 60\n  pgtlb record -d postgres://dba@db1/app -T 300 --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := c.config(args)
			if err != nil {
				return err
			}
			if length < 1 {
				return fmt.Errorf("--time %d: record for at least 1 second", length)
			}
			every, err := seconds(interval)
			if err != nil {
				return err
			}
			counted, err := probes.ParsePerfScope(scope)
			if err != nil {
				return err
			}
			store, err := a.writableStore()
			if err != nil {
				return err
			}
			o := a.session(trial.Watching, store)
			o.Config, o.Record, o.Interval, o.Scope, o.Queries = cfg, time.Duration(length)*time.Second, every, counted, queries
			last, err := follow(cmd.Context(), trial.NewSession(o), &follower{progress: a.err},
				func(st *trial.State) bool { return st.Recorded != "" })
			if last.Recorded != "" {
				err = errors.Join(err, a.observed(last.Recorded, asJSON))
			}
			if cmd.Context().Err() != nil {
				return &exitError{exitInterrupted, err}
			}
			return err
		},
	}
	c.addFlags(cmd)
	f := cmd.Flags()
	f.IntVarP(&length, "time", "T", 60, "seconds to record")
	f.Float64Var(&interval, "interval", 1, "seconds between samples")
	f.StringVar(&scope, "scope", "", scopeHelp)
	addQueries(f, &queries)
	f.BoolVar(&asJSON, "json", false, "one JSON object on the standard output")
	return cmd
}

// observed prints what a run without a load saw.
func (a *app) observed(path string, asJSON bool) error {
	run, err := trial.Read(path)
	if err != nil {
		return err
	}
	o := trial.BuildObserved(run)
	if asJSON {
		return json.NewEncoder(a.out).Encode(o)
	}
	return trial.WriteObservedText(a.out, o)
}
