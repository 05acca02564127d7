package probes

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

//go:embed sql/database.sql
var databaseSQL string

//go:embed sql/catalog.sql
var catalogSQL string

//go:embed sql/statements_extension.sql
var statementsExtensionSQL string

//go:embed sql/statements.sql
var statementsSQL string

//go:embed sql/statements_1.9.sql
var statements19SQL string

// database reads pg_stat_database, the size of the system catalog and, where it is
// there, pg_stat_statements.
type database struct {
	server  *Server
	metrics []Metric
	// statements is the query on pg_stat_statements, empty where it cannot be
	// read; then missing has the reason.
	statements string
	missing    []Miss
}

// databaseCounters are the columns of databaseSQL.
func databaseCounters() []string {
	return []string{Commits, Rollbacks, BlksHit, BlksRead, TempFiles, TempBytes, TupReturned, TupFetched, TupInserted, TupUpdated, TupDeleted}
}

// openDatabase offers the counters of all databases, the catalog of ours, and calls and execution
// time of all statements where pg_stat_statements can be read.
func openDatabase(ctx context.Context, s *Server) (Probe, []Miss) {
	d := &database{
		server:  s,
		metrics: append(metricsOf(databaseCounters()...), metricsOf(Catalog)...),
	}
	query, err := findStatements(ctx, s)
	if err != nil {
		for _, id := range []string{StmtCalls, StmtExecMS} {
			d.missing = append(d.missing, missFor(id, nil, err))
		}
		return d, d.missing
	}
	d.statements = query
	d.metrics = append(d.metrics, metricsOf(StmtCalls, StmtExecMS)...)
	return d, nil
}

// insufficientPrivilege is the SQLSTATE of what a role may not do.
const insufficientPrivilege = "42501"

// findStatements returns the query that reads pg_stat_statements as this server
// has it, after trying it.
func findStatements(ctx context.Context, s *Server) (string, error) {
	query := ""
	err := s.use(ctx, func(c *session) error {
		var schema, version string
		err := c.conn.QueryRow(ctx, statementsExtensionSQL).Scan(&schema, &version)
		if errors.Is(err, pgx.ErrNoRows) {
			return &Unavailable{
				What:   "pg_stat_statements",
				State:  NotThere,
				Reason: "pg_stat_statements is not installed in this database",
				Remedy: "add it to shared_preload_libraries and run CREATE EXTENSION pg_stat_statements in the database that pgtlb connects to",
			}
		}
		if err != nil {
			return err
		}
		if query, err = statementsQuery(schema, version); err != nil {
			return err
		}
		var calls, ms float64
		return c.conn.QueryRow(ctx, query).Scan(&calls, &ms)
	})
	if err == nil {
		return query, nil
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		state := NotThere // it is not in shared_preload_libraries
		if pg.Code == insufficientPrivilege {
			state = NoPermission
		}
		return "", &Unavailable{What: "pg_stat_statements", State: state, Reason: "pg_stat_statements cannot be read: " + Clean(pg.Message)}
	}
	return "", err
}

// statementsQuery picks the query by the version of the extension, "1.10".
func statementsQuery(schema, version string) (string, error) {
	major, minor, _ := strings.Cut(version, ".")
	a, err := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	switch {
	case err != nil || err2 != nil || a < 1 || a == 1 && b < 8:
		return "", &Unavailable{
			What:   "pg_stat_statements",
			State:  NotThere,
			Reason: "pg_stat_statements has version " + Clean(version) + ", pgtlb needs 1.8",
			Remedy: "run ALTER EXTENSION pg_stat_statements UPDATE",
		}
	case a == 1 && b < 9:
		return inSchema(statementsSQL, schema), nil
	}
	return inSchema(statements19SQL, schema), nil
}

// inSchema fills in the schema of the extension, quoted by the server.
func inSchema(query, schema string) string {
	return strings.ReplaceAll(query, "{schema}", schema)
}

func (d *database) Name() string      { return "database" }
func (d *database) Metrics() []Metric { return append([]Metric(nil), d.metrics...) }

// Close leaves the server's connection open: it belongs to the Server.
func (d *database) Close() error { return nil }

// Read asks for everything in one round trip.
func (d *database) Read(ctx context.Context) (Batch, error) {
	out := Batch{Probe: d.Name()}
	err := d.server.use(ctx, func(c *session) error {
		var b pgx.Batch
		b.Queue(databaseSQL).QueryRow(func(row pgx.Row) error {
			return scanValues(row, &out, databaseCounters()...)
		})
		b.Queue(catalogSQL).QueryRow(func(row pgx.Row) error { return scanValues(row, &out, Catalog) })
		if d.statements != "" {
			b.Queue(d.statements).QueryRow(func(row pgx.Row) error {
				return scanValues(row, &out, StmtCalls, StmtExecMS)
			})
		}
		return c.conn.SendBatch(ctx, &b).Close()
	})
	if err == nil {
		return out, nil
	}
	for _, m := range d.metrics {
		if !hasReading(out.Readings, m.ID) {
			out.Misses = append(out.Misses, Miss{ID: m.ID, Reason: err.Error()})
		}
	}
	return out, fmt.Errorf("reading the server's counters: %w", err)
}

// scanValues adds one reading per column.
func scanValues(row pgx.Row, b *Batch, ids ...string) error {
	values := make([]float64, len(ids))
	into := make([]any, len(ids))
	for i := range values {
		into[i] = &values[i]
	}
	if err := row.Scan(into...); err != nil {
		return err
	}
	for i, id := range ids {
		b.Readings = append(b.Readings, Reading{ID: id, Value: values[i]})
	}
	return nil
}

// ServerProbes opens the probes over the server: its counters and its
// processes. What cannot be measured comes back with the reason.
func ServerProbes(ctx context.Context, s *Server) (opened []Probe, missing []Miss) {
	counters, missing := openDatabase(ctx, s)
	backends, more := NewBackends(ctx, s)
	return []Probe{backends, counters}, append(missing, more...)
}
