package main

import (
	"encoding/json"
	"errors"

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

With --by the runs named are grouped by the hour or the day of the week of their
start, or by their tag, and the groups are compared with the first.`,
		Example: "  pgtlb compare 'before-*' 'after-*'\n" +
			"  pgtlb compare run1,run3,run5 run2,run4,run6\n" +
			"  pgtlb compare pages-in-march --json\n" +
			"  pgtlb compare --by hour 'watch-*'",
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if margin <= 0 || margin >= 100 {
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
			arms, err := a.arms(args, by)
			if err != nil {
				return err
			}
			c, err := trial.CompareArms(arms[0], arms[1:], o)
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

// arms reads the sides of a comparison.
func (a *app) arms(words []string, by string) ([]trial.ArmRuns, error) {
	store, err := a.store()
	if err != nil {
		return nil, err
	}
	arms, err := store.Arms(words)
	if err != nil {
		return nil, err
	}
	if by != "" {
		var runs []*trial.Run
		for _, arm := range arms {
			runs = append(runs, arm.Runs...)
		}
		return trial.Grouped(runs, by)
	}
	if len(arms) < 2 {
		return nil, errors.New("only " + arms[0].Name + " was named: name another side to hold against it, or an experiment")
	}
	return arms, nil
}
