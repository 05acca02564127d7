package workload

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"pgtlb/probes"
)

const smallRows = 5000

func setup(t *testing.T, d Dataset, conns Connect) {
	t.Helper()
	if err := d.Setup(t.Context(), conns, nil); err != nil {
		t.Fatal(err)
	}
}

// files names the storage of the tables: it changes when they are made anew.
func files(t *testing.T, conn *pgx.Conn) string {
	t.Helper()
	return one(t, conn, `SELECT string_agg(c.relname || ' ' || c.oid || ' ' || c.relfilenode, ', ' ORDER BY c.relname)
		FROM pg_class c WHERE c.relnamespace = 'pgtlb'::regnamespace AND relkind IN ('r', 'i')`)
}

func testIdempotent(t *testing.T, s server) {
	conns := s.database(t)
	var phases []string
	progress := func(p Progress) {
		if p.Total > 0 && p.Done > p.Total {
			t.Errorf("%s: %d of %d done", p.Phase, p.Done, p.Total)
		}
		if len(phases) == 0 || phases[len(phases)-1] != p.Phase {
			phases = append(phases, p.Phase)
		}
	}
	d := Dataset{Rows: smallRows, Seed: 7}
	if err := d.Setup(t.Context(), conns, progress); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(phases, " "); got != "load index analyze" {
		t.Errorf("phases %q", got)
	}
	conn := open(t, conns)
	before := files(t, conn)
	var last Progress
	if err := d.Setup(t.Context(), conns, func(p Progress) { last = p }); err != nil {
		t.Fatal(err)
	}
	if after := files(t, conn); after != before {
		t.Errorf("the second set-up changed the tables: %s, then %s", before, after)
	}
	if !strings.HasPrefix(last.Detail, "found") || last.Done != smallRows {
		t.Errorf("last progress %+v", last)
	}
}

func testTables(t *testing.T, s server) {
	conns := s.database(t)
	setup(t, Dataset{Rows: smallRows, Seed: 7}, conns)
	conn := open(t, conns)
	for _, check := range []struct{ sql, want string }{
		{`SELECT relpersistence::text || ' ' || reloptions::text FROM pg_class WHERE oid = 'pgtlb.test_hp_table'::regclass`, "u {autovacuum_enabled=false}"},
		{`SELECT string_agg(attname || ' ' || format_type(atttypid, -1), ', ' ORDER BY attnum) FROM pg_attribute
			WHERE attrelid = 'pgtlb.test_hp_table'::regclass AND attnum > 0`,
			"id bigint, col1 bigint, col2 bigint, col3 bigint, col4 bigint, col5 bigint, col6 bigint, col7 bigint, col8 bigint, col9 bigint"},
		{`SELECT indisunique || ' ' || indisvalid FROM pg_index WHERE indexrelid = 'pgtlb.idx_test_hp_id'::regclass`, "true true"},
		{`SELECT indisunique || ' ' || indisvalid FROM pg_index WHERE indexrelid = 'pgtlb.idx_test_hp_cat_id'::regclass`, "true true"},
		{`SELECT count(*) || ' ' || count(DISTINCT id) || ' ' || min(id) || ' ' || max(id) FROM pgtlb.test_hp_table`, "5000 5000 1 5000"},
		{`SELECT (min(least(col1, col2, col3, col4, col5, col6, col7, col8, col9)) >= 0)::text FROM pgtlb.test_hp_table`, "true"},
		{`SELECT (max(col9) > 9e18 AND avg(col1) BETWEEN 4.4e18 AND 4.8e18)::text FROM pgtlb.test_hp_table`, "true"},
		{`SELECT count(*) || ' ' || min(cat_id) || ' ' || max(cat_id) || ' ' || count(DISTINCT category_name) FROM pgtlb.test_hp_categories`, "100000 1 100000 100000"},
		{`SELECT reltuples::bigint::text FROM pg_class WHERE oid = 'pgtlb.test_hp_table'::regclass`, "5000"},
		{`SELECT count(*)::text FROM pg_class WHERE relname LIKE '%unfinished'`, "0"},
	} {
		if got := one(t, conn, check.sql); got != check.want {
			t.Errorf("%s\ngives %s, want %s", check.sql, got, check.want)
		}
	}
}

func testChangesNoticed(t *testing.T, s server) {
	conns := s.database(t)
	conn := open(t, conns)
	setup(t, Dataset{Rows: smallRows, Seed: 7}, conns)
	for _, step := range []struct {
		name   string
		d      Dataset
		change string // SQL done before
		why    string
	}{
		{"seed", Dataset{Rows: smallRows, Seed: 8}, "", "seed 7 instead of 8"},
		{"rows", Dataset{Rows: 600, Seed: 8}, "", "5,000 rows instead of 600"},
		{"emptied", Dataset{Rows: 600, Seed: 8}, "TRUNCATE pgtlb.test_hp_table", "lost or changed rows"},
		{"altered", Dataset{Rows: 600, Seed: 8}, "UPDATE pgtlb.test_hp_table SET col9 = col9 + 1 WHERE id = 600", "lost or changed rows"},
		{"categories dropped", Dataset{Rows: 600, Seed: 8}, "DROP TABLE pgtlb.test_hp_categories", dataTable},
		{"definition", Dataset{Rows: 600, Seed: 8}, `COMMENT ON TABLE pgtlb.test_hp_table IS 'pgtlb dataset: definition 0, seed 8, rows 600, fingerprint x';
			COMMENT ON TABLE pgtlb.test_hp_categories IS 'pgtlb dataset: definition 0, seed 8, rows 600, fingerprint x'`, "another version"},
	} {
		t.Run(step.name, func(t *testing.T) {
			if step.change != "" {
				mustRun(t, conn, step.change)
			}
			var first string
			err := step.d.Setup(t.Context(), conns, func(p Progress) {
				if first == "" {
					first = p.Detail
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(first, step.why) {
				t.Errorf("progress says %q, not %q", first, step.why)
			}
			if got, err := step.d.Fingerprint(t.Context(), conn); err != nil || got != step.d.expected() {
				t.Errorf("fingerprint %s, %v; want %s", got, err, step.d.expected())
			}
		})
	}
}

func testFingerprint(t *testing.T, s server) {
	read := func(d Dataset) string {
		conns := s.database(t)
		setup(t, d, conns)
		f, err := Dataset{}.Fingerprint(t.Context(), open(t, conns))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	a, b, c := read(Dataset{3000, 1}), read(Dataset{3000, 1}), read(Dataset{3000, 2})
	if a != b || a == c {
		t.Errorf("seed 1: %s, seed 1: %s, seed 2: %s", a, b, c)
	}
	if want := (Dataset{3000, 1}).expected(); a != want {
		t.Errorf("read %s, want %s", a, want)
	}
}

func testForeignKept(t *testing.T, s server) {
	d := Dataset{Rows: 100, Seed: 1}
	t.Run("table", func(t *testing.T) {
		conns := s.database(t)
		conn := open(t, conns)
		setup(t, d, conns)
		mustRun(t, conn, "DROP TABLE pgtlb.test_hp_table; CREATE TABLE pgtlb.test_hp_table AS SELECT 1 AS mine")
		if err := d.Setup(t.Context(), conns, nil); err == nil || !strings.Contains(err.Error(), "does not carry pgtlb's mark") {
			t.Errorf("error %v", err)
		}
		if got := one(t, conn, "SELECT mine::text FROM pgtlb.test_hp_table"); got != "1" {
			t.Errorf("the table holds %q", got)
		}
	})
	t.Run("unfinished table", func(t *testing.T) {
		conns := s.database(t)
		conn := open(t, conns)
		setup(t, d, conns)
		mustRun(t, conn, "CREATE TABLE pgtlb.test_hp_table_unfinished AS SELECT 1 AS mine")
		if err := d.Setup(t.Context(), conns, nil); err == nil || !strings.Contains(err.Error(), "does not carry pgtlb's mark") {
			t.Errorf("error %v", err)
		}
		if got := one(t, conn, "SELECT mine::text FROM pgtlb.test_hp_table_unfinished"); got != "1" {
			t.Errorf("the table holds %q", got)
		}
	})
	t.Run("schema", func(t *testing.T) {
		conns := s.database(t)
		conn := open(t, conns)
		mustRun(t, conn, "CREATE SCHEMA pgtlb")
		if err := d.Setup(t.Context(), conns, nil); err == nil || !strings.Contains(err.Error(), "did not make") {
			t.Errorf("error %v", err)
		}
		if got := one(t, conn, "SELECT count(*)::text FROM pg_class WHERE relnamespace = 'pgtlb'::regnamespace"); got != "0" {
			t.Errorf("%s relations in the schema", got)
		}
	})
}

// testCancelledSetup cancels in each phase, in an empty database and in one that
// holds older data.
func testCancelledSetup(t *testing.T, s server) {
	// Only the load is looked at again and again, and has to last for a while.
	for phase, rows := range map[string]int64{"load": 1_000_000, "index": 10_000, "analyze": 10_000} {
		t.Run(phase, func(t *testing.T) {
			conns := s.database(t)
			conn := open(t, conns)
			cancelled := func() {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				err := Dataset{Rows: rows, Seed: 2}.Setup(ctx, conns, func(p Progress) {
					if p.Phase == phase && (phase != "load" || p.Done > 0) && (phase != "index" || strings.HasPrefix(p.Detail, dataIndex)) {
						cancel()
					}
				})
				if !errors.Is(err, context.Canceled) {
					t.Errorf("error %v", err)
				}
			}
			cancelled()
			if got := one(t, conn, "SELECT count(*)::text FROM pg_class WHERE relnamespace = 'pgtlb'::regnamespace"); got != "0" {
				t.Errorf("%s relations are left", got)
			}
			setup(t, Dataset{Rows: 500, Seed: 1}, conns)
			before := files(t, conn)
			cancelled()
			if after := files(t, conn); after != before {
				t.Errorf("the old tables changed: %s, then %s", before, after)
			}
		})
	}
}

func testUnfinishedRemoved(t *testing.T, s server) {
	conns := s.database(t)
	conn := open(t, conns)
	d := Dataset{Rows: 500, Seed: 1}
	setup(t, d, conns)
	if err := d.createTables(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	setup(t, d, conns)
	if got := one(t, conn, "SELECT count(*)::text FROM pg_class WHERE relname LIKE '%unfinished'"); got != "0" {
		t.Errorf("%s unfinished tables are left", got)
	}
}

func testTwoSetups(t *testing.T, s server) {
	conns := s.database(t)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := (Dataset{Rows: smallRows, Seed: 3}).Setup(t.Context(), conns, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func testSize(t *testing.T, s server) {
	conns := s.database(t)
	conn := open(t, conns)
	if _, err := Size(t.Context(), conn); !errors.Is(err, ErrNoData) {
		t.Errorf("error %v before set-up", err)
	}
	d := Dataset{Rows: 100_000, Seed: 1}
	setup(t, d, conns)
	size, err := Size(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	if size.Rows != d.Rows || size.Seed != d.Seed || size.Fingerprint != d.expected() || size.SharedBuffers != 256<<20 || !size.Fits() {
		t.Errorf("size %+v", size)
	}
	// 108 bytes a row and 20 an index entry, and the categories.
	if size.TableBytes < 15<<20 || size.TableBytes > 20<<20 || size.IndexBytes < 4<<20 || size.IndexBytes > 6<<20 {
		t.Errorf("size %+v", size)
	}
}

func testPrewarm(t *testing.T, s server) {
	conns := s.database(t)
	if _, err := Prewarm(t.Context(), conns, []Data{Dataset{}}, nil); !errors.Is(err, ErrNoData) {
		t.Errorf("error %v without a dataset", err)
	}
	setup(t, Dataset{Rows: 300_000, Seed: 1}, conns)
	for range 2 {
		var last Progress
		r, err := Prewarm(t.Context(), conns, []Data{Dataset{}}, func(p Progress) { last = p })
		if err != nil {
			t.Fatal(err)
		}
		if r.Percent() != 100 || r.Known != "pg_buffercache" || r.Blocks < 4000 {
			t.Errorf("residency %+v", r)
		}
		if last.Phase != "prewarm" || last.Done != r.Blocks || last.Total != r.Blocks {
			t.Errorf("last progress %+v", last)
		}
	}
}

func testPrewarmUnavailable(t *testing.T, s server) {
	conns := s.database(t)
	conn := open(t, conns)
	setup(t, Dataset{Rows: 100, Seed: 1}, conns)
	mustRun(t, conn, "DROP ROLE IF EXISTS plain; CREATE ROLE plain; GRANT USAGE ON SCHEMA pgtlb TO plain; GRANT SELECT ON ALL TABLES IN SCHEMA pgtlb TO plain")
	plain := func(ctx context.Context) (*pgx.Conn, error) {
		c, err := conns(ctx)
		if err == nil {
			_, err = c.Exec(ctx, "SET SESSION AUTHORIZATION plain")
		}
		return c, err
	}
	_, err := Prewarm(t.Context(), plain, []Data{Dataset{}}, nil)
	var why *probes.Unavailable
	if !errors.As(err, &why) || why.What != "pg_prewarm" || why.Reason == "" || why.Remedy == "" {
		t.Errorf("error %v", err)
	}
	mustRun(t, conn, "CREATE EXTENSION pg_prewarm")
	r, err := Prewarm(t.Context(), plain, []Data{Dataset{}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(r.Known, "at most") || r.Percent() != 100 {
		t.Errorf("residency %+v", r)
	}
}
