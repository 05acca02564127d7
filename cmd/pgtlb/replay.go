package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"pgtlb/tui"
	"pgtlb/workload/trial"
)

func (a *app) replay() *cobra.Command {
	var baseline, picture, size, reports string
	var keys []string
	var light bool
	cmd := &cobra.Command{
		Use:   "replay RUN",
		Short: "Show a recorded run on the screen, or make a picture of it",
		Long: `Shows a recorded run as it was seen live. RUN is a name from "pgtlb runs", the
beginning of one, a file, "last" or "baseline".

With --screenshot it writes a picture (SVG) of the screen after the whole run
and ends.`,
		Example:           "  pgtlb replay last --baseline baseline\n  pgtlb replay last --screenshot screen.svg --size 120x40",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.runNames(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := a.store()
			if err != nil {
				return err
			}
			run, err := store.Load(args[0])
			if err != nil {
				return err
			}
			if err := run.HasSamples(); err != nil {
				return err
			}
			r := trial.NewReplay(run, store, reports)
			if baseline != "" {
				if err := r.UseBaseline(baseline); err != nil {
					return err
				}
			}
			if picture != "" {
				return screenshot(r, picture, size, keys, light)
			}
			if !a.isTerminal() {
				return errors.New("replay needs a terminal; --screenshot FILE.svg writes a picture without one")
			}
			return a.screen(cmd.Context(), r)
		},
	}
	f := cmd.Flags()
	f.StringVar(&baseline, "baseline", "", "run to lay under it")
	f.StringVar(&picture, "screenshot", "", "write a picture of the screen to this file (SVG) and end")
	f.StringVar(&size, "size", "120x40", "columns x lines of the picture")
	f.StringSliceVar(&keys, "keys", nil, "keys pressed before the picture is taken, e.g. tab,enter")
	f.BoolVar(&light, "light", false, "picture of a light terminal")
	f.StringVar(&reports, "report-dir", "", "where e writes reports (default: the working directory)")
	return cmd
}

// screenshot writes the screen of a whole run as an SVG picture.
func screenshot(r *trial.Replay, file, size string, keys []string, light bool) error {
	var w, h int
	if n, err := fmt.Sscanf(size, "%dx%d", &w, &h); n != 2 || err != nil || w < 20 || h < 5 || w > 500 || h > 200 {
		return fmt.Errorf("--size %s: write it as COLUMNSxLINES, e.g. 120x40", size)
	}
	o := tui.Picture(tui.Options{Version: version}, light)
	screen := tui.Snapshot(r.Whole(), o, w, h, keys...)
	f, err := os.CreateTemp(filepath.Dir(file), ".pgtlb-*")
	if err != nil {
		return fmt.Errorf("writing the picture: %w", err)
	}
	err = tui.WriteSVG(f, screen, light)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("writing the picture: %w", err), os.Remove(f.Name()))
	}
	return nil
}
