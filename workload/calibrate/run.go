package calibrate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"pgtlb/probes"
	"pgtlb/workload"
	"pgtlb/workload/lab"
	"pgtlb/workload/script"
	"pgtlb/workload/trial"
)

// pause is the least time between two runs.
const pause = 300 * time.Millisecond

// settlePatience is how long the backends of a run may take to end before the
// next one begins all the same.
const settlePatience = 10 * time.Second

// stopPatience bounds stopping the server.
const stopPatience = 30 * time.Second

// stand is where the runs take place.
type stand struct {
	o       *Options
	cluster *lab.Cluster
	pgbench *lab.Pgbench // nil without one
	report  *Report
	times   schedule
}

// Run makes a private server, runs all parts on it and takes it away again. With
// an error, or when ctx ends, the report holds the rounds that were complete; it
// is nil where nothing was measured.
func Run(ctx context.Context, o Options) (*Report, error) {
	s := &stand{o: &o, report: &Report{Rows: o.Load.Values["rows"], Rounds: o.Rounds, Seconds: int(o.Load.Duration / time.Second),
		Server: o.Lab.Server.Version, Driver: []Against{}, Warnings: []string{}, Unavailable: []probes.Miss{}}}
	if err := s.findPgbench(ctx); err != nil {
		return nil, err
	}
	host, err := probes.ReadHost(o.Roots)
	if err != nil {
		s.report.Warnings = append(s.report.Warnings, err.Error())
	}
	s.report.Machine = host
	err = s.inLab(ctx)
	if s.times.done == 0 {
		return nil, err
	}
	s.report.Interrupted = ctx.Err() != nil
	s.report.sum()
	return s.report, err
}

// findPgbench looks for the program before anything is made. Without it the
// other parts are left.
func (s *stand) findPgbench(ctx context.Context) error {
	if !s.o.wants(Driver) {
		return nil
	}
	p, err := s.o.Lab.Server.Pgbench(ctx)
	var u *probes.Unavailable
	switch {
	case errors.As(err, &u) && s.o.Only == "":
		s.report.Unavailable = append(s.report.Unavailable, probes.Miss{ID: string(Driver), Reason: "no pgbench: " + u.Reason, Remedy: u.Remedy})
		s.o.Say(u.Error())
		return nil
	case err != nil:
		return err
	}
	s.pgbench, s.report.Pgbench = &p, p.Version
	return nil
}

// inLab runs all parts on a server of their own.
func (s *stand) inLab(ctx context.Context) (err error) {
	lines, sweepErr := lab.Sweep(ctx, lab.SweepOptions{})
	for _, l := range lines {
		s.o.Say(l)
	}
	if sweepErr != nil {
		s.o.Say("sweeping left-over labs: " + sweepErr.Error())
	}
	step := ""
	progress := func(p workload.Progress) {
		if p.Phase != step {
			step = p.Phase
			s.o.Say(join(p.Phase, p.Detail))
		}
	}
	s.cluster, err = lab.Start(ctx, s.o.Lab, func(phase, detail string, done, total int64) {
		progress(workload.Progress{Phase: phase, Detail: detail, Done: done, Total: total})
	})
	if err != nil {
		return err
	}
	defer func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
		defer cancel()
		err = errors.Join(err, s.cluster.Stop(bounded))
		if s.o.Lab.Keep {
			s.o.Say("the lab is " + s.cluster.KeptHint())
		}
	}()
	s.report.Pages = s.cluster.Pages().String()
	if err := s.fill(ctx, progress); err != nil {
		return err
	}
	s.times = schedule{left: s.o.runs(s.pgbench != nil), began: time.Now(), each: s.o.Load.Duration + 2*pause}
	for _, part := range []struct {
		name Part
		run  func(context.Context) error
	}{{Driver, s.againstPgbench}, {AA, s.identical}, {Probes, s.withProbes}} {
		if !s.o.wants(part.name) || part.name == Driver && s.pgbench == nil {
			continue
		}
		if err := part.run(ctx); err != nil {
			return s.explain(err)
		}
	}
	return nil
}

// fill makes the data and puts it into shared buffers, once for all runs.
func (s *stand) fill(ctx context.Context, progress func(workload.Progress)) error {
	sc, connect := s.o.Load.Scenario, s.connect("setup")
	if err := sc.Setup(ctx, connect, s.o.Load.Values, progress); err != nil {
		return err
	}
	warm, err := workload.Prewarm(ctx, connect, sc.Needs(s.o.Load.Values), progress)
	switch {
	case errors.Is(err, probes.ErrUnavailable):
		s.report.Warnings = append(s.report.Warnings, "the data is not prewarmed: "+err.Error())
		return nil
	case err != nil:
		return err
	}
	s.o.Say(warm.String())
	if warm.Percent() < 99 {
		s.report.Warnings = append(s.report.Warnings, warm.String()+": runs read from outside shared buffers too")
	}
	return nil
}

// explain puts the end of the server before what it led to.
func (s *stand) explain(err error) error {
	select {
	case <-s.cluster.Done():
		return errors.Join(s.cluster.Err(), err)
	default:
		return err
	}
}

// connect opens connections to the lab under an application name of pgtlb's.
func (s *stand) connect(name string) workload.Connect {
	return func(ctx context.Context) (*pgx.Conn, error) {
		cfg, err := pgx.ParseConfig(s.cluster.DSN())
		if err != nil {
			return nil, err
		}
		cfg.RuntimeParams["application_name"] = probes.AppName + " " + name
		return pgx.ConnectConfig(ctx, cfg)
	}
}

// driven is a run of pgtlb's driver.
type driven struct {
	Measured
	own     time.Duration // CPU time of the process while the clients ran
	threads time.Duration // of that, of the threads that drive clients; 0 where not measured
	took    time.Duration
}

// drive runs pgtlb's driver once.
func (s *stand) drive(ctx context.Context, round, clients int, mode script.Mode) (driven, error) {
	load := s.o.Load
	load.Clients, load.Mode, load.Threads = clients, &mode, s.o.setting(clients, mode).Threads
	load.Seed += int64(round)
	load.Connect = s.connect(load.Scenario.Name)
	var d driven
	load.Started = func() { d.own = probes.OwnCPU() }
	load.Stopped = func(error) { d.own = probes.OwnCPU() - d.own }
	res, err := workload.NewRunner(workload.NewMeter(load.Scenario.Name)).Run(ctx, load)
	switch {
	case ctx.Err() != nil:
		return d, context.Cause(ctx)
	case err != nil:
		return d, err
	case res.Failed > 0:
		return d, fmt.Errorf("%d transactions of %s failed, which leaves nothing to compare: %v", res.Failed, load.Scenario.Name, res.FailedBy)
	case res.Transactions == 0:
		return d, fmt.Errorf("no transaction of %s finished in %v; give more time with -T", load.Scenario.Name, load.Duration)
	}
	d.TPS, d.threads, d.took = res.TPS(), res.DriverCPU, res.Elapsed
	if d.own > 0 {
		d.CPU = perTransaction(d.own, res.Transactions)
	}
	return d, s.settle(ctx)
}

// perTransaction is a CPU time over transactions in µs; nil where it is not
// above 0, which is then not the truth.
func perTransaction(cpu time.Duration, n int64) *float64 {
	if cpu <= 0 || n <= 0 {
		return nil
	}
	us := float64(cpu) / float64(time.Microsecond) / float64(n)
	return &us
}

// settle waits between two runs until the backends of the first have ended: else
// they would work beside the next, and take connections away from it.
func (s *stand) settle(ctx context.Context) error {
	conn, err := s.connect("setup")(ctx)
	if err != nil {
		return fmt.Errorf("between two runs: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for until := time.Now().Add(settlePatience); ; {
		t := time.NewTimer(pause)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return context.Cause(ctx)
		}
		var left int
		err := conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND application_name <> $1`, probes.AppName).Scan(&left)
		if err != nil {
			return fmt.Errorf("between two runs: %w", err)
		}
		if left == 0 || time.Now().After(until) {
			return nil
		}
	}
}

// first tells which side a round begins with, so that the order is ABBA.
func first(round int) (aFirst bool) { return round%2 == 0 }

// inTurn runs a and b once each, in the order of the round.
func inTurn(round int, a, b func() error) error {
	if !first(round) {
		a, b = b, a
	}
	if err := a(); err != nil {
		return err
	}
	return b()
}

// say prints how a round went and how long the rest takes.
func (s *stand) say(part Part, round int, what string) {
	left := s.times.rest(time.Now()).Seconds()
	s.o.Say(fmt.Sprintf("%-6s  round %d of %d  %s; %s left", part, round+1, s.o.Rounds, what, trial.Seconds(float64(int(left)))))
}
