package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

func (a *app) report() *cobra.Command {
	var out, baseline string
	var asJSON bool
	var o trial.CompareOptions
	var what trial.ReportOptions
	cmd := &cobra.Command{
		Use:   "report RUN… | report EXPERIMENT",
		Short: "Write the report of a run, of runs against a baseline, or of an experiment",
		Long: `Writes a report: Markdown, a self-contained HTML page or JSON, by the end of the
file's name. RUN and --baseline are names from "pgtlb runs", the beginning of
one, files, "last" or "baseline"; each can also be several runs joined by commas,
a glob, or EXPERIMENT:ARM, as with "pgtlb compare". The name of an experiment
alone reports on all its arms. Without -o the Markdown goes to the standard
output.`,
		Example: "  pgtlb report last --baseline baseline -o report.html\n  pgtlb report 'after-*' --baseline 'before-*' -o report.html\n" +
			"  pgtlb report pages-in-march > report.md",
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := a.reportOf(args, baseline, o, what)
			if err != nil {
				return err
			}
			switch {
			case asJSON && out != "":
				return errors.New("--json writes to the standard output and -o to a file: choose one")
			case asJSON:
				return trial.WriteJSON(a.out, r)
			case out == "":
				return trial.WriteMarkdown(a.out, r)
			}
			if info, err := os.Stat(out); err == nil && info.IsDir() {
				return fmt.Errorf("-o %s: this is a directory; name a file that ends with .md, .html or .json", out)
			}
			if err := trial.WriteReport(out, r); err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.err, "report: "+probes.Clean(out))
			return err
		},
	}
	f := cmd.Flags()
	f.StringVarP(&out, "output", "o", "", "file to write: .md, .html or .json")
	f.StringVar(&baseline, "baseline", "", "run to compare with")
	f.BoolVar(&asJSON, "json", false, "JSON on the standard output")
	f.BoolVar(&what.Queries, "with-queries", false, "list the queries that were seen, of runs that were recorded with this flag")
	f.BoolVar(&o.Force, "force", false, "compare runs that differ in more than what was varied")
	return cmd
}

// reportOf makes the report of what was named.
func (a *app) reportOf(words []string, baseline string, o trial.CompareOptions, what trial.ReportOptions) (trial.Report, error) {
	store, err := a.store()
	if err != nil {
		return trial.Report{}, err
	}
	if baseline != "" {
		words = append([]string{baseline}, words...)
	}
	arms, err := store.Arms(words)
	switch {
	case err != nil && baseline != "":
		return trial.Report{}, fmt.Errorf("--baseline %s: %w", baseline, err)
	case err != nil:
		return trial.Report{}, err
	case len(arms) == 1 && len(arms[0].Runs) == 1:
		return trial.BuildReport(arms[0].Runs[0], nil, what), nil
	case len(arms) == 1:
		return trial.Report{}, fmt.Errorf("%s are %d runs: name the others that they are to be held against with --baseline", arms[0].Name, len(arms[0].Runs))
	}
	cmp, err := a.compared(words, arms, o)
	if err != nil {
		return trial.Report{}, err
	}
	return trial.BuildArmsReport(arms[0], arms[1:], cmp, what), nil
}

// compared holds the arms of a report against each other: those of one experiment by
// its plan.
func (a *app) compared(words []string, arms []trial.ArmRuns, o trial.CompareOptions) (trial.Comparison, error) {
	if len(words) == 1 {
		store, j, err := a.journal(words[0])
		switch {
		case err != nil:
			return trial.Comparison{}, err
		case j != nil:
			return trial.CompareExperiment(store, j, false)
		}
	}
	return trial.CompareArms(arms[0], arms[1:], o)
}
