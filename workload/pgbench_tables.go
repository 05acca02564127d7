package workload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Rows of pgbench's tables for each unit of the scale.
const (
	branchesPerScale = 1
	tellersPerScale  = 10
	accountsPerScale = 100_000
)

// bigScale is the scale from which account numbers are bigint.
const bigScale = 20_000

// bytesPerScale is what a unit of the scale takes: 12.8 MB of accounts and their
// index of 2.1 MB.
const bytesPerScale = 15 << 20

// pgbenchMark begins the comment on each of the tables.
const pgbenchMark = markPrefix + "bench -i: scale "

// PgbenchTables are pgbench's own tables, as pgbench -i makes them, in the first
// schema of the search path. As Data of a scenario they are made where they are missing.
type PgbenchTables struct {
	Scale       int64
	Fillfactor  int // percent; 0 is 100
	Unlogged    bool
	ForeignKeys bool
	NoVacuum    bool // leaves vacuum and analyze out
}

// Estimate is about how large the tables will be.
func (t PgbenchTables) Estimate() int64 { return t.Scale * bytesPerScale }

// pgbenchTables are the tables in the order in which pgbench vacuums them.
func pgbenchTables() []string {
	return []string{"pgbench_branches", "pgbench_tellers", "pgbench_accounts", "pgbench_history"}
}

// PgbenchTable is one of the tables that is there already.
type PgbenchTable struct {
	Name string // schema-qualified and quoted as in SQL
	Ours bool   // it carries pgtlb's mark
}

// FindPgbenchTables lists those of pgbench's tables that the search path finds.
func FindPgbenchTables(ctx context.Context, conn *pgx.Conn) ([]PgbenchTable, error) {
	rows, err := conn.Query(ctx, `SELECT format('%I.%I', n.nspname, c.relname), coalesce(obj_description(c.oid, 'pg_class'), '')
		FROM unnest($1::text[]) WITH ORDINALITY w(name, ord) JOIN pg_class c ON c.oid = to_regclass(w.name)
		JOIN pg_namespace n ON n.oid = c.relnamespace ORDER BY ord`, pgbenchTables())
	if err != nil {
		return nil, fmt.Errorf("looking for pgbench's tables: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (t PgbenchTable, err error) {
		var comment string
		err = row.Scan(&t.Name, &comment)
		t.Ours = strings.HasPrefix(comment, pgbenchMark)
		return t, err
	})
	if err != nil {
		return nil, fmt.Errorf("looking for pgbench's tables: %w", err)
	}
	return found, nil
}

// ErrNoPgbenchTables is returned where there are none in the search path.
var ErrNoPgbenchTables = errors.New("pgbench's tables are not in this database")

// PgbenchScale counts the scale of the tables that are there, by pgbench_branches
// as pgbench does. It fails with ErrNoPgbenchTables where there are none.
func PgbenchScale(ctx context.Context, conn *pgx.Conn) (int64, error) {
	var n int64
	err := conn.QueryRow(ctx, "select count(*) from pgbench_branches").Scan(&n)
	var said *pgconn.PgError
	switch {
	case errors.As(err, &said) && said.Code == "42P01":
		return 0, ErrNoPgbenchTables
	case err != nil:
		return 0, fmt.Errorf("could not count number of branches: %w", err)
	}
	return n, nil
}

// Make makes the tables anew in one transaction: those that are there, whoever
// made them, are dropped, and are still there if it is cancelled or fails. Vacuum
// and analyze follow it. progress may be nil.
func (t PgbenchTables) Make(ctx context.Context, conns Connect, progress func(Progress)) error {
	if progress == nil {
		progress = func(Progress) {}
	}
	conn, err := conns(ctx)
	if err != nil {
		return fmt.Errorf("making pgbench's tables: %w", err)
	}
	defer closeConn(ctx, conn)
	if err := t.make(ctx, conn.PgConn(), progress); err != nil {
		if ctx.Err() != nil { // pgconn reports the closed socket, not that ctx closed it
			err = ctx.Err()
		}
		return fmt.Errorf("making pgbench's tables: %w", err)
	}
	return nil
}

func (t PgbenchTables) make(ctx context.Context, conn *pgconn.PgConn, progress func(Progress)) error {
	if err := exec(ctx, conn, "BEGIN; DROP TABLE IF EXISTS pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers"); err != nil {
		return err
	}
	for _, sql := range t.create() {
		if err := exec(ctx, conn, sql); err != nil {
			return err
		}
	}
	if err := t.fill(ctx, conn, progress); err != nil {
		return err
	}
	if err := t.finish(ctx, conn, progress); err != nil {
		return err
	}
	if t.NoVacuum {
		return nil
	}
	for i, table := range pgbenchTables() {
		progress(Progress{Phase: "vacuum", Detail: table, Done: int64(i), Total: 4, Unit: "tables"})
		if err := exec(ctx, conn, "VACUUM ANALYZE "+table); err != nil {
			return err
		}
	}
	progress(Progress{Phase: "vacuum", Detail: "done", Done: 4, Total: 4, Unit: "tables"})
	return nil
}

// create is the definition of the tables, word for word pgbench's.
func (t PgbenchTables) create() []string {
	account := "int"
	if t.Scale >= bigScale {
		account = "bigint"
	}
	kind, fill := "", 100
	if t.Unlogged {
		kind = " unlogged"
	}
	if t.Fillfactor > 0 {
		fill = t.Fillfactor
	}
	with := fmt.Sprintf(" with (fillfactor=%d)", fill)
	return []string{
		"create" + kind + " table pgbench_history(tid int,bid int,aid " + account + ",delta int,mtime timestamp,filler char(22))",
		"create" + kind + " table pgbench_tellers(tid int not null,bid int,tbalance int,filler char(84))" + with,
		"create" + kind + " table pgbench_accounts(aid " + account + " not null,bid int,abalance int,filler char(84))" + with,
		"create" + kind + " table pgbench_branches(bid int not null,bbalance int,filler char(88))" + with,
	}
}

// fill copies the rows. They are frozen at once, as the tables are new in this
// transaction.
func (t PgbenchTables) fill(ctx context.Context, conn *pgconn.PgConn, progress func(Progress)) error {
	var made atomic.Int64
	tables := []struct {
		name     string
		perScale int64
		tail     string // of a row, behind its id and branch
	}{
		{"pgbench_branches", branchesPerScale, "\t0\t\\N\n"},
		{"pgbench_tellers", tellersPerScale, "\t0\t\\N\n"},
		{"pgbench_accounts", accountsPerScale, "\t0\t\n"},
	}
	total := t.Scale * (branchesPerScale + tellersPerScale + accountsPerScale)
	report := func() {
		progress(Progress{Phase: "load", Detail: "pgbench's tables, scale " + count(t.Scale), Done: made.Load(), Total: total, Unit: "rows"})
	}
	return during(report, func() error {
		for _, b := range tables {
			rows := &pgbenchRows{left: t.Scale * b.perScale, perBranch: b.perScale, tail: b.tail, made: &made}
			want := rows.left
			if b.perScale == branchesPerScale {
				rows.perBranch = 0
			}
			tag, err := conn.CopyFrom(ctx, rows, "COPY "+b.name+" FROM STDIN WITH (FREEZE ON)")
			if err != nil {
				return fmt.Errorf("loading %s: %w", b.name, err)
			}
			if got := tag.RowsAffected(); got != want {
				return fmt.Errorf("loading %s: the server stored %d of %d rows", b.name, got, want)
			}
		}
		return nil
	})
}

// finish adds the keys and marks the tables, and ends the transaction.
func (t PgbenchTables) finish(ctx context.Context, conn *pgconn.PgConn, progress func(Progress)) error {
	steps := []string{
		"alter table pgbench_branches add primary key (bid)",
		"alter table pgbench_tellers add primary key (tid)",
		"alter table pgbench_accounts add primary key (aid)",
	}
	if t.ForeignKeys {
		steps = append(steps,
			"alter table pgbench_tellers add constraint pgbench_tellers_bid_fkey foreign key (bid) references pgbench_branches",
			"alter table pgbench_accounts add constraint pgbench_accounts_bid_fkey foreign key (bid) references pgbench_branches",
			"alter table pgbench_history add constraint pgbench_history_bid_fkey foreign key (bid) references pgbench_branches",
			"alter table pgbench_history add constraint pgbench_history_tid_fkey foreign key (tid) references pgbench_tellers",
			"alter table pgbench_history add constraint pgbench_history_aid_fkey foreign key (aid) references pgbench_accounts")
	}
	for i, sql := range steps {
		progress(Progress{Phase: "index", Detail: "keys", Done: int64(i), Total: int64(len(steps)), Unit: "keys"})
		if err := exec(ctx, conn, sql); err != nil {
			return err
		}
	}
	progress(Progress{Phase: "index", Detail: "keys", Done: int64(len(steps)), Total: int64(len(steps)), Unit: "keys"})
	sql := ""
	for _, table := range pgbenchTables() {
		sql += fmt.Sprintf("COMMENT ON TABLE %s IS '%s%d'; ", table, pgbenchMark, t.Scale)
	}
	return exec(ctx, conn, sql+"COMMIT")
}

// pgbenchRows is a COPY stream, as text: ids from 1 on, each with its branch.
type pgbenchRows struct {
	next, left int64
	perBranch  int64 // rows of a branch; 0 has no column for it
	tail       string
	made       *atomic.Int64
	buf, rest  []byte // made, and of that not read yet
}

func (r *pgbenchRows) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.left == 0 {
			return 0, io.EOF
		}
		n := min(r.left, copyBlock)
		r.buf = r.buf[:0]
		for range n {
			r.buf = strconv.AppendInt(r.buf, r.next+1, 10)
			if r.perBranch > 0 {
				r.buf = strconv.AppendInt(append(r.buf, '\t'), r.next/r.perBranch+1, 10)
			}
			r.buf = append(r.buf, r.tail...)
			r.next++
		}
		r.left -= n
		r.made.Add(n)
		r.rest = r.buf
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Setup makes the tables, or finds them.
func (t PgbenchTables) Setup(ctx context.Context, conns Connect, progress func(Progress)) error {
	err := underLock(ctx, conns, func(control *pgx.Conn) error {
		found, err := FindPgbenchTables(ctx, control)
		if err != nil || len(found) == len(pgbenchTables()) {
			return err
		}
		for _, f := range found {
			if !f.Ours {
				return fmt.Errorf("%s is there, but not all of them, and pgtlb did not make it", f.Name)
			}
		}
		return t.Make(ctx, conns, progress)
	})
	if err != nil {
		return fmt.Errorf("setting up pgbench's tables: %w", err)
	}
	return nil
}

// Fingerprint is of what no script of pgbench's changes: the accounts and their
// branches.
func (t PgbenchTables) Fingerprint(ctx context.Context, conn *pgx.Conn) (string, error) {
	var accounts, sum int64
	err := conn.QueryRow(ctx, "SELECT count(*), coalesce(sum(aid::bigint % 1000003 * bid), 0)::bigint FROM pgbench_accounts").Scan(&accounts, &sum)
	if err != nil {
		return "", fmt.Errorf("reading pgbench's tables: %w", err)
	}
	return fmt.Sprintf("pgbench-%d-%x", accounts, sum), nil
}

// Relations are the tables and their indexes, the largest first.
func (t PgbenchTables) Relations(context.Context, *pgx.Conn) ([]string, error) {
	return []string{"pgbench_accounts", "pgbench_accounts_pkey", "pgbench_tellers", "pgbench_tellers_pkey",
		"pgbench_branches", "pgbench_branches_pkey"}, nil
}

// VacuumPgbenchTables does before a run what pgbench does: it vacuums branches
// and tellers and empties the history; with all it vacuums and analyzes the accounts
// too. What fails is returned, and the rest done all the same.
func VacuumPgbenchTables(ctx context.Context, conn *pgx.Conn, all bool) (failed []error) {
	steps := []string{"vacuum pgbench_branches", "vacuum pgbench_tellers", "truncate pgbench_history"}
	if all {
		steps = append(steps, "vacuum analyze pgbench_accounts")
	}
	for _, sql := range steps {
		if err := exec(ctx, conn.PgConn(), sql); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", sql, err))
		}
	}
	return failed
}
