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
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Write the report of a run, alone or against a baseline",
		Long: `Writes the report of a run: Markdown, a self-contained HTML page or JSON, by the
end of the file's name. RUN and --baseline are names from "pgtlb runs", the
beginning of one, files, "last" or "baseline". Without -o the Markdown goes to
the standard output.`,
		Example: "  pgtlb report last --baseline baseline -o report.html\n  pgtlb report 20261130-134512-point-select-2MB > report.md",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			store, err := a.store()
			if err != nil {
				return err
			}
			cand, err := store.Load(args[0])
			if err != nil {
				return err
			}
			var base *trial.Run
			if baseline != "" {
				if base, err = store.Load(baseline); err != nil {
					return err
				}
				if err := trial.CheckBaseline(cand.Meta, base.Meta); err != nil {
					return fmt.Errorf("--baseline %s: %w", baseline, err)
				}
			}
			r := trial.BuildReport(cand, base)
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
	return cmd
}
