package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"pgtlb/workload"
	"pgtlb/workload/lab"
	"pgtlb/workload/script"
	"pgtlb/workload/trial"
)

// benched is a load and how its result is to be shown.
type benched struct {
	load     workload.Load
	asked    trial.Asked
	builtins bool // some of the scripts are pgbench's own
	pgbench  bool // it runs scripts, not a scenario
}

// what makes the load of the flags. Scripts are read and checked; nothing is
// connected. The scale is that of -s.
func (b *benchFlags) what(a *app, scenario string) (benched, error) {
	w := benched{pgbench: scenario == ""}
	sc, err := b.scenario(a, scenario, &w)
	if err != nil {
		return w, a.showFault(err)
	}
	l := workload.Load{Scenario: sc, Clients: sc.Clients, Threads: b.jobs, Seed: b.lab.seed, Rate: b.rate, MaxTries: b.maxTries,
		LatencyLimit: time.Duration(b.limit * float64(time.Millisecond)), Transactions: int64(b.transactions),
		Debug: &shared{w: a.err}, LogKinds: b.detailed}
	if b.verbose {
		l.Errors = l.Debug
	}
	l.Shell = func(ctx context.Context, command string) (string, error) { return lab.Shell(ctx, command) }
	if b.maxTries == 0 {
		l.MaxTries = -1
	}
	if b.load.clients > 0 {
		l.Clients = b.load.clients
	}
	if w.pgbench && !b.flags.Changed("jobs") {
		l.Threads = 1
	}
	if w.pgbench && !b.flags.Changed("random-seed") {
		if err := (seedFlag{&l.Seed}).Set("time"); err != nil {
			return w, err
		}
	}
	b.length(&l, w.pgbench)
	if l.Values, err = b.values(scenario, sc); err != nil {
		return w, err
	}
	for _, d := range b.defines {
		name, value, err := script.ParseDefine(d)
		if err != nil {
			return w, err
		}
		l.Defines = append(l.Defines, workload.Define{Name: name, Value: value})
	}
	if b.flags.Changed("protocol") {
		mode, err := script.ParseMode(b.protocol)
		if err != nil {
			return w, err
		}
		l.Mode = &mode
	}
	if b.progress > 0 {
		l.Every = time.Duration(b.progress) * time.Second
		l.Report = func(i workload.Interval) { _, _ = fmt.Fprintln(a.err, progressLine(i, &l)) }
	}
	w.load = l
	work, err := sc.Work(l.Values)
	if err != nil {
		return w, err
	}
	w.asked = trial.AskedOf(l, work)
	w.asked.Pgbench, w.asked.Detailed = w.pgbench, b.detailed
	return w, nil
}

// length is how long the load runs.
func (b *benchFlags) length(l *workload.Load, pgbench bool) {
	const defaultTransactions = 10 // pgbench's
	switch {
	case l.Transactions > 0:
	case pgbench && !b.flags.Changed("time"):
		l.Transactions = defaultTransactions
	default:
		l.Duration = time.Duration(b.load.seconds) * time.Second
	}
}

// scenario is the scenario that is named, or that of the scripts.
func (b *benchFlags) scenario(a *app, name string, w *benched) (workload.Scenario, error) {
	if name != "" {
		sc, err := workload.Find(name)
		if err != nil {
			return sc, err
		}
		work := sc.Work
		sc.Work = func(v workload.Values) (workload.Work, error) {
			made, err := work(v)
			made.PerCommand, made.Reconnect = made.PerCommand || b.perCommand, made.Reconnect || b.connect
			return made, err
		}
		return sc, nil
	}
	mode, err := script.ParseMode(b.protocol)
	if err != nil {
		return workload.Scenario{}, err
	}
	work := workload.Work{Mode: mode, Strict: !b.goOn, PerCommand: b.perCommand, Reconnect: b.connect}
	specs := b.scripts
	if len(specs) == 0 {
		specs = []scriptSpec{{"tpcb-like", true}}
	}
	for _, spec := range specs {
		var s workload.Script
		var err error
		if spec.builtin {
			s, err = workload.BuiltinScript(spec.text)
			w.builtins = true
		} else {
			s, err = workload.ReadScript(spec.text, a.in)
		}
		if err != nil {
			return workload.Scenario{}, err
		}
		work.Scripts = append(work.Scripts, s)
	}
	return workload.Custom(work)
}

// values are the parameters of the load.
func (b *benchFlags) values(name string, sc workload.Scenario) (workload.Values, error) {
	v := sc.Own(workload.Values{"rows": b.lab.rows, "data_seed": b.lab.seed, "scale": int64(b.scale)})
	if err := addParams(v, b.params); err != nil {
		return nil, err
	}
	v, err := sc.Resolve(v)
	if err != nil && name != "" {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return v, err
}

// addParams adds what --param gives to the parameters of a scenario.
func addParams(v workload.Values, params []string) error {
	for _, p := range params {
		key, text, ok := strings.Cut(p, "=")
		n, err := strconv.ParseInt(text, 10, 64)
		if !ok || err != nil {
			return fmt.Errorf("--param %s: write it as name=integer", p)
		}
		v[key] = n
	}
	return nil
}

// progressLine is a line of -P, as pgbench writes it.
func progressLine(i workload.Interval, l *workload.Load) string {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	text := fmt.Sprintf("progress: %.1f s, %.1f tps, lat %.3f ms stddev %.3f, %d failed",
		i.At.Seconds(), float64(i.Transactions)/i.Length.Seconds(), ms(i.Mean), ms(i.Stddev), i.Failed)
	if l.Rate > 0 {
		text += fmt.Sprintf(", lag %.3f ms", ms(i.LagMean))
		if l.LatencyLimit > 0 {
			text += fmt.Sprintf(", %d skipped", i.Skipped)
		}
	}
	if l.MaxTries < 0 || l.MaxTries > 1 {
		text += fmt.Sprintf(", %d retried, %d retries", i.Retried, i.Retries)
	}
	return text
}

// shared lets one goroutine at a time write.
type shared struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}
