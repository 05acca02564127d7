// Command pgtlb shows what memory pages cost a PostgreSQL server: it watches,
// drives load, compares runs and reports. One file per verb; this one has the
// entry and what all verbs share.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

// Exit codes of every verb.
const (
	exitDone        = 0
	exitNo          = 1 // the result says no: failed transactions, findings
	exitUsage       = 2 // usage or environment error
	exitInterrupted = 130
)

// version is set by the linker for releases: -ldflags "-X main.version=1.0".
var version = "development"

// app is what the verbs share: where they read and write, and what they were
// called with.
type app struct {
	in   *os.File
	out  io.Writer
	err  io.Writer
	args []string
}

// exitError carries an exit code other than exitUsage. A nil err prints nothing:
// what there is to say has been said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func main() {
	// The first signal ends everything in order; a second one is the default
	// again and ends the process at once.
	signalled, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-signalled.Done()
		stop()
	}()
	// A closed pipe (pgtlb … | head) must not kill the process and leave a lab
	// behind: writing fails instead, and the first failure ends everything in order.
	signal.Ignore(syscall.SIGPIPE)
	ctx, broken := context.WithCancel(signalled)
	code := run(ctx, &app{in: os.Stdin, out: &pipe{os.Stdout, broken}, err: &pipe{os.Stderr, broken}, args: os.Args[1:]})
	broken()
	os.Exit(code)
}

// pipe is an output that ends the program when nobody reads it any more.
type pipe struct {
	*os.File
	broken func()
}

func (p *pipe) Write(b []byte) (int, error) {
	n, err := p.File.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		p.broken()
	}
	return n, err
}

// run executes the command line and returns the exit code.
func run(ctx context.Context, a *app) int {
	root := a.root()
	root.SetArgs(a.args)
	root.SetOut(a.out)
	root.SetErr(a.err)
	err := root.ExecuteContext(ctx)
	var exit *exitError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &exit):
		if exit.err != nil {
			a.complain(exit.err)
		}
		return exit.code
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		a.complain(errors.New("interrupted"))
		return exitInterrupted
	default:
		a.complain(err)
		return exitUsage
	}
}

// complain prints an error for a person: what, where, what to do.
func (a *app) complain(err error) {
	lines := strings.Split(strings.TrimRight(err.Error(), "\n"), "\n")
	for i, l := range lines { // they may hold text of a server or of a file
		lines[i] = probes.Clean(l)
	}
	text := strings.Join(lines, "\n")
	_, _ = fmt.Fprintln(a.err, "pgtlb: "+text)
	var u *probes.Unavailable
	if errors.As(err, &u) && u.Remedy != "" && !strings.Contains(text, u.Remedy) {
		_, _ = fmt.Fprintln(a.err, "       "+probes.Clean(u.Remedy))
	}
}

// root is `pgtlb`, which is `pgtlb watch`.
func (a *app) root() *cobra.Command {
	cmd := a.watch()
	cmd.Use = "pgtlb [connection]"
	cmd.Short = "Watch live what memory pages cost a PostgreSQL server"
	cmd.Long = `pgtlb shows live what memory pages cost a PostgreSQL server: TPS, latency, dTLB
misses, page faults, cycles, and the page tables of every backend. It drives
load on a private lab server, switches it between 4 kB, 2 MB and 1 GB pages,
lays the current run over a saved baseline and exports a report.

Without a verb it watches a running server and changes nothing there.`
	cmd.Example = "  pgtlb lab                 a private throw-away server, with load\n" +
		"  pgtlb -h /run/postgresql  watch the server behind this socket"
	cmd.Version = version
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.CompletionOptions.HiddenDefaultCmd = true
	// -h is libpq's host here, as DBAs type it.
	cmd.PersistentFlags().Bool("help", false, "help for this verb")
	cmd.AddCommand(a.watch(), a.lab(), a.bench(), a.experiment(), a.calibrate(), a.record(), a.compare(), a.report(), a.replay(), a.runs(), a.doctor(), a.setup())
	return cmd
}

// store opens the runs' directory for reading.
func (a *app) store() (*trial.Store, error) { return trial.OpenStore("") }

// writableStore opens the runs' directory for the verbs that record.
func (a *app) writableStore() (*trial.Store, error) {
	s, err := a.store()
	if err != nil {
		return nil, err
	}
	return s, s.MakeWritable()
}
