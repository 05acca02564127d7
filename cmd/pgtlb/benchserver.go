package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"pgtlb/probes"
	"pgtlb/workload"
	"pgtlb/workload/trial"
)

// errAllowLoad is the refusal of a load on a server that is not pgtlb's own.
var errAllowLoad = errors.New("a load on a server that pgtlb did not start needs --allow-load; --lab runs it on a private throw-away server")

// benchServer drives the load on a server that pgtlb did not start.
func (a *app) benchServer(ctx context.Context, b *benchFlags, scenario string, args []string) error {
	w, err := b.what(a, scenario)
	if err != nil {
		return err
	}
	if !b.allowLoad {
		return errAllowLoad
	}
	scope, err := probes.ParsePerfScope(b.lab.scope)
	if err != nil {
		return err
	}
	warm, err := b.load.warmUp()
	if err != nil {
		return err
	}
	cfg, err := b.conn.config(args)
	if err != nil {
		return err
	}
	store, err := a.writableStore()
	if err != nil {
		return err
	}
	if err := a.ready(ctx, b, cfg, &w); err != nil {
		return err
	}
	so := a.session(trial.Watching, store)
	so.Config, so.AllowLoad, so.First, so.WarmUp, so.Scope, so.Queries = cfg, true, w.load, warm, scope, b.load.queries
	return a.benchDrive(ctx, b, so, w)
}

// ready looks at the server, asks, and does before the load what pgbench does.
func (a *app) ready(ctx context.Context, b *benchFlags, cfg *pgx.ConnConfig, w *benched) error {
	s, err := connectServer(ctx, cfg)
	if err != nil {
		return orScenario(err, cfg)
	}
	defer s.close(ctx)
	if err := a.setScale(ctx, b, s, w); err != nil {
		return err
	}
	room, err := workload.Room(ctx, s.conn)
	if err != nil {
		return err
	}
	if err := room.Check(w.load.Clients); err != nil {
		return err
	}
	if err := w.load.Scenario.MayMake(ctx, s.conn, w.load.Values); err != nil {
		return fmt.Errorf("%s: %w", w.load.Scenario.Name, err)
	}
	vacuum := w.pgbench && !b.noVacuum
	found, err := workload.FindPgbenchTables(ctx, s.conn)
	if err != nil {
		return err
	}
	lines := append([]string{"load on a server that pgtlb did not start:"}, s.lines()...)
	lines = append(lines,
		"  load         "+describe(w),
		"  connections  "+roomText(room, w.load.Clients))
	lines = append(lines, makes(w)...)
	if vacuum && len(found) > 0 {
		lines = append(lines, "  before it    vacuums pgbench_branches and pgbench_tellers, empties pgbench_history (-n: does not)")
	}
	if err := a.confirm(ctx, lines, "Start it?", b.lab.yes, "no load was started"); err != nil {
		return err
	}
	if vacuum {
		a.vacuum(ctx, s.conn, b.vacuumAll)
	}
	return ctx.Err()
}

// noSuchDatabase is SQLSTATE invalid_catalog_name.
const noSuchDatabase = "3D000"

// orScenario adds to the error of a database that does not exist that no scenario
// has this name either.
func orScenario(err error, cfg *pgx.ConnConfig) error {
	var said *pgconn.PgError
	if !errors.As(err, &said) || said.Code != noSuchDatabase {
		return err
	}
	_, missing := workload.Find(cfg.Database)
	if missing == nil {
		return err
	}
	return fmt.Errorf("%w; and %w", err, missing)
}

// setScale takes the scale from the tables where builtins run on them.
func (a *app) setScale(ctx context.Context, b *benchFlags, s *server, w *benched) error {
	if !w.builtins {
		return nil
	}
	n, err := workload.PgbenchScale(ctx, s.conn)
	if errors.Is(err, workload.ErrNoPgbenchTables) {
		return fmt.Errorf("%w: make them with pgtlb bench -i -s SCALE --allow-load (database %q)", err, s.conn.Config().Database)
	}
	if err != nil {
		return err
	}
	if b.flags.Changed("scale") {
		a.complain(fmt.Errorf("warning: scale option ignored, using count from pgbench_branches table (%d)", n))
	}
	w.load.Values["scale"], w.asked.Scale = n, n
	return nil
}

// vacuum is what pgbench does before a run. Tables that are not there are no
// matter: the scripts may have others.
func (a *app) vacuum(ctx context.Context, conn *pgx.Conn, all bool) {
	_, _ = fmt.Fprint(a.err, "starting vacuum...")
	failed := workload.VacuumPgbenchTables(ctx, conn, all)
	_, _ = fmt.Fprintln(a.err, "end.")
	for _, err := range failed {
		a.complain(fmt.Errorf("%w\n(ignoring this error and continuing anyway)", err))
	}
}

// describe is the load in a line.
func describe(w *benched) string {
	l := &w.load
	what := l.Scenario.Name
	if w.pgbench {
		work, err := l.Scenario.Work(l.Values)
		if err == nil {
			var names []string
			for _, s := range work.Scripts {
				names = append(names, probes.Clean(s.Name))
			}
			what = strings.Join(names, ", ")
		}
	}
	text := fmt.Sprintf("%s, %s", what, probes.Plural(l.Clients, "client"))
	if l.Duration > 0 {
		text += fmt.Sprintf(" for %.0f s", l.Duration.Seconds())
	} else {
		text += fmt.Sprintf(", %d transactions each", l.Transactions)
	}
	if l.Rate > 0 {
		text += fmt.Sprintf(", %v per second", l.Rate)
	}
	return text
}

// makes lists what the load makes besides what its scripts do.
func makes(w *benched) []string {
	list := w.load.Scenario.Makes(w.load.Values)
	if len(list) == 0 {
		return []string{"  makes        nothing; what the scripts do is done there"}
	}
	if bytes := w.load.Scenario.Estimate(w.load.Values); bytes > 0 {
		list[0] += ", about " + probes.Memory(float64(bytes)/1024)
	}
	list = append(list, "only what is not there yet; pgtlb bench --cleanup removes it")
	for i, text := range list {
		head := "             "
		if i == 0 {
			head = "makes        "
		}
		list[i] = "  " + head + text
	}
	return list
}

// server is a connection that looks around before a load.
type server struct {
	conn *pgx.Conn
	cfg  *pgx.ConnConfig
}

// lookTimeout bounds connecting.
const lookTimeout = 15 * time.Second

// server connects to the server that the flags and arguments name.
func (b *benchFlags) server(ctx context.Context, args []string) (*server, error) {
	cfg, err := b.conn.config(args)
	if err != nil {
		return nil, err
	}
	return connectServer(ctx, cfg)
}

func connectServer(ctx context.Context, cfg *pgx.ConnConfig) (*server, error) {
	own := cfg.Copy()
	own.RuntimeParams["application_name"] = probes.SetupName
	bounded, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(bounded, own)
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	return &server{conn, own}, nil
}

// connect opens one more connection.
func (s *server) connect(ctx context.Context) (*pgx.Conn, error) {
	return pgx.ConnectConfig(ctx, s.cfg)
}

func (s *server) close(ctx context.Context) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = s.conn.Close(bounded) // what a session says at its end matters to nobody
}

// lines name the server for a person.
func (s *server) lines() []string {
	where := fmt.Sprintf("%s port %d", s.cfg.Host, s.cfg.Port)
	return []string{
		"  server       " + probes.Clean(where) + ", PostgreSQL " + probes.Clean(s.conn.PgConn().ParameterStatus("server_version")),
		"  database     " + probes.Clean(s.cfg.Database) + ", as user " + probes.Clean(s.cfg.User),
	}
}

// roomText says how many sessions there will be.
func roomText(c workload.Connections, clients int) string {
	return fmt.Sprintf("%d more, %d in use of %d (%d of them reserved)", clients+workload.OwnSessions, c.InUse, c.Max, c.Superusers+c.Reserved)
}
