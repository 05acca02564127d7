package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"pgtlb/probes"
	"pgtlb/workload"
	"pgtlb/workload/lab"
	"pgtlb/workload/trial"
)

func (a *app) lab() *cobra.Command {
	var l labFlags
	var load loadFlags
	var plain, sweep, asJSON bool
	var scenario, reports string
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "A private throw-away server with load, on the screen",
		Long: `Makes a private PostgreSQL server in a directory of its own, reached by a Unix
socket only and run under an unprivileged account, fills it, starts a load and
shows what memory pages cost. Keys start and stop scenarios and switch between
4 kB, 2 MB and 1 GB pages. At the end no process, directory or huge page pool
is left.

Without a terminal, or with --plain, it runs --scenario for -T seconds, prints a
line per second and the report at the end.`,
		Example: "  pgtlb lab\n  pgtlb lab --rows 8000000 --shared-buffers 2GB --pages 2MB --reserve",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if sweep {
				return a.sweep(cmd.Context())
			}
			if scenario == "none" && (plain || asJSON || !a.isTerminal()) {
				return errors.New("--scenario none: without a screen there must be a scenario to run")
			}
			first := func(o *trial.LabOptions) (workload.Load, error) { return load.load(o, scenario) }
			if scenario == "none" {
				first = nil
			}
			so, err := a.labSession(cmd.Context(), &l, &load, first)
			if err != nil {
				return err
			}
			so.Reports = reports
			if !plain && !asJSON && !a.isTerminal() {
				_, _ = fmt.Fprintf(a.err, "no terminal here: running %s for %d s without a screen\n", scenario, load.seconds)
				plain = true
			}
			switch {
			case asJSON:
				return a.benchRun(cmd.Context(), so, trial.Asked{}, trial.DefaultApdexT, true)
			case plain:
				return a.plainLab(cmd.Context(), so)
			}
			if !cmd.Flags().Changed("time") {
				so.First.Duration = 0 // on the screen a load runs until its key stops it
			}
			return a.screen(cmd.Context(), trial.NewSession(so))
		},
	}
	l.addFlags(cmd)
	load.addFlags(cmd, 20)
	f := cmd.Flags()
	f.StringVar(&scenario, "scenario", "point-select", "scenario to start; none starts none")
	f.BoolVar(&plain, "plain", false, "no screen: run the scenario, a line per second, a report at the end")
	f.BoolVar(&asJSON, "json", false, "no screen: run the scenario and print one JSON object, as bench does")
	f.BoolVar(&sweep, "sweep", false, "remove what crashed labs left, give back their huge pages, and end")
	f.StringVar(&reports, "report-dir", "", "where e writes reports (default: the working directory)")
	return cmd
}

// sweep removes what crashed labs left. What was kept on purpose stays.
func (a *app) sweep(ctx context.Context) error {
	lines, err := lab.Sweep(ctx, lab.SweepOptions{})
	for _, l := range lines {
		_, _ = fmt.Fprintln(a.out, probes.Clean(l))
	}
	if len(lines) == 0 && err == nil {
		_, _ = fmt.Fprintln(a.out, "nothing was left over")
	}
	return err
}
