package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"pgtlb/probes"
	"pgtlb/workload/calibrate"
	"pgtlb/workload/script"
)

// calibrateFlags say what is run besides the lab.
type calibrateFlags struct {
	clients []string
	modes   []string
	threads int
	seconds int
	rounds  int
	only    string
}

func (a *app) calibrate() *cobra.Command {
	var l labFlags
	var c calibrateFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "calibrate",
		Short: "How far figures of this machine can be trusted",
		Long: `Finds out on a private throw-away server how far figures of this machine can be
trusted: pgtlb's driver against the installed pgbench (the same script, clients,
threads and protocol), the spread of identical runs, which is the noise floor,
and TPS with and without the probes. All runs of a part are interleaved, in
ABBA order, and what else the machine did is written beside each.

Take the machine for yourself meanwhile. Ctrl-C ends it and prints the rounds
that are complete.`,
		Example: "  pgtlb calibrate\n  pgtlb calibrate -c 8,80 -M prepared,simple --only driver --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := a.calibration(cmd, &l, &c)
			if err != nil {
				return err
			}
			return a.calibrated(cmd.Context(), o, asJSON)
		},
	}
	l.addFlags(cmd)
	f := cmd.Flags()
	f.StringSliceVarP(&c.clients, "client", "c", []string{"8"}, "clients; several numbers are compared with pgbench one after the other")
	f.StringSliceVarP(&c.modes, "protocol", "M", []string{"prepared"}, "simple, extended, prepared; several as with -c")
	f.IntVarP(&c.threads, "jobs", "j", 0, "threads of pgtlb's driver and of pgbench (default: half of the CPUs)")
	f.IntVarP(&c.seconds, "time", "T", 4, "seconds of each run")
	f.IntVar(&c.rounds, "rounds", 8, "rounds of each part")
	f.StringVar(&c.only, "only", "", "only one part: driver, aa or probes")
	f.BoolVar(&asJSON, "json", false, "one JSON object on the standard output")
	return cmd
}

// calibration checks all flags, then finds the server programs.
func (a *app) calibration(cmd *cobra.Command, l *labFlags, c *calibrateFlags) (calibrate.Options, error) {
	var o calibrate.Options
	lab, err := l.options()
	if err != nil {
		return o, err
	}
	if o.Clients, err = c.numbers(); err != nil {
		return o, err
	}
	most := 0
	for _, n := range o.Clients {
		most = max(most, n)
	}
	for _, m := range c.modes {
		mode, err := script.ParseMode(strings.TrimSpace(m))
		if err != nil {
			return o, fmt.Errorf("--protocol %s: write simple, extended or prepared, or several of them as in -M prepared,simple", m)
		}
		o.Modes = append(o.Modes, mode)
	}
	switch {
	case len(o.Modes) == 0:
		return o, errors.New("--protocol: name simple, extended or prepared")
	case c.threads < 1 && cmd.Flags().Changed("jobs"):
		return o, fmt.Errorf("--jobs %d: there must be at least 1 thread", c.threads)
	case c.rounds < 1:
		return o, fmt.Errorf("--rounds %d: there must be at least 1", c.rounds)
	}
	load := loadFlags{clients: most, seconds: c.seconds, flags: cmd.Flags()}
	if o.Load, err = load.load(&lab, "point-select"); err != nil {
		return o, err
	}
	if c.only != "" {
		if o.Only, err = calibrate.ParsePart(c.only); err != nil {
			return o, fmt.Errorf("--only: %w", err)
		}
	}
	if o.Scope, err = probes.ParsePerfScope(l.scope); err != nil {
		return o, err
	}
	if lab.Cluster.Server, err = l.find(cmd.Context(), a); err != nil {
		return o, err
	}
	schedule(c.threads)
	o.Lab, o.Threads, o.Rounds, o.Roots = lab.Cluster, c.threads, c.rounds, probes.SystemRoots()
	say := &follower{progress: a.err}
	o.Say = func(line string) { say.say("%s", line) }
	return o, nil
}

// numbers reads the list of numbers of clients.
func (c *calibrateFlags) numbers() ([]int, error) {
	var out []int
	for _, text := range c.clients {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 {
			return nil, fmt.Errorf("--client %s: write a number of clients from 1 on, or several as in -c 8,80", text)
		}
		out = append(out, n)
	}
	if len(out) == 0 {
		return nil, errors.New("--client: write a number of clients from 1 on, or several as in -c 8,80")
	}
	return out, nil
}

// calibrated runs everything and prints what was found, also where it was
// interrupted or failed on the way.
func (a *app) calibrated(ctx context.Context, o calibrate.Options, asJSON bool) error {
	report, err := calibrate.Run(ctx, o)
	if report != nil {
		if asJSON {
			err = errors.Join(err, json.NewEncoder(a.out).Encode(report))
		} else {
			err = errors.Join(err, calibrate.WriteText(a.out, report))
		}
	}
	if ctx.Err() == nil {
		return err
	}
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	return &exitError{exitInterrupted, err}
}
