package main

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

func (a *app) runs() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "runs",
		Short:   "List the recorded runs, newest first",
		Long:    "Lists the runs below $XDG_STATE_HOME/pgtlb/runs, newest first. * marks the baseline.",
		Example: "  pgtlb runs\n  pgtlb runs --json",
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
			w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
			_, _ = fmt.Fprintln(w, "\tNAME\tWHEN\tSCENARIO\tPAGES\tSECONDS\tTPS\tNOTE")
			for _, r := range list {
				mark, note := "", r.Problem
				if r.Baseline {
					mark = "*"
				}
				if note == "" && !r.Complete {
					note = "interrupted"
				}
				_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%.0f\t%.0f\t%s\n", mark, probes.Clean(r.Name),
					r.Created.Local().Format("2006-01-02 15:04"), probes.Clean(r.Scenario), probes.Clean(r.Pages), r.Seconds, r.TPS, probes.Clean(note))
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "JSON on the standard output")
	return cmd
}
