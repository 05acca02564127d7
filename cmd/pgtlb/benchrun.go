package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"pgtlb/workload"
	"pgtlb/workload/trial"
)

// benchLab drives the load on a private server. pgbench's builtins find their
// tables made.
func (a *app) benchLab(ctx context.Context, b *benchFlags, scenario string) error {
	w, err := b.what(a, scenario)
	if err != nil {
		return err
	}
	if w.builtins {
		w.load.Scenario.Data = func(v workload.Values) []workload.Data {
			return []workload.Data{workload.PgbenchTables{Scale: v["scale"]}}
		}
	}
	so, err := a.labSession(ctx, &b.lab, &b.load, func(o *trial.LabOptions) (workload.Load, error) {
		return w.load, roomFor(o, w.load.Clients)
	})
	if err != nil {
		return err
	}
	return a.benchDrive(ctx, b, so, w)
}

// benchDrive drives the load of a session, with its log.
func (a *app) benchDrive(ctx context.Context, b *benchFlags, so trial.Options, w benched) error {
	if b.log {
		f, err := os.OpenFile(fmt.Sprintf("%s.%d", b.logPrefix, os.Getpid()), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return fmt.Errorf("could not open logfile: %w", err)
		}
		defer func() { _ = f.Close() }() // the driver has flushed it and told of errors
		so.First.Log = f
	}
	schedule(so.First.Threads)
	return a.benchRun(ctx, so, w.asked, time.Duration(b.apdex*float64(time.Millisecond)), b.asJSON)
}

// schedule gives Go's scheduler a place for each thread that drives clients, and
// one for all else: threads that have to share places use about twice the CPU time.
func schedule(threads int) {
	if threads >= runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(threads + 1)
	}
}

// benchRun drives the load and prints its result. An interrupted load prints
// what was measured so far.
func (a *app) benchRun(ctx context.Context, o trial.Options, asked trial.Asked, apdex time.Duration, asJSON bool) error {
	run, load, err := driven(ctx, o, &follower{progress: a.err})
	if run == nil && load.Elapsed > 0 {
		run = trial.Unkept(o.First)
	}
	if run != nil {
		bench := trial.BuildBench(run, load, apdex)
		if asJSON {
			err = errors.Join(err, json.NewEncoder(a.out).Encode(bench))
		} else {
			err = errors.Join(err, trial.WriteResultText(a.out, bench, asked))
		}
	}
	if err == nil && ctx.Err() == nil && len(load.Aborted) > 0 {
		return a.aborted(load.Aborted)
	}
	return outcome(ctx, err, load.Failed)
}

// mostAborted is how many clients are named that ended early.
const mostAborted = 10

// aborted says which clients ended early, in pgbench's words.
func (a *app) aborted(clients []workload.Aborted) error {
	for i, c := range clients {
		if i == mostAborted {
			a.complain(fmt.Errorf("%d more clients aborted", len(clients)-i))
			break
		}
		a.complain(fmt.Errorf("client %d aborted: %w", c.Client, a.showFault(c.Err)))
	}
	//lint:ignore ST1005 pgbench's words
	return &exitError{exitNo, errors.New("Run was aborted; the above results are incomplete.")}
}
