package lab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"pgtlb/probes"
)

// Pgbench is an installed pgbench.
type Pgbench struct {
	Path    string
	Version string // "15.18"
}

// String names the program for a person: "pgbench 15.18 in /usr/lib/postgresql/15/bin".
func (p Pgbench) String() string {
	return fmt.Sprintf("pgbench %s in %s", p.Version, filepath.Dir(p.Path))
}

// Pgbench finds the pgbench that belongs to the server programs or, where their folder has none, that of PATH. Without
// any the error wraps probes.ErrUnavailable.
func (s Server) Pgbench(ctx context.Context) (Pgbench, error) {
	for _, dir := range slices.Concat([]string{s.Bindir}, filepath.SplitList(os.Getenv("PATH"))) {
		path := filepath.Join(dir, "pgbench")
		if !filepath.IsAbs(path) || executable(path) != nil {
			continue
		}
		out, err := run(ctx, command{path: path, args: []string{"--version"}, env: serverEnv("/")})
		if err != nil {
			return Pgbench{}, err
		}
		version, _, err := parseVersion(out)
		if err != nil {
			return Pgbench{}, fmt.Errorf("%s: %w", path, err)
		}
		return Pgbench{Path: path, Version: version}, nil
	}
	return Pgbench{}, &probes.Unavailable{
		What:   "pgbench",
		Reason: "it is neither in " + s.Bindir + " nor in PATH",
		Remedy: "install it (it comes with PostgreSQL's server or contrib package), or name a folder that has it with --pg-bindir",
	}
}

// PgbenchRun says what pgbench is to do.
type PgbenchRun struct {
	Script           string // its text
	Defines          map[string]int64
	SearchPath       string // of its sessions
	Mode             string // simple, extended or prepared
	Clients, Threads int
	Seed             int64
	Seconds          int // how long it runs; 0 runs Transactions
	Transactions     int // of each client
}

// args are pgbench's arguments but for the connection. The script comes from the standard input.
func (r PgbenchRun) args() []string {
	a := []string{"-n", "-M", r.Mode, "-c", strconv.Itoa(r.Clients), "-j", strconv.Itoa(r.Threads),
		"--random-seed=" + strconv.FormatInt(r.Seed, 10), "-f", "-"}
	for _, name := range slices.Sorted(maps.Keys(r.Defines)) {
		a = append(a, "-D", fmt.Sprintf("%s=%d", name, r.Defines[name]))
	}
	if r.Seconds > 0 {
		return append(a, "-T", strconv.Itoa(r.Seconds))
	}
	return append(a, "-t", strconv.Itoa(r.Transactions))
}

// ErrNoTransaction is a run of pgbench that was over before anything was measured: its time includes connecting, which
// takes long on a busy machine.
var ErrNoTransaction = errors.New("it finished no transaction; give it more time with -T")

// PgbenchResult is what pgbench measured.
type PgbenchResult struct {
	Transactions int64
	TPS          float64 // connecting left out
	// CPU is the CPU time, user and kernel, of the whole process, starting and
	// connecting included.
	CPU time.Duration
}

// RunPgbench runs pgbench against the lab's server, under the account of pgtlb. A run whose clients failed is an error.
func (c *Cluster) RunPgbench(ctx context.Context, p Pgbench, r PgbenchRun) (PgbenchResult, error) {
	var used time.Duration
	out, err := run(ctx, command{
		path: p.Path, args: append(r.args(), c.DSN()), dir: "/", in: r.Script, used: &used,
		env: append(serverEnv("/"), "PGOPTIONS=-c search_path="+r.SearchPath),
	})
	if err != nil {
		return PgbenchResult{}, err
	}
	res, err := parsePgbench(out)
	if err != nil {
		return PgbenchResult{}, fmt.Errorf("reading what pgbench %s printed: %w", p.Version, err)
	}
	res.CPU = used
	return res, nil
}

// parsePgbench reads the result that pgbench prints. Up to 13 it gives TPS with and without connecting, since 14 only
// the latter, in other words.
func parsePgbench(out string) (PgbenchResult, error) {
	var r PgbenchResult
	counted, rated := false, false
	for sc := bufio.NewScanner(strings.NewReader(out)); sc.Scan(); {
		line := strings.TrimSpace(sc.Text())
		if rest, ok := strings.CutPrefix(line, "number of transactions actually processed: "); ok {
			n, _, _ := strings.Cut(rest, "/") // with -t: done/planned
			var err error
			if r.Transactions, err = strconv.ParseInt(strings.TrimSpace(n), 10, 64); err != nil {
				return r, fmt.Errorf("%q: %w", line, err)
			}
			counted = true
		}
		if rest, ok := strings.CutPrefix(line, "tps = "); ok {
			n, how, _ := strings.Cut(rest, " ")
			if how != "(excluding connections establishing)" && how != "(without initial connection time)" {
				continue
			}
			var err error
			if r.TPS, err = strconv.ParseFloat(n, 64); err != nil {
				return r, fmt.Errorf("%q: %w", line, err)
			}
			rated = true
		}
	}
	switch {
	case !counted:
		return r, errors.New("no line with the number of transactions")
	case r.Transactions == 0 || !rated: // it prints no figures then
		return r, ErrNoTransaction
	}
	return r, nil
}
