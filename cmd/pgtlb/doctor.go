package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pgtlb/probes"
	"pgtlb/probes/doctor"
	"pgtlb/workload/lab"
)

// doctorFlags are the flags of pgtlb doctor beside those of the connection.
type doctorFlags struct {
	sharedMemory, log string
	save, from        string
	snippet           string
	all, asJSON       bool
	kinds             string
}

func (a *app) doctor() *cobra.Command {
	var c connection
	d := doctorFlags{kinds: strings.Join(doctor.SnippetKinds(), ", ")}
	cmd := &cobra.Command{
		Use:   "doctor [connection]",
		Short: "Say what stands in the way of huge pages and of being measured, and what to do",
		Long: `Looks at the machine and at a running server, read only, and says of each check
what was found, what would be good, why, and the commands that change it and that
take the change back. Nothing is changed.

Without a server it plans for one: --shared-memory says how much shared memory it
will have (postgres -C shared_memory_size tells, in MB), or --log names the log of
a start that failed. --save keeps what was read, --from examines it elsewhere.

Exit code 0: nothing found; 1: findings; 2: could not look.`,
		Example: "  pgtlb doctor -h /run/postgresql -U postgres\n" +
			"  pgtlb doctor --shared-memory 6GB --snippet sysctl\n" +
			"  pgtlb doctor --save db1.json   # and on another machine: pgtlb doctor --from db1.json",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := d.check(cmd, args); err != nil {
				return err
			}
			s, err := a.snapshot(cmd.Context(), &c, &d, args)
			if err != nil {
				return err
			}
			return a.examined(s, &d)
		},
	}
	c.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&d.sharedMemory, "shared-memory", "", "plan for a server with that much shared memory, e.g. 6GB, instead of asking one")
	f.StringVar(&d.log, "log", "", "server log in which to look for a start that failed")
	f.StringVar(&d.save, "save", "", "keep what was read in this new file")
	f.StringVar(&d.from, "from", "", "examine what --save kept, - for the standard input")
	f.StringVar(&d.snippet, "snippet", "", "print configuration instead: "+d.kinds)
	f.BoolVar(&d.all, "all", false, "every check in full, also those that found nothing")
	f.BoolVar(&d.asJSON, "json", false, "one JSON object on the standard output")
	return cmd
}

// check refuses flags that do not go together.
func (d *doctorFlags) check(cmd *cobra.Command, args []string) error {
	connects := len(args) > 0
	for _, name := range []string{"host", "port", "username", "dbname"} {
		connects = connects || cmd.Flags().Changed(name)
	}
	switch {
	case d.from != "" && (connects || d.sharedMemory != "" || d.log != "" || d.save != ""):
		return errors.New("--from examines what was read before: it goes with --json, --all and --snippet only")
	case connects && (d.sharedMemory != "" || d.log != ""):
		return errors.New("--shared-memory and --log are for a server that does not run: leave the connection out")
	case d.snippet != "" && d.asJSON:
		return errors.New("--snippet and --json both write to the standard output: choose one")
	}
	if d.snippet != "" && !strings.Contains(", "+d.kinds+",", ", "+d.snippet+",") {
		return fmt.Errorf("--snippet %s: choose one of %s", probes.Clean(d.snippet), d.kinds)
	}
	return nil
}

// planned is the shared memory of the server to come, in kB; 0 where none is meant.
func (d *doctorFlags) planned() (uint64, error) {
	if d.sharedMemory == "" {
		return 0, nil
	}
	if last := d.sharedMemory[len(d.sharedMemory)-1]; last >= '0' && last <= '9' {
		return 0, fmt.Errorf("--shared-memory %s: add a unit, as in %sMB (kB, MB, GB, TB)", d.sharedMemory, d.sharedMemory)
	}
	size, err := lab.ParseSize(d.sharedMemory)
	if err != nil {
		return 0, fmt.Errorf("--shared-memory: %w", err)
	}
	if size < 1<<20 {
		return 0, fmt.Errorf("--shared-memory %s: no server has less than 1MB", d.sharedMemory)
	}
	return uint64(size) >> 10, nil
}

// snapshot reads, or takes what was read before.
func (a *app) snapshot(ctx context.Context, c *connection, d *doctorFlags, args []string) (doctor.Snapshot, error) {
	if d.from != "" {
		return a.savedSnapshot(d.from)
	}
	w := doctor.Wanted{Tree: "/", Log: d.log, By: version}
	var err error
	if w.PlannedKB, err = d.planned(); err != nil {
		return doctor.Snapshot{}, err
	}
	if d.log != "" {
		info, err := os.Stat(d.log)
		if err != nil {
			return doctor.Snapshot{}, fmt.Errorf("--log: %w", err)
		}
		if !info.Mode().IsRegular() {
			return doctor.Snapshot{}, fmt.Errorf("--log %s: this is no file: name the server's log itself", probes.Clean(d.log))
		}
	}
	if w.PlannedKB == 0 && d.log == "" {
		cfg, err := c.config(args)
		if err != nil {
			return doctor.Snapshot{}, err
		}
		if w.Server, err = probes.Connect(ctx, cfg, probes.SystemRoots()); err != nil {
			return doctor.Snapshot{}, fmt.Errorf("%w\nname the server as with psql, or plan for one that does not run: pgtlb doctor --shared-memory 6GB, or --log FILE of a start that failed", err)
		}
		defer func() {
			closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			_ = w.Server.Close(closing) // a session that only read
		}()
	}
	s, err := doctor.Look(ctx, w)
	if err != nil {
		return s, err
	}
	if d.save != "" {
		err = a.saveSnapshot(s, d.save)
	}
	return s, err
}

func (a *app) savedSnapshot(path string) (doctor.Snapshot, error) {
	in := a.in
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return doctor.Snapshot{}, fmt.Errorf("--from: %w", err)
		}
		defer f.Close()
		in = f
	}
	s, err := doctor.Read(in)
	if err != nil {
		return s, fmt.Errorf("--from %s: %w", probes.Clean(path), err)
	}
	return s, nil
}

// saveSnapshot writes a file that is not there yet: a second look must not
// replace the first by mistake.
func (a *app) saveSnapshot(s doctor.Snapshot, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("--save %s: this file is there already; choose another name", probes.Clean(path))
	}
	if err != nil {
		return fmt.Errorf("--save: %w", err)
	}
	if err := errors.Join(s.Write(f), f.Close()); err != nil {
		return errors.Join(fmt.Errorf("--save %s: %w", probes.Clean(path), err), os.Remove(path))
	}
	_, err = fmt.Fprintln(a.err, "kept in "+probes.Clean(path)+"; pgtlb doctor --from examines it anywhere")
	return err
}

// examined prints the outcome in the form that was asked for.
func (a *app) examined(s doctor.Snapshot, d *doctorFlags) error {
	e := doctor.Examine(s)
	var err error
	switch {
	case d.snippet != "":
		text, err := doctor.Snippet(e, d.snippet)
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(a.out, text)
		return err
	case d.asJSON:
		err = json.NewEncoder(a.out).Encode(e)
	default:
		err = doctor.WriteText(a.out, e, d.all)
	}
	if err == nil && e.Found() {
		return &exitError{exitNo, nil}
	}
	return err
}
