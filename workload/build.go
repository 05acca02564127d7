package workload

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// loaders is the number of connections that COPY in parallel. Two keep one
// extension lock of the table fairly busy; more wait for each other.
const loaders = 2

// lookEvery is the time between two looks at how far a step is.
const lookEvery = 200 * time.Millisecond

// build makes the tables beside the old ones and puts them in place. control
// holds the set-up lock and runs short statements only, so that it is still
// there to tidy up when ctx is cancelled.
func (d Dataset) build(ctx context.Context, control *pgx.Conn, conns Connect, why string, progress func(Progress)) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, d.tidy(ctx, control))
		}
	}()
	if err := d.createTables(ctx, control); err != nil {
		return err
	}
	if err := d.load(ctx, conns, why, progress); err != nil {
		return err
	}
	conn, err := conns(ctx)
	if err != nil {
		return err
	}
	defer closeConn(ctx, conn)
	if err := d.index(ctx, control, conn, progress); err != nil {
		return err
	}
	if err := analyze(ctx, conn, progress); err != nil {
		return err
	}
	return d.putInPlace(ctx, control)
}

func (d Dataset) tidy(ctx context.Context, control *pgx.Conn) error {
	if control.IsClosed() {
		return nil // the next set-up finds what is left by its mark
	}
	ctx, cancel := short(ctx)
	defer cancel()
	return dropUnfinished(ctx, control)
}

func (d Dataset) createTables(ctx context.Context, control *pgx.Conn) error {
	ctx, cancel := short(ctx)
	defer cancel()
	const sql = `CREATE UNLOGGED TABLE ` + Schema + `.` + dataTable + unfinished + ` (id bigint, col1 bigint, col2 bigint, col3 bigint,
		col4 bigint, col5 bigint, col6 bigint, col7 bigint, col8 bigint, col9 bigint) WITH (autovacuum_enabled = false);
	COMMENT ON TABLE ` + Schema + `.` + dataTable + unfinished + ` IS '` + unfinishedMark + `';
	CREATE UNLOGGED TABLE ` + Schema + `.` + categoryTable + unfinished + ` (cat_id bigint, category_name text) WITH (autovacuum_enabled = false);
	COMMENT ON TABLE ` + Schema + `.` + categoryTable + unfinished + ` IS '` + unfinishedMark + `'`
	if err := exec(ctx, control.PgConn(), sql); err != nil {
		return fmt.Errorf("creating the tables: %w", err)
	}
	return nil
}

// load copies all rows of both tables.
func (d Dataset) load(ctx context.Context, conns Connect, why string, progress func(Progress)) error {
	var made atomic.Int64
	detail := dataTable
	if why != notMade {
		detail += ", made anew: " + why
	}
	report := func() {
		progress(Progress{Phase: "load", Detail: detail, Done: made.Load(), Total: d.Rows, Unit: "rows"})
	}
	return during(report, func() error {
		if err := loadCategories(ctx, conns); err != nil {
			return err
		}
		return d.loadData(ctx, conns, &made)
	})
}

func loadCategories(ctx context.Context, conns Connect) error {
	conn, err := conns(ctx)
	if err != nil {
		return err
	}
	defer closeConn(ctx, conn)
	return copyInto(ctx, conn, categoryTable+unfinished, categoryRows(), Categories)
}

// loadData fills test_hp_table over several connections and counts the rows in
// made as they go.
func (d Dataset) loadData(ctx context.Context, conns Connect, made *atomic.Int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, loaders)
	var wg sync.WaitGroup
	for i := range int64(loaders) {
		wg.Go(func() {
			errs[i] = d.copyPart(ctx, conns, d.Rows*i/loaders+1, d.Rows*(i+1)/loaders, made)
			if errs[i] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	return firstCause(errs)
}

// firstCause prefers an error that is not only the echo of a cancellation.
func firstCause(errs []error) error {
	var echo error
	for _, err := range errs {
		switch {
		case err == nil:
		case errors.Is(err, context.Canceled):
			echo = err
		default:
			return err
		}
	}
	return echo
}

// copyPart loads rows first to last on a connection of its own.
func (d Dataset) copyPart(ctx context.Context, conns Connect, first, last int64, made *atomic.Int64) error {
	conn, err := conns(ctx)
	if err != nil {
		return err
	}
	defer closeConn(ctx, conn)
	return copyInto(ctx, conn, dataTable+unfinished, dataRows(d.Seed, first, last, made), last-first+1)
}

func copyInto(ctx context.Context, conn *pgx.Conn, table string, rows *copySource, want int64) error {
	tag, err := conn.PgConn().CopyFrom(ctx, rows, "COPY "+Schema+"."+table+" FROM STDIN (FORMAT binary)")
	if err != nil {
		// pgconn reports the closed socket, not that ctx closed it.
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return fmt.Errorf("loading %s.%s: %w", Schema, table, err)
	}
	if got := tag.RowsAffected(); got != want {
		return fmt.Errorf("loading %s.%s: the server stored %d of %d rows", Schema, table, got, want)
	}
	return nil
}

// index builds both unique indexes, each in one pass over its full table.
func (d Dataset) index(ctx context.Context, control, conn *pgx.Conn, progress func(Progress)) error {
	sql := fmt.Sprintf("SET maintenance_work_mem = '%dkB'", d.sortMemoryKB())
	if err := exec(ctx, conn.PgConn(), sql); err != nil {
		return fmt.Errorf("setting maintenance_work_mem: %w", err)
	}
	builds := []struct{ index, table, column string }{
		{categoryIndex, categoryTable, "cat_id"},
		{dataIndex, dataTable, "id"},
	}
	for _, b := range builds {
		var last Progress
		report := func() {
			if p, ok := indexProgress(ctx, control, conn.PgConn().PID(), b.index); ok {
				last = p
				progress(p)
			}
		}
		progress(Progress{Phase: "index", Detail: b.index, Unit: "blocks"})
		err := during(report, func() error {
			return exec(ctx, conn.PgConn(), "CREATE UNIQUE INDEX "+b.index+unfinished+" ON "+Schema+"."+b.table+unfinished+" ("+b.column+")")
		})
		if err != nil {
			return fmt.Errorf("building index %s: %w", b.index, err)
		}
		last.Phase, last.Detail, last.Done = "index", b.index+" built", last.Total
		progress(last)
	}
	return nil
}

// sortMemoryKB is enough to sort the ids of test_hp_table in memory (about 40
// bytes each), within bounds that a machine fit for that many rows can spare.
func (d Dataset) sortMemoryKB() int64 {
	const least, most = 64 << 10, 1 << 20
	if d.Rows > most*1024/40 {
		return most
	}
	return max(least, d.Rows*40/1024)
}

// indexProgress asks the server how far the build of session pid is. ok is false
// while there is nothing to tell.
func indexProgress(ctx context.Context, control *pgx.Conn, pid uint32, index string) (p Progress, ok bool) {
	ctx, cancel := short(ctx)
	defer cancel()
	var phase string
	var blocks, blocksTotal, tuples, tuplesTotal int64
	err := control.QueryRow(ctx, `SELECT phase, blocks_done, blocks_total, tuples_done, tuples_total
		FROM pg_stat_progress_create_index WHERE pid = $1`, int32(pid)).
		Scan(&phase, &blocks, &blocksTotal, &tuples, &tuplesTotal)
	if err != nil {
		return Progress{}, false // not begun or just over: the build itself tells of errors
	}
	p = Progress{Phase: "index", Detail: index + ": " + phase, Done: blocks, Total: blocksTotal, Unit: "blocks"}
	if tuplesTotal > 0 {
		p.Done, p.Total, p.Unit = tuples, tuplesTotal, "rows"
	}
	return p, true
}

// analyze makes the planner's statistics; the server does not do it by itself,
// autovacuum being off for the tables.
func analyze(ctx context.Context, conn *pgx.Conn, progress func(Progress)) error {
	tables := []string{categoryTable, dataTable}
	for i, table := range tables {
		progress(Progress{Phase: "analyze", Detail: table, Done: int64(i), Total: int64(len(tables)), Unit: "tables"})
		if err := exec(ctx, conn.PgConn(), "ANALYZE "+Schema+"."+table+unfinished); err != nil {
			return fmt.Errorf("analyzing %s: %w", table, err)
		}
	}
	progress(Progress{Phase: "analyze", Detail: "done", Done: int64(len(tables)), Total: int64(len(tables)), Unit: "tables"})
	return nil
}

// putInPlace drops the old tables, which missing has found to be pgtlb's, and
// gives the new ones their names and mark, in one transaction.
func (d Dataset) putInPlace(ctx context.Context, control *pgx.Conn) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := short(ctx)
	defer cancel()
	m := mark{definition: definition, seed: d.Seed, rows: d.Rows, fingerprint: d.expected()}
	var sql string
	for _, t := range []struct{ table, index string }{{dataTable, dataIndex}, {categoryTable, categoryIndex}} {
		sql += fmt.Sprintf(`DROP TABLE IF EXISTS %[1]s.%[2]s;
			ALTER TABLE %[1]s.%[2]s%[4]s RENAME TO %[2]s;
			ALTER INDEX %[1]s.%[3]s%[4]s RENAME TO %[3]s;
			COMMENT ON TABLE %[1]s.%[2]s IS '%[5]s';`, Schema, t.table, t.index, unfinished, m)
	}
	if err := exec(ctx, control.PgConn(), sql); err != nil {
		return fmt.Errorf("putting the tables in place: %w", err)
	}
	return nil
}

// during runs work and calls look every now and then until it has ended, and
// once more then; look is called by the calling goroutine.
func during(look func(), work func() error) error {
	done := make(chan error, 1)
	go func() { done <- work() }()
	look()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			look()
			return err
		case <-tick.C:
			look()
		}
	}
}
