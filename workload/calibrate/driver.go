package calibrate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pgtlb/probes"
	"pgtlb/workload"
	"pgtlb/workload/lab"
	"pgtlb/workload/script"
)

// againstPgbench runs the driver and pgbench in turn, for each mode and number
// of clients.
func (s *stand) againstPgbench(ctx context.Context) error {
	for _, mode := range s.o.Modes {
		for _, clients := range s.o.Clients {
			if err := s.compare(ctx, clients, mode); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *stand) compare(ctx context.Context, clients int, mode script.Mode) error {
	what := s.o.setting(clients, mode)
	part := Against{Setting: what}
	defer func() {
		if len(part.Pairs) > 0 {
			s.report.Driver = append(s.report.Driver, part)
		}
	}()
	for round := range s.o.Rounds {
		pair := DriverPair{OursFirst: first(round)}
		var children time.Duration
		before := observe(s.o.Roots, s.cluster.Pid())
		err := inTurn(round, func() error {
			ours, err := s.drive(ctx, round, clients, mode)
			pair.Ours = ours.Measured
			return err
		}, func() (err error) {
			pair.Pgbench, children, err = s.drivePgbench(ctx, round, what)
			return err
		})
		if errors.Is(err, lab.ErrNoTransaction) {
			s.times.ran(2)
			s.leaveOut(what, round, err)
			continue
		}
		if err != nil {
			return err
		}
		pair.Around = observe(s.o.Roots, s.cluster.Pid()).since(before, children)
		part.Pairs = append(part.Pairs, pair)
		s.times.ran(2)
		s.say(Driver, round, fmt.Sprintf("%s: pgtlb %s TPS, pgbench %s TPS, ratio %s",
			what, probes.Number(pair.Ours.TPS), probes.Number(pair.Pgbench.TPS), three(pair.tpsRatio())))
	}
	return nil
}

// leaveOut notes a round in which pgbench measured nothing; the others count.
func (s *stand) leaveOut(what Setting, round int, why error) {
	line := fmt.Sprintf("driver, %s: round %d is left out, %v", what, round+1, why)
	s.o.Say(line)
	s.report.Warnings = append(s.report.Warnings, line)
}

// drivePgbench runs pgbench twice: with one transaction for each client, which
// costs what starting and connecting cost, and as long as the driver runs. It
// also returns the CPU time of both.
func (s *stand) drivePgbench(ctx context.Context, round int, what Setting) (Measured, time.Duration, error) {
	work, err := s.o.Load.Scenario.Work(s.o.Load.Values)
	if err != nil {
		return Measured{}, 0, err
	}
	run := lab.PgbenchRun{
		Script: work.Scripts[0].Text, Defines: s.o.Load.Values, SearchPath: workload.Schema, Mode: what.Mode,
		Clients: what.Clients, Threads: what.Threads, Seed: s.o.Load.Seed + int64(round), Transactions: 1,
	}
	once, err := s.cluster.RunPgbench(ctx, *s.pgbench, run)
	if err != nil {
		return Measured{}, 0, fmt.Errorf("pgbench with -t 1: %w", err)
	}
	if err := s.settle(ctx); err != nil {
		return Measured{}, 0, err
	}
	run.Transactions, run.Seconds = 0, s.report.Seconds
	res, err := s.cluster.RunPgbench(ctx, *s.pgbench, run)
	if err != nil {
		return Measured{}, 0, fmt.Errorf("pgbench: %w", err)
	}
	m := Measured{TPS: res.TPS, CPU: perTransaction(res.CPU-once.CPU, res.Transactions-once.Transactions)}
	return m, once.CPU + res.CPU, s.settle(ctx)
}
