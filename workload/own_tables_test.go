package workload

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

func testOwnTables(t *testing.T, s server) {
	conns := s.database(t)
	conn := open(t, conns)
	setUp := func(o ownTables) (first string) {
		t.Helper()
		err := o.Setup(t.Context(), conns, func(p Progress) {
			if p.Total > 0 && p.Done > p.Total {
				t.Errorf("%s: %d of %d done", p.Phase, p.Done, p.Total)
			}
			if first == "" {
				first = p.Detail
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := one(t, conn, "SELECT string_agg(DISTINCT obj_description(oid, 'pg_class'), ';') FROM pg_class WHERE relname LIKE 'commit%' AND relkind = 'r'"); !strings.HasPrefix(got, markPrefix) {
			t.Errorf("mark %q", got)
		}
		return first
	}
	const rows = "SELECT count(*)::text FROM pgtlb.commit_account"
	setUp(commitTables(1000))
	mustRun(t, conn, "UPDATE pgtlb.commit_account SET balance = 7")
	if first := setUp(commitTables(1000)); !strings.HasPrefix(first, "found 1,000 rows") {
		t.Errorf("the balance matters: %q", first)
	}
	for _, step := range []struct{ change, why string }{
		{"DELETE FROM pgtlb.commit_account WHERE id = 5", "lost or changed rows"},
		{"UPDATE pgtlb.commit_account SET filler = '' WHERE id = 5", "lost or changed rows"},
		{"ALTER TABLE pgtlb.commit_account DROP COLUMN filler", "were altered"},
		{"COMMENT ON TABLE pgtlb.commit_account IS 'pgtlb tables of commit: definition 0, accounts 1000, fingerprint x'", "instead of"},
	} {
		mustRun(t, conn, step.change)
		if first := setUp(commitTables(1000)); !strings.Contains(first, step.why) {
			t.Errorf("%s: %q", step.change, first)
		}
	}
	if first := setUp(commitTables(200)); !strings.Contains(first, `accounts 1000" instead of`) || one(t, conn, rows) != "200" {
		t.Errorf("%q", first)
	}

	// Cancelled or failing, a set-up leaves what was there.
	before := files(t, conn)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := commitTables(500_000).Setup(ctx, conns, func(p Progress) {
		if p.Phase == "load" && p.Done > 0 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || files(t, conn) != before {
		t.Errorf("cancelled: %v, %s, before %s", err, files(t, conn), before)
	}
	broken := commitTables(100)
	broken.tables[0].after = []string{"ALTER TABLE nowhere ADD x int"}
	if err := broken.Setup(t.Context(), conns, nil); err == nil || !strings.Contains(err.Error(), `making table pgtlb.commit_account: ERROR: relation "nowhere"`) ||
		files(t, conn) != before {
		t.Errorf("failing: %v, %s, before %s", err, files(t, conn), before)
	}

	mustRun(t, conn, "COMMENT ON TABLE pgtlb.commit_account IS 'mine'")
	if err := commitTables(100).Setup(t.Context(), conns, nil); err == nil || !strings.Contains(err.Error(), "does not carry pgtlb's mark") || one(t, conn, rows) != "200" {
		t.Errorf("a table without the mark: %v", err)
	}
}

// testSameEverywhere pins what own tables hold on every version.
func testSameEverywhere(t *testing.T, s server) {
	conns := s.database(t)
	for name, want := range map[string]string{
		"sbtest-read-write": "596ad3cb7dba7120", "planning": "2e3ac017adfc201c", "single-session": "fe38bc55b66d1f74",
		"commit": "04f76be71910e500", "row-security": "73eebd9d0c8367e4",
	} {
		scenario, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		v := smallValues(t, scenario)
		if err := scenario.Setup(t.Context(), conns, v, nil); err != nil {
			t.Fatal(err)
		}
		if got, err := scenario.Fingerprint(t.Context(), conns, v); err != nil || got != want {
			t.Errorf("%s: fingerprint %s, %v; want %s. Raise the definition where the content changes", name, got, err, want)
		}
	}
}

func testEstimate(t *testing.T, s server) {
	conns := s.database(t)
	conn := open(t, conns)
	for _, scenario := range []Scenario{PointSelect(), SbtestReadOnly(), Commit(), SingleSession(), RowSecurity(), Planning()} {
		v, err := scenario.Resolve(scenario.Own(Values{"rows": 30_000, "documents": 5_000, "table_size": 10_000, "accounts": 10_000}))
		if err != nil {
			t.Fatal(err)
		}
		if err := scenario.Setup(t.Context(), conns, v, nil); err != nil {
			t.Fatal(err)
		}
		var is int64
		for _, d := range scenario.Needs(v) {
			names, err := d.Relations(t.Context(), conn)
			if err != nil {
				t.Fatal(err)
			}
			var n int64
			if err := conn.QueryRow(t.Context(), "SELECT sum(pg_relation_size(n::regclass))::bigint FROM unnest($1::text[]) n", names).Scan(&n); err != nil {
				t.Fatal(err)
			}
			is += n
		}
		if about := scenario.Estimate(v); float64(about) < 0.9*float64(is) || float64(about) > 1.1*float64(is) {
			t.Errorf("%s takes %d bytes, estimated %d", scenario.Name, is, about)
		}
	}
}

// sysbenchTable is as oltp_common.lua of sysbench makes it on PostgreSQL.
func sysbenchTable(t *testing.T, conn *pgx.Conn, i string, rows string) {
	t.Helper()
	mustRun(t, conn, `CREATE TABLE sbtest`+i+`(id SERIAL, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id));
		INSERT INTO sbtest`+i+` (k, c, pad) SELECT 1, '###', '##' FROM generate_series(1, `+rows+`);
		CREATE INDEX k_`+i+` ON sbtest`+i+`(k)`)
}

func testSysbench(t *testing.T, s server) {
	conns := s.database(t)
	conn := open(t, conns)
	sysbenchTable(t, conn, "1", "3000")
	sysbenchTable(t, conn, "2", "3000")
	run := func(scenario Scenario, v Values) {
		t.Helper()
		if err := scenario.Setup(t.Context(), conns, v, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := scenario.Fingerprint(t.Context(), conns, v); err != nil {
			t.Fatal(err)
		}
		res, err := NewRunner(NewMeter("x")).Run(t.Context(), Load{Scenario: scenario, Values: v, Clients: 2, Transactions: 10, Connect: conns})
		if err != nil || res.Transactions+res.FailedBy["40P01"] != 20 {
			t.Errorf("result %+v, %v", res, err)
		}
	}
	const state = `SELECT string_agg(c.oid || ' ' || c.relfilenode || ' ' || coalesce(obj_description(c.oid, 'pg_class'), 'no comment'), ', ' ORDER BY c.oid)
		FROM pg_class c WHERE relname ~ '^(sbtest|k_)' AND relnamespace = 'public'::regnamespace`
	before := one(t, conn, state)
	fit, err := SbtestReadWrite().Resolve(Values{"tables": 2, "table_size": 3000, "range_size": 7})
	if err != nil {
		t.Fatal(err)
	}
	run(SbtestReadWrite(), fit)
	names, err := sbtestData(fit)[0].Relations(t.Context(), conn)
	if want := "public.sbtest1 public.k_1 public.sbtest1_pkey public.sbtest2 public.k_2 public.sbtest2_pkey"; err != nil || strings.Join(names, " ") != want {
		t.Errorf("relations %v, %v", names, err)
	}
	if after := one(t, conn, state); after != before {
		t.Errorf("sysbench's tables were %s, now %s", before, after)
	}
	if got := one(t, conn, "SELECT count(*) || ' ' || count(DISTINCT id) || ' ' || bool_or(c <> '###') || ' ' || bool_or(k <> 1) FROM sbtest1"); got != "3000 3000 true true" {
		t.Errorf("sbtest1 holds %s", got)
	}
	if got := one(t, conn, "SELECT string_agg(DISTINCT translate(c, '0123456789', '##########') || ' ' || translate(pad, '0123456789', '##########'), ';') FROM sbtest1 WHERE pad <> '##'"); got !=
		strings.Repeat("###########-", 9)+"########### "+strings.Repeat("###########-", 4)+"###########" {
		t.Errorf("texts %q", got)
	}
	if got := one(t, conn, "SELECT count(*)::text FROM pg_namespace WHERE nspname = 'pgtlb'"); got != "0" {
		t.Error("a schema was made for nothing")
	}

	// Too few rows, or not sysbench's columns: pgtlb's own.
	dml := one(t, conn, "SELECT sum(hashtextextended(t::text, 0))::text FROM sbtest1 t")
	more, _ := SbtestReadWrite().Resolve(Values{"tables": 2, "table_size": 3001})
	run(SbtestReadWrite(), more)
	if names, err = sbtestData(more)[0].Relations(t.Context(), conn); err != nil || names[0] != "pgtlb.sbtest1" {
		t.Errorf("relations %v, %v", names, err)
	}
	if got := one(t, conn, `SELECT translate(c, '0123456789', '##########') || length(c) FROM pgtlb.sbtest2 WHERE id = 3001`); got != strings.Repeat("###########-", 9)+"###########119" {
		t.Errorf("own text %q", got)
	}
	mustRun(t, conn, "ALTER TABLE sbtest2 RENAME COLUMN pad TO other")
	run(SbtestReadWrite(), fit)
	if names, err = sbtestData(fit)[0].Relations(t.Context(), conn); err != nil || names[0] != "pgtlb.sbtest1" {
		t.Errorf("relations %v, %v", names, err)
	}
	if got := one(t, conn, "SELECT sum(hashtextextended(t::text, 0))::text FROM sbtest1 t"); got != dml || one(t, conn, state) != before {
		t.Error("sysbench's tables were touched though they are not used")
	}
}
