package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pgtlb/probes"
)

func (a *app) runsRename() *cobra.Command {
	return &cobra.Command{
		Use:   "rename RUN NAME",
		Short: "Give a run another name",
		Long: `Gives a run another name. The baseline stays the baseline, and a run stays part of
its experiment. A run that is being recorded keeps its name until it has ended.`,
		Example:           "  pgtlb runs rename last before-huge-pages\n  pgtlb runs rename 20261130-134512-point-select-2MB after-huge-pages",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.runNames(1),
		RunE: func(_ *cobra.Command, args []string) error {
			store, err := a.store()
			if err != nil {
				return err
			}
			was, err := store.Rename(args[0], args[1])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.err, "%s is named %s now\n", probes.Clean(was), args[1])
			return err
		},
	}
}

func (a *app) runsTag() *cobra.Command {
	var drop bool
	cmd := &cobra.Command{
		Use:   "tag RUN TAG…",
		Short: "Tag a run, or take tags away",
		Long: `Tags a run with words of your own, or takes them away with --remove. Tags are kept
in the run's file, so they go with it. A run that is being recorded cannot be
tagged until it has ended.`,
		Example:           "  pgtlb runs tag last release-17.6 quiet-machine\n  pgtlb runs tag last quiet-machine --remove",
		Args:              cobra.MinimumNArgs(2),
		ValidArgsFunction: a.runNames(1),
		RunE: func(_ *cobra.Command, args []string) error {
			store, err := a.store()
			if err != nil {
				return err
			}
			add, del := args[1:], []string(nil)
			if drop {
				add, del = nil, args[1:]
			}
			name, tags, err := store.Tag(args[0], add, del)
			if err != nil {
				return err
			}
			text := "no tags"
			if len(tags) > 0 {
				text = strings.Join(tags, ", ")
			}
			_, err = fmt.Fprintf(a.err, "%s: %s\n", probes.Clean(name), probes.Clean(text))
			return err
		},
	}
	cmd.Flags().BoolVar(&drop, "remove", false, "take the tags away")
	return cmd
}

func (a *app) runsRemove() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "remove RUN…",
		Short: "Remove runs",
		Long: `Removes runs after asking; -y says yes beforehand. A run that is being recorded is
not removed.`,
		Example:           "  pgtlb runs remove 20261130-134512-point-select-2MB\n  pgtlb runs remove -y last",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.runNames(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := a.store()
			if err != nil {
				return err
			}
			// All are found before the first is removed: "last" means another run then.
			runs, err := store.Own(args)
			if err != nil {
				return err
			}
			var lines []string
			for _, r := range runs {
				line := fmt.Sprintf("%s, %s, %.0f s", probes.Clean(r.Name), r.Created.Local().Format("2006-01-02 15:04"), r.Seconds)
				if r.Baseline {
					line += ": the baseline"
				}
				lines = append(lines, line)
			}
			if err := a.confirm(cmd.Context(), lines, "Remove "+probes.Plural(len(runs), "run")+"?", yes, "nothing was removed"); err != nil {
				return err
			}
			for _, r := range runs {
				wasBaseline, err := store.Remove(r.Name)
				if err != nil {
					return err
				}
				text := probes.Clean(r.Name) + " is removed"
				if wasBaseline {
					text += "; it was the baseline, and there is none now"
				}
				if _, err := fmt.Fprintln(a.err, text); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "remove without asking")
	return cmd
}
