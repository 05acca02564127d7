package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

func (a *app) runs() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List, show, rename, tag, remove, export and import recorded runs",
		Long: `Lists the runs below $XDG_STATE_HOME/pgtlb/runs, newest first. * marks the baseline.
The verbs below take a run by its name, the beginning of it, "last" or "baseline".`,
		Example: "  pgtlb runs\n  pgtlb runs show last",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			store, err := a.store()
			if err != nil {
				return err
			}
			list, err := store.List()
			if err != nil {
				return err
			}
			if asJSON {
				if list == nil {
					list = []trial.RunInfo{}
				}
				return json.NewEncoder(a.out).Encode(map[string]any{"runs": list})
			}
			if len(list) == 0 {
				_, err := fmt.Fprintf(a.err, "no runs in %s yet; pgtlb lab records one for every load\n", probes.Clean(store.Dir()))
				return err
			}
			return a.listRuns(list)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "JSON on the standard output")
	cmd.AddCommand(a.runsShow(), a.runsRename(), a.runsTag(), a.runsRemove(), a.runsExport(), a.runsImport())
	return cmd
}

// listRuns prints a table. Columns that no run has anything in are left out.
func (a *app) listRuns(list []trial.RunInfo) error {
	steps, tags := false, false
	for _, r := range list {
		steps, tags = steps || r.Step != nil, tags || len(r.Tags) > 0
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	row := func(mark, name, when, scenario, pages, seconds, tps, step, tag, note string) {
		cells := []string{mark, name, when, scenario, pages, seconds, tps}
		if steps {
			cells = append(cells, step)
		}
		if tags {
			cells = append(cells, tag)
		}
		_, _ = fmt.Fprintln(w, strings.Join(append(cells, note), "\t")) // errors stay until Flush
	}
	row("", "NAME", "WHEN", "SCENARIO", "PAGES", "SECONDS", "TPS", "EXPERIMENT", "TAGS", "NOTE")
	for _, r := range list {
		mark, step := "", ""
		if r.Baseline {
			mark = "*"
		}
		if r.Step != nil {
			step = r.Step.Text()
		}
		row(mark, probes.Clean(r.Name), r.Created.Local().Format("2006-01-02 15:04"), probes.Clean(r.Scenario), probes.Clean(r.Pages),
			figure(r.Seconds), figure(r.TPS), probes.Clean(step), probes.Clean(strings.Join(r.Tags, ",")), probes.Clean(noteOf(r)))
	}
	return w.Flush()
}

// figure writes what was measured; "-" where it is not known.
func figure(v float64) string {
	if v <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f", v)
}

// noteOf says what is particular about a run.
func noteOf(r trial.RunInfo) string {
	var notes []string
	switch {
	case r.Problem != "":
		notes = append(notes, r.Problem)
	case r.ByHand:
		notes = append(notes, "entered by hand")
	case r.Recording:
		notes = append(notes, "being recorded")
	case !r.Complete:
		notes = append(notes, "interrupted")
	case r.LoadFailed:
		notes = append(notes, "the load failed")
	}
	if r.Queries {
		notes = append(notes, "holds query texts")
	}
	return strings.Join(notes, ", ")
}

// runNames completes the names of recorded runs, for verbs that take up to most of
// them (0: any number).
func (a *app) runNames(most int) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		store, err := a.store()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		list, err := store.List()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var names []string
		for _, r := range list {
			if strings.HasPrefix(r.Name, toComplete) {
				names = append(names, cobra.CompletionWithDesc(r.Name, r.Scenario+" "+r.Pages))
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

func (a *app) runsShow() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show everything about a run",
		Long: `Shows everything about a run: what it measured where, settings, figures over the
load, what is missing and why. RUN may also be a file.`,
		Example:           "  pgtlb runs show last\n  pgtlb runs show baseline --json",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.runNames(1),
		RunE: func(_ *cobra.Command, args []string) error {
			store, err := a.store()
			if err != nil {
				return err
			}
			shown, err := store.Show(args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(a.out).Encode(shown)
			}
			return shown.WriteText(a.out)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "JSON on the standard output")
	return cmd
}
