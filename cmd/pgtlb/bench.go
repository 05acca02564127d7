package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"pgtlb/workload"
	"pgtlb/workload/trial"
)

func (a *app) bench() *cobra.Command {
	var l labFlags
	var load loadFlags
	var inLab, asJSON bool
	var apdex float64
	cmd := &cobra.Command{
		Use:   "bench SCENARIO --lab",
		Short: "Drive a scenario without a screen and print what it cost",
		Long: `Drives one scenario for -T seconds and prints throughput, latency, counters and
page tables, as text or, with --json, as one JSON object on the standard output.
The run is kept for "pgtlb report" and "pgtlb replay".

It needs --lab: the load runs on a private throw-away server.`,
		Example: "  pgtlb bench point-select --lab -T 10 --json\n  pgtlb bench join-aggregate --lab --pages 2MB --reserve -c 16",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !inLab {
				return errors.New("bench drives load on a private server only: add --lab")
			}
			if apdex <= 0 {
				return fmt.Errorf("--apdex-t %v: the threshold is a number of milliseconds above 0", apdex)
			}
			if _, err := workload.Find(args[0]); err != nil {
				return err
			}
			so, err := a.labSession(cmd.Context(), &l, &load, args[0])
			if err != nil {
				return err
			}
			return a.benchRun(cmd.Context(), so, time.Duration(apdex*float64(time.Millisecond)), asJSON)
		},
	}
	l.addFlags(cmd)
	load.addFlags(cmd, 20)
	f := cmd.Flags()
	f.BoolVar(&inLab, "lab", false, "run on a private throw-away server")
	f.BoolVar(&asJSON, "json", false, "one JSON object on the standard output")
	f.Float64Var(&apdex, "apdex-t", 500, "Apdex threshold in milliseconds")
	return cmd
}

// benchRun drives the load and prints its result. An interrupted load prints
// what was measured so far.
func (a *app) benchRun(ctx context.Context, o trial.Options, apdex time.Duration, asJSON bool) error {
	run, load, err := driven(ctx, o, &follower{progress: a.err})
	if run != nil {
		b := trial.BuildBench(run, load, apdex)
		if asJSON {
			err = errors.Join(err, json.NewEncoder(a.out).Encode(b))
		} else {
			err = errors.Join(err, trial.WriteResultText(a.out, b))
		}
	}
	return outcome(ctx, err, load.Failed)
}
