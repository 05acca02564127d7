package trial

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"pgtlb/probes"
	"pgtlb/workload/lab"
)

// How often what goes on beside a run is looked at, and at most how much of it is
// kept.
const (
	lookEvery       = 5 * time.Second
	lookLeast       = 500 * time.Millisecond // for the shortest runs
	topProcesses    = 5
	keptLines       = 5
	keptLine        = 200 // characters
	commandPatience = 30 * time.Second
	lookPatience    = 3 * time.Second
)

// lookout looks at what goes on beside a run and appends it to that run: other
// sessions of the server, other processes, a command of the user's.
type lookout struct {
	s       *Session
	command string
	every   time.Duration
	busy    *probes.BusyReader
	remote  string // why the server's own processes are not told apart; empty where they are
	conn    *pgx.Conn
	connErr error // why there is none
	looks   int   // of watch, once it has ended
	cancel  context.CancelFunc
	wg      sync.WaitGroup
}

// pace is how often a step is looked at: a short one at least once.
func (x *stand) pace() time.Duration {
	if d := x.load.what.Duration; d > 0 {
		return max(lookLeast, min(lookEvery, d/2))
	}
	return lookEvery
}

// newLookout prepares to look. It is called by the loop.
func newLookout(s *Session, command string, every time.Duration) *lookout {
	b := &lookout{s: s, command: command, every: every, busy: probes.NewBusyReader(s.o.Roots, s.st.Server.PostmasterPid)}
	if s.st.Server.PostmasterPid == 0 {
		b.remote = "the server's own processes are not known here, so they may be among the busy ones: " + s.st.Server.NoPostmasterWhy
	}
	return b
}

// open connects, before the run begins: that is no part of it.
func (b *lookout) open(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	b.conn, b.connErr = b.s.connectAs(probes.AppName)(ctx)
}

// start looks from now on until stop, or the end of ctx.
func (b *lookout) start(ctx context.Context) {
	ctx, b.cancel = context.WithCancel(ctx)
	b.wg.Go(func() { b.watch(ctx) })
	if b.command != "" {
		b.wg.Go(func() { b.run(ctx) })
	}
}

// stop ends what start began and waits for it. ctx must not have ended.
func (b *lookout) stop(ctx context.Context) {
	if b.cancel != nil {
		b.cancel()
	}
	b.wg.Wait()
	if b.conn != nil && b.conn.IsClosed() {
		b.connErr = errors.New("the run ended while the server was being asked")
	}
	if b.looks == 0 { // a short run on a busy machine: late is better than never
		b.look(ctx)
	}
	if b.conn != nil {
		closing, cancel := context.WithTimeout(ctx, lookPatience)
		defer cancel()
		_ = b.conn.Close(closing) // what a session says at its end matters to nobody
	}
}

// watch looks at sessions and processes.
func (b *lookout) watch(ctx context.Context) {
	_, _ = b.busy.Look(0) // what comes after counts from here
	tick := time.NewTicker(b.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		b.look(ctx)
	}
}

// look appends what goes on now; what ctx cut off is left out.
func (b *lookout) look(ctx context.Context) {
	out := Background{At: time.Now()}
	missing := []string{b.remote}
	top, err := b.busy.Look(topProcesses)
	if err != nil {
		missing = append(missing, "busy processes: "+err.Error())
	}
	for _, p := range top {
		out.Top = append(out.Top, Busy(p))
	}
	if err = b.connErr; err == nil {
		err = out.count(ctx, b.conn)
	}
	if err != nil {
		missing = append(missing, "sessions: "+err.Error())
	}
	if ctx.Err() != nil {
		return
	}
	out.Missing = joinSome(missing)
	b.append(out)
	b.looks++
}

func joinSome(parts []string) string {
	var some []string
	for _, p := range parts {
		if p != "" {
			some = append(some, p)
		}
	}
	return strings.Join(some, "; ")
}

// count fills in the sessions that are neither the load's nor pgtlb's.
func (g *Background) count(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	var all, active int
	err := conn.QueryRow(ctx, othersSQL).Scan(&all, &active)
	if err != nil {
		return err
	}
	g.Sessions, g.Active = &all, &active
	return nil
}

// othersSQL counts sessions of others. Without pg_read_all_stats the type of other
// roles' sessions is not to be seen, but their database is.
const othersSQL = `SELECT count(*), count(*) FILTER (WHERE state <> 'idle') FROM pg_stat_activity
	WHERE (backend_type = 'client backend' OR backend_type IS NULL AND datid IS NOT NULL)
	AND coalesce(application_name, '') !~ '^pgtlb( |$)'`

// run runs the user's command again and again, never two at a time.
func (b *lookout) run(ctx context.Context) {
	tick := time.NewTicker(b.every)
	defer tick.Stop()
	for {
		out := Background{At: time.Now()}
		out.Command = commandOutcome(ctx, b.command)
		b.append(out) // stop waits for it
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// commandOutcome runs a command and keeps the beginning of what it says.
func commandOutcome(ctx context.Context, command string) *CommandOutcome {
	bounded, cancel := context.WithTimeout(ctx, commandPatience)
	defer cancel()
	began := time.Now()
	text, err := lab.Shell(bounded, command)
	out := &CommandOutcome{TookMS: float64(time.Since(began)) / float64(time.Millisecond)}
	var code interface{ ExitCode() int }
	switch {
	case err == nil:
	case ctx.Err() != nil:
		out.Exit, out.Error = -1, "the run ended before it"
	case bounded.Err() != nil:
		out.Exit, out.Error = -1, "ended after "+commandPatience.String()
	case errors.As(err, &code) && code.ExitCode() >= 0:
		out.Exit = code.ExitCode()
	default:
		out.Exit, out.Error = -1, err.Error()
	}
	for line := range strings.Lines(text) {
		out.Lines++
		if len(out.First) < keptLines {
			clean := []rune(probes.Clean(strings.TrimRight(line, "\r\n")))
			out.First = append(out.First, string(clean[:min(len(clean), keptLine)]))
		}
	}
	return out
}

// append writes an entry into the run, at its place between the samples.
func (b *lookout) append(g Background) {
	b.s.query(func() {
		if h := b.s.tl.history; len(h) > 0 {
			f := h[len(h)-1]
			g.T = f.T + g.At.Sub(f.At)
		}
	})
	if err := b.s.rec.appendBackground(g); err != nil {
		b.s.post(func() { b.s.notify(true, err.Error()) })
	}
}
