package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ownTables are tables in schema pgtlb that one scenario works on, made by SQL.
// Each carries a mark that says what was made of which parameters.
//
// A scenario may write to them. Its check then looks only at what its
// transactions leave alone, and its Shows or doc comment says what may be another
// than after the first set-up.
type ownTables struct {
	// scenario names them in the mark.
	scenario string
	// definition is the version of what the tables hold. Raise it with any
	// change of columns, indexes or values: older tables are then made anew.
	definition int
	// params say in the mark what else decides the content: "accounts 100000".
	params string
	tables []ownTable
	// check is an SQL expression of type text over what no load changes. Equal
	// content has an equal text, on every server version.
	check string
	// before is called in the transaction that makes the tables, ahead of them;
	// nil does nothing.
	before func(ctx context.Context, tx pgx.Tx) error
	// role is one that before makes, empty for none.
	role string
}

// ownTable is one of them. Its rows are a function of their number.
type ownTable struct {
	name    string
	create  string // what follows the name: columns, storage
	logged  bool
	rows    int64
	row     string   // values of row i, a bigint from 1 on, as in a SELECT list
	after   []string // SQL, once it is filled: keys, indexes, policies
	rowSize int64    // bytes of a row with its share of the indexes
}

// Setup makes the tables in one transaction, or finds them made already with the
// same definition and parameters. Tables of other parameters are replaced; tables
// that pgtlb did not make are never touched and are an error. Hint bits are set
// after that transaction: a set-up cancelled then leaves complete tables.
func (o ownTables) Setup(ctx context.Context, conns Connect, progress func(Progress)) error {
	if progress == nil {
		progress = func(Progress) {}
	}
	err := underLock(ctx, conns, func(control *pgx.Conn) error {
		why, err := o.missing(ctx, control)
		if err != nil {
			return err
		}
		if why == "" {
			progress(foundRows(o.rows()))
			return nil
		}
		return o.build(ctx, control, why, progress)
	})
	if err != nil {
		return fmt.Errorf("setting up the tables of %s: %w", o.scenario, err)
	}
	return nil
}

// description is the mark without the fingerprint.
func (o ownTables) description() string {
	text := fmt.Sprintf("%s definition %d", o.kind(), o.definition)
	if o.params != "" {
		text += ", " + o.params
	}
	return text
}

func (o ownTables) kind() string { return "pgtlb tables of " + o.scenario + ":" }

// fingerprintMark stands in a mark between description and fingerprint.
const fingerprintMark = ", fingerprint "

// missing returns why the tables have to be made, empty if they are there.
func (o ownTables) missing(ctx context.Context, conn *pgx.Conn) (string, error) {
	if err := ensureSchema(ctx, conn); err != nil {
		return "", err
	}
	var marks []string
	for _, t := range o.tables {
		comment, ok, err := tableComment(ctx, conn, t.name)
		switch {
		case err != nil:
			return "", err
		case !ok:
		case !strings.HasPrefix(comment, o.kind()):
			return "", notOurs(t.name)
		default:
			marks = append(marks, comment)
		}
	}
	if len(marks) < len(o.tables) {
		return notMade, nil
	}
	if marks = slices.Compact(marks); len(marks) > 1 {
		return "the tables are not of one set-up", nil
	}
	made, fingerprint, _ := strings.Cut(marks[0], fingerprintMark)
	if made != o.description() {
		return fmt.Sprintf("the tables are %q instead of %q", made, o.description()), nil
	}
	is, err := o.Fingerprint(ctx, conn)
	if undefined(err) {
		return "the tables were altered: " + err.Error(), nil
	}
	if err != nil {
		return "", err
	}
	if is != fingerprint {
		return "the tables lost or changed rows, as a crash of the server does to unlogged tables", nil
	}
	return "", nil
}

// undefined tells whether the server does not know a table, column, function or
// object that a statement names.
func undefined(err error) bool {
	var said *pgconn.PgError
	return errors.As(err, &said) && slices.Contains([]string{"42P01", "42703", "42883", "42704"}, said.Code)
}

// Fingerprint reads the fingerprint of the tables that the database holds.
func (o ownTables) Fingerprint(ctx context.Context, conn *pgx.Conn) (string, error) {
	is, err := o.fingerprint(ctx, conn)
	if err != nil {
		return "", fmt.Errorf("reading the fingerprint of the tables of %s: %w", o.scenario, err)
	}
	return is, nil
}

// queryRower is a connection or a transaction.
type queryRower interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func (o ownTables) fingerprint(ctx context.Context, q queryRower) (is string, err error) {
	err = q.QueryRow(ctx, "SELECT lpad(to_hex(hashtextextended("+o.check+", 0)), 16, '0')").Scan(&is)
	return is, err
}

// fillRows is how many rows one statement makes: progress is known in between.
const fillRows = 50_000

// build makes the tables in one transaction.
func (o ownTables) build(ctx context.Context, conn *pgx.Conn, why string, progress func(Progress)) error {
	p := Progress{Phase: "load", Total: o.rows(), Unit: "rows"}
	anew := ""
	if why != notMade {
		anew = ", made anew: " + why
	}
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if o.before != nil {
			if err := o.before(ctx, tx); err != nil {
				return err
			}
		}
		var old []string
		for _, t := range o.tables {
			old = append(old, Schema+"."+t.name)
		}
		// At once: they may refer to each other.
		if _, err := tx.Exec(ctx, "DROP TABLE IF EXISTS "+strings.Join(old, ", ")); err != nil {
			return fmt.Errorf("dropping the old tables: %w", err)
		}
		for _, t := range o.tables {
			p.Detail = t.name + anew
			if err := t.fill(ctx, tx, func(n int64) { p.Done += n; progress(p) }); err != nil {
				return fmt.Errorf("making table %s.%s: %w", Schema, t.name, err)
			}
		}
		for i, t := range o.tables {
			progress(Progress{Phase: "index", Detail: t.name, Done: int64(i), Total: int64(len(o.tables)), Unit: "tables"})
			for _, sql := range append(slices.Clone(t.after), "ANALYZE "+Schema+"."+t.name) {
				if _, err := tx.Exec(ctx, sql); err != nil {
					return fmt.Errorf("making table %s.%s: %w", Schema, t.name, err)
				}
			}
		}
		return o.sign(ctx, tx)
	})
	if err != nil {
		return err
	}
	for i, t := range o.tables {
		progress(Progress{Phase: "vacuum", Detail: t.name, Done: int64(i), Total: int64(len(o.tables)), Unit: "tables"})
		if _, err := conn.Exec(ctx, "VACUUM "+Schema+"."+t.name); err != nil {
			return fmt.Errorf("vacuuming %s.%s: %w", Schema, t.name, err)
		}
	}
	return nil
}

// fill creates and fills a table; made is called with the number of new rows.
func (t ownTable) fill(ctx context.Context, tx pgx.Tx, made func(int64)) error {
	unlogged := "UNLOGGED "
	if t.logged {
		unlogged = ""
	}
	if _, err := tx.Exec(ctx, "CREATE "+unlogged+"TABLE "+Schema+"."+t.name+" "+t.create); err != nil {
		return err
	}
	made(0)
	for first := int64(1); first <= t.rows; first += fillRows {
		last := min(first+fillRows-1, t.rows)
		sql := fmt.Sprintf("INSERT INTO %s.%s SELECT %s FROM generate_series(%d::bigint, %d) i", Schema, t.name, t.row, first, last)
		if _, err := tx.Exec(ctx, sql); err != nil {
			return err
		}
		made(last - first + 1)
	}
	return nil
}

// sign gives the tables their mark.
func (o ownTables) sign(ctx context.Context, tx pgx.Tx) error {
	is, err := o.fingerprint(ctx, tx)
	if err != nil {
		return fmt.Errorf("reading the fingerprint: %w", err)
	}
	for _, t := range o.tables {
		sql := "COMMENT ON TABLE " + Schema + "." + t.name + " IS '" + o.description() + fingerprintMark + is + "'"
		if _, err := tx.Exec(ctx, sql); err != nil {
			return fmt.Errorf("marking table %s.%s: %w", Schema, t.name, err)
		}
	}
	return nil
}

// Relations are the tables, each followed by its indexes.
func (o ownTables) Relations(ctx context.Context, conn *pgx.Conn) ([]string, error) {
	var names []string
	for _, t := range o.tables {
		names = append(names, Schema+"."+t.name)
	}
	return withIndexes(ctx, conn, names)
}

// withIndexes returns tables, each followed by its indexes; names are quoted as
// in SQL.
func withIndexes(ctx context.Context, conn *pgx.Conn, tables []string) ([]string, error) {
	rows, err := conn.Query(ctx, `SELECT format('%I.%I', n.nspname, c.relname)
		FROM unnest($1::text[]) WITH ORDINALITY AS t (name, place)
		CROSS JOIN LATERAL (SELECT to_regclass(t.name)::oid AS relid, 0 AS part
			UNION ALL SELECT indexrelid, 1 FROM pg_index WHERE indrelid = to_regclass(t.name)) r
		JOIN pg_class c ON c.oid = r.relid JOIN pg_namespace n ON n.oid = c.relnamespace
		ORDER BY t.place, r.part, c.relname`, tables)
	if err != nil {
		return nil, fmt.Errorf("looking for tables and indexes: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("looking for tables and indexes: %w", err)
	}
	if len(names) < len(tables) {
		return nil, ErrNoData
	}
	return names, nil
}

// Estimate is about how many bytes the tables and their indexes take.
func (o ownTables) Estimate() int64 {
	var n int64
	for _, t := range o.tables {
		n += t.rows * t.rowSize
	}
	return n
}

func (o ownTables) rows() int64 {
	var n int64
	for _, t := range o.tables {
		n += t.rows
	}
	return n
}

// random63 is SQL for a bigint from 0 on that looks random, a function of i, seed
// and column. The server's hash functions give the same on all versions.
func random63(seed, column int64) string {
	return fmt.Sprintf("(hashint8extended(i, '%d'::bigint) & 9223372036854775807)", int64(mix(uint64(seed)+uint64(column)*golden)))
}

// random1 is SQL for a bigint from 1 to n, as random63.
func random1(n, seed, column int64) string {
	return fmt.Sprintf("1 + %s %% %d", random63(seed, column), n)
}

// seedParam is the parameter of scenarios whose own tables hold random values.
func seedParam() Param {
	p := datasetParams(1, maxRows)[1]
	p.Meaning = "seed of the values in the tables"
	return p
}
