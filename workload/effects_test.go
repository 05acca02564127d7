package workload

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// ran sets a scenario up and runs a few transactions of one client.
func ran(t *testing.T, conns Connect, scenario Scenario, v Values, transactions int64) Result {
	t.Helper()
	full, err := scenario.Resolve(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := scenario.Setup(t.Context(), conns, full, nil); err != nil {
		t.Fatal(err)
	}
	res, err := NewRunner(NewMeter("x")).Run(t.Context(), Load{Scenario: scenario, Values: full, Clients: 1, Transactions: transactions, Seed: 1, Connect: conns})
	if err != nil || res.Transactions != transactions {
		t.Fatalf("result %+v, %v", res, err)
	}
	return res
}

func testPlanningApart(t *testing.T, s server) {
	conns := s.database(t)
	commands := ran(t, conns, Planning(), Values{"tables": 14}, 20).Scripts[0].Commands
	if len(commands) != 3 || commands[1].Title != "EXPLAIN (COSTS OFF) SELECT -- plan only" || commands[2].Title != "SELECT -- run the kept plan" ||
		commands[1].Took.Count != 20 || commands[2].Took.Count != 20 || commands[1].Took.Mean() <= 0 || commands[2].Took.Mean() <= 0 {
		t.Errorf("commands %+v", commands)
	}
	// The join finds one row for each id, whatever the number of tables.
	conn := open(t, conns)
	mustRun(t, conn, useSchema)
	for _, tables := range []int64{12, 20} {
		_, sql, _ := strings.Cut(planningScript(tables), "-- run the kept plan\n")
		if got := one(t, conn, "SELECT count::text FROM (SELECT "+strings.TrimSuffix(strings.ReplaceAll(sql, ":id", "17"), ";\n")+") x"); got != "1" {
			t.Errorf("%d tables: %s rows", tables, got)
		}
	}
	t.Logf("planning %v, running %v", commands[1].Took.Mean(), commands[2].Took.Mean())
}

// filesOf reads the temporary files and bytes of the database; the statistics of
// sessions that have ended are all there.
func filesOf(t *testing.T, conn *pgx.Conn) (n, bytes int64) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), "SELECT temp_files, temp_bytes FROM pg_stat_database WHERE datname = current_database()").Scan(&n, &bytes); err != nil {
		t.Fatal(err)
	}
	return n, bytes
}

func testReportFiles(t *testing.T, s server) {
	conns := s.database(t)
	conn := open(t, conns)
	v := Values{"rows": 50_000, "report_rows": 50_000, "work_mem_kb": 1 << 20}
	ran(t, conns, Report(), v, 1)
	waitGone(t, conn)
	before, _ := filesOf(t, conn)
	ran(t, conns, Report(), v, 2)
	waitGone(t, conn)
	if n, _ := filesOf(t, conn); n != before {
		t.Errorf("%d temporary files with enough work_mem", n-before)
	}
	v["work_mem_kb"] = 256
	ran(t, conns, Report(), v, 2)
	waitGone(t, conn)
	if n, bytes := filesOf(t, conn); n-before < 2 || bytes < 1<<20 {
		t.Errorf("%d temporary files, %d bytes with little work_mem", n-before, bytes)
	}
}

// waitGone waits until the other sessions of the database have ended and
// reported what they did, and forgets what this one has seen of it.
func waitGone(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	for one(t, conn, "SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()") != "0" {
		if t.Context().Err() != nil {
			t.Fatal("sessions stay")
		}
		time.Sleep(10 * time.Millisecond)
	}
	// Before version 15 a process of its own takes the reports.
	if major, _ := strconv.Atoi(one(t, conn, "SELECT current_setting('server_version_num')")); major < 150000 {
		mustRun(t, conn, "SELECT pg_sleep(0.6)")
	}
	mustRun(t, conn, "SELECT pg_stat_clear_snapshot()")
}

func testRowSecurity(t *testing.T, s server) {
	conns := s.database(t)
	conn := open(t, conns)
	all := "SELECT count(*) || ' ' || count(*) FILTER (WHERE tenant = 100) FROM pgtlb.row_security_document"
	for policies, want := range map[int64]string{0: "2000 16", 1: "1984 0", 8: "1984 0"} {
		ran(t, conns, RowSecurity(), Values{"documents": 2000, "policies": policies}, 20)
		if got := one(t, conn, all); got != "2000 16" {
			t.Errorf("the owner sees %s", got)
		}
		mustRun(t, conn, "SET ROLE pgtlb_reader")
		if got := one(t, conn, all); got != want {
			t.Errorf("%d policies: the reader sees %s, want %s", policies, got, want)
		}
		mustRun(t, conn, "RESET ROLE")
	}
	// The last policy alone hides a row too.
	mustRun(t, conn, "DELETE FROM pgtlb.row_security_grant WHERE area = 8 AND tenant = 7")
	ran(t, conns, RowSecurity(), Values{"documents": 2000, "policies": 8}, 1)
	mustRun(t, conn, "DELETE FROM pgtlb.row_security_grant WHERE area = 8 AND tenant = 7; SET ROLE pgtlb_reader")
	if got := one(t, conn, "SELECT count(*)::text FROM pgtlb.row_security_document WHERE tenant = 7"); got != "0" {
		t.Errorf("%s rows of a tenant without a grant", got)
	}
	mustRun(t, conn, "RESET ROLE")
}

// testReaderRole is about the role: foreign ones, and users without CREATEROLE.
func testReaderRole(t *testing.T, s server) {
	conns := s.database(t)
	conn := open(t, conns)
	scenario := RowSecurity()
	v := smallValues(t, scenario)
	mustRun(t, conn, "DROP ROLE IF EXISTS maker; CREATE ROLE maker; GRANT CREATE ON DATABASE "+one(t, conn, "SELECT current_database()")+" TO maker")
	as := func(ctx context.Context) (*pgx.Conn, error) {
		c, err := conns(ctx)
		if err == nil {
			_, err = c.Exec(ctx, "SET SESSION AUTHORIZATION maker")
		}
		return c, err
	}
	// Other tests' databases may hold grants to the role.
	if one(t, conn, "SELECT count(*)::text FROM pg_roles WHERE rolname = 'pgtlb_reader'") == "1" {
		mustRun(t, conn, "ALTER ROLE pgtlb_reader RENAME TO pgtlb_reader_aside")
		defer mustRun(t, conn, "ALTER ROLE pgtlb_reader_aside RENAME TO pgtlb_reader")
	}

	err := scenario.Setup(t.Context(), as, v, nil)
	if err == nil || !strings.Contains(err.Error(), "row-security needs a role and the right to make it, CREATEROLE") {
		t.Errorf("without CREATEROLE: %v", err)
	}
	mustRun(t, conn, "CREATE ROLE pgtlb_reader")
	if err := scenario.Setup(t.Context(), conns, v, nil); err == nil || !strings.Contains(err.Error(), "a role pgtlb_reader that pgtlb did not make") {
		t.Errorf("a role without the mark: %v", err)
	}
	mustRun(t, conn, "DROP ROLE pgtlb_reader; ALTER ROLE maker CREATEROLE")
	full, err := scenario.Resolve(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := scenario.Setup(t.Context(), as, full, nil); err != nil {
		t.Fatal(err)
	}
	res, err := NewRunner(NewMeter("x")).Run(t.Context(), Load{Scenario: scenario, Values: full, Clients: 1, Transactions: 5, Connect: as})
	if err != nil || res.Transactions != 5 {
		t.Errorf("result %+v, %v", res, err)
	}
	if err := Cleanup(t.Context(), conn, func(o Object) {
		if o.Kept != "" {
			t.Errorf("%+v is kept", o)
		}
	}); err != nil {
		t.Error(err)
	}
	mustRun(t, conn, "REVOKE CREATE ON DATABASE "+one(t, conn, "SELECT current_database()")+" FROM maker; DROP ROLE maker")
}

// testIdleTouches looks at what the first transactions of a session read.
func testIdleTouches(t *testing.T, s server) {
	conns := s.database(t)
	conn := open(t, conns)
	const rows, slices = 60_000, 7
	setup(t, Dataset{Rows: rows, Seed: 1}, conns)
	mustRun(t, conn, useSchema)
	_, sql, _ := strings.Cut(idleCrowdScript(rows, slices), "SELECT count(t.col1) ")
	sql, _, _ = strings.Cut(sql, ";")
	sql = "SELECT (ctid::text::point)[0]::bigint " + strings.Replace(sql, "SELECT col1", "SELECT ctid", 1)
	const step = (rows + slices - 1) / slices
	var parts []string
	for i := range slices {
		part := strings.ReplaceAll(sql, ":first", strconv.Itoa(1+i*step))
		parts = append(parts, strings.ReplaceAll(part, ":last", strconv.Itoa(min(rows, (i+1)*step))))
	}
	// The loaders may leave whole pieces empty, and one with a few rows at their ends.
	var missed, all int64
	err := conn.QueryRow(t.Context(), `WITH filled AS (SELECT (ctid::text::point)[0]::bigint / 8 AS piece, count(*) AS n FROM test_hp_table GROUP BY 1)
		SELECT count(*) FILTER (WHERE n > 256 AND piece NOT IN (SELECT b / 8 FROM (`+strings.Join(parts, " UNION ALL ")+`) AS touched (b))), count(*) FROM filled`).
		Scan(&missed, &all)
	if err != nil || missed != 0 || all < 50 {
		t.Errorf("%d of %d pieces of 64 kB are not touched, %v", missed, all, err)
	}

	// And then it idles.
	res := ran(t, conns, IdleCrowd(), Values{"rows": rows, "slices": slices, "pause": 1}, slices+1)
	if res.Latency.MaxMS() < 1000 || res.Latency.QuantileMS(0.5) >= 1000 {
		t.Errorf("half of the transactions took %v ms, the longest %v", res.Latency.QuantileMS(0.5), res.Latency.MaxMS())
	}
}
