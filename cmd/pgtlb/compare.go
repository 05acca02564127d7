package main

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"pgtlb/workload/experiment"
	"pgtlb/workload/trial"
)

func (a *app) compare() *cobra.Command {
	var by string
	var asJSON, all bool
	var o trial.CompareOptions
	var margin float64
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use:   "compare BASE CAND… | compare EXPERIMENT",
		Short: "Compare runs, with a verdict on each difference",
		Long: `Compares recorded runs. Each argument is one side: a run, runs joined by commas,
a glob over run names or files (in quotes), or EXPERIMENT:ARM. The first is the
base. The name of an experiment alone compares its arms, paired by their blocks.

Every run gives one number per metric. A difference is a result only if a test
that knows the number of runs says so and it exceeds what identical runs differ
by. Runs that differ in more than one setting are refused; --force compares them.

With --by what is named is grouped by the hour of the day or the day of the week, in
local time, or by tag, and the groups are compared with the first. A recording that
goes on over several hours or days is cut: each hour of each day, or each day, is a
piece with one number per metric. Pieces with less than 15 minutes of their hour, or
12 hours of their day, are left out and named.`,
		Example: "  pgtlb compare 'before-*' 'after-*'\n" +
			"  pgtlb compare run1,run3,run5 run2,run4,run6\n" +
			"  pgtlb compare pages-in-march --json\n" +
			"  pgtlb compare --by hour week-in-november",
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if !(margin > 0 && margin < 100) { // NaN too
				return errors.New("--margin: give percent, more than 0 and less than 100")
			}
			o.Margin = margin / 100
			if by == "" && len(args) == 1 {
				store, j, err := a.journal(args[0])
				if err != nil {
					return err
				}
				if j != nil {
					if cmd.Flags().Changed("margin") {
						j.Plan.Margin = o.Margin
					}
					f, err := findOf(store, j)
					switch {
					case err != nil:
						return err
					case asJSON:
						return a.encodeExperiment(j, f)
					}
					return a.writeExperiment(j, f, all)
				}
			}
			c, err := a.compareWords(args, by, o)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(a.out).Encode(c)
			}
			return c.WriteText(a.out, all)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "JSON on the standard output")
	f.BoolVar(&all, "all", false, "print every metric, not only the usual ones")
	f.BoolVar(&o.Force, "force", false, "compare runs that differ in more than what was varied")
	f.Float64Var(&margin, "margin", 1, "percent within which sides count as the same (of an experiment: its own)")
	f.StringVar(&by, "by", "", "group the runs: hour, weekday, tag")
	return cmd
}

// journal finds the journal of an experiment by its whole name; nil where there is
// none.
func (a *app) journal(name string) (*trial.Store, *experiment.Journal, error) {
	store, err := a.store()
	if err != nil {
		return nil, nil, err
	}
	j, err := experiment.Exact(store.Dir(), name)
	if errors.Is(err, experiment.ErrNone) {
		return store, nil, nil
	}
	return store, j, err
}

// compareWords holds the sides that were named against each other, or the groups that
// what was named makes.
func (a *app) compareWords(words []string, by string, o trial.CompareOptions) (trial.Comparison, error) {
	store, err := a.store()
	if err != nil {
		return trial.Comparison{}, err
	}
	if by != "" {
		g, err := store.Grouped(words, by, time.Local)
		if err != nil {
			return trial.Comparison{}, err
		}
		return g.Compare(o)
	}
	arms, err := store.Arms(words)
	if err != nil {
		return trial.Comparison{}, err
	}
	if len(arms) < 2 {
		return trial.Comparison{}, errors.New("only " + arms[0].Name + " was named: name another side to hold against it, or an experiment")
	}
	return trial.CompareArms(arms[0], arms[1:], o)
}
