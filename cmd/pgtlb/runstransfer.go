package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

func (a *app) runsExport() *cobra.Command {
	var out, format string
	var queries bool
	var columns strings.Builder
	for _, c := range trial.CSVColumns() {
		fmt.Fprintf(&columns, "  %-12s %s\n", c[0], c[1])
	}
	cmd := &cobra.Command{
		Use:   "export RUN…",
		Short: "Write runs to one file, to be imported elsewhere or read by other programs",
		Long: `Writes one run or several to one file, or to the standard output without -o. RUN
may also be a file. The formats:

  run          as it is kept: "pgtlb runs import" takes it (the default)
  csv          one row for each sample and metric: R, Python, spreadsheets
  openmetrics  derived figures with the time of each sample: Prometheus
  benchstat    one line for each run, as of Go's benchmarks:
               benchstat -col /pages FILE, or -col /huge_pages of an experiment

Texts of queries are left out, also of runs that hold them, unless --with-queries
stands there; only the format run can have them.

Columns of csv:

` + columns.String(),
		Example:           "  pgtlb runs export before after -o pair.ndjson\n  pgtlb runs export last --format csv -o last.csv",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.runNames(0),
		RunE: func(_ *cobra.Command, args []string) error {
			store, err := a.store()
			if err != nil {
				return err
			}
			if queries && format != string(trial.AsRun) {
				return fmt.Errorf("--with-queries: the format %s has no place for texts of queries; leave one of the two out", format)
			}
			write, err := store.Exporter(args, trial.Format(format), queries)
			if err != nil {
				return err
			}
			if out == "" {
				return write(a.out)
			}
			if err := trial.WriteFile(out, write); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.err, "%s: %s\n", probes.Plural(len(args), "run"), probes.Clean(out))
			return err
		},
	}
	f := cmd.Flags()
	f.StringVarP(&out, "output", "o", "", "file to write")
	f.StringVar(&format, "format", string(trial.AsRun), "run, csv, openmetrics or benchstat")
	f.BoolVar(&queries, "with-queries", false, "take the texts of queries along, of runs that were recorded with this flag")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(trial.Formats(), cobra.ShellCompDirectiveNoFileComp)) // fails for unknown flags only
	return cmd
}

func (a *app) runsImport() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Put runs of a file among the recorded ones",
		Long: `Puts the runs of a file of "pgtlb runs export" among the recorded ones, all or none.
A name that is taken gets a number behind it.

A run that was measured elsewhere, a published one for example, is entered by hand
as JSON: one object in a file.

  {"name": "published-4kB", "scenario": "point-select", "clients": 8,
   "load_s": 30, "counter_window_s": 25, "pages": "4kB",
   "metrics": {"tps": 54263, "latency_mean_ms": 0.147, "page_faults": 1397551},
   "settings": {"shared_buffers": "40GB", "huge_pages": "off"},
   "note": "where the figures are from"}

  name, scenario, clients  what it is called, what ran, how many sessions
  load_s                   seconds that the load ran
  counter_window_s         seconds that the totals of counters cover; load_s where
                           it is left out
  metrics                  one number each, by metric id, in the unit of "pgtlb runs
                           show": a counter's total over the window (page_faults,
                           cycles_user, dtlb_loads), the level of anything else
                           (tps, latency_mean_ms, dtlb_miss_pct, page_tables_kb)
  settings, note           settings of the server, where the figures are from
  pages, server_version,   4kB, 2MB or 1GB; "17.6"; when it was measured, as
  created                  2026-11-30T13:45:12Z. All three may be left out

Such a run can be compared and reported, not replayed: it has no samples.`,
		Example: "  pgtlb runs import pair.ndjson\n  pgtlb runs import published-4kB.json",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			store, err := a.store()
			if err != nil {
				return err
			}
			list, err := store.Import(args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(a.out).Encode(map[string]any{"runs": list})
			}
			return a.tellImported(a.err, list)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "JSON on the standard output")
	return cmd
}

// tellImported says of each run what became of it.
func (a *app) tellImported(w io.Writer, list []trial.Imported) error {
	for _, i := range list {
		text := probes.Clean(i.Name) + " is imported"
		switch {
		case i.Had:
			text = probes.Clean(i.Name) + " is there already, the same in every part"
		case i.As != i.Name:
			text += "; in the file it is named " + probes.Clean(i.As)
		}
		if _, err := fmt.Fprintln(w, text); err != nil {
			return err
		}
	}
	return nil
}
