package workload

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestMakes(t *testing.T) {
	const tables, extensions, role = "its tables in schema pgtlb", "extensions pg_prewarm and pg_buffercache in schema pgtlb", "role pgtlb_reader"
	for _, s := range List() {
		got := strings.Join(s.Makes(smallValues(t, s)), "; ")
		for _, want := range []string{tables, extensions} {
			if !strings.Contains(got, want) {
				t.Errorf("%s makes %q, without %q", s.Name, got, want)
			}
		}
		if strings.Contains(got, role) != (s.Name == "row-security") {
			t.Errorf("%s makes %q", s.Name, got)
		}
	}
	if got := (Scenario{}).Makes(nil); got != nil {
		t.Errorf("without data: %q", got)
	}
}

// testMayMake: a conflict is told before anything is made, with what to do, and
// what is told is what Setup meets.
func testMayMake(t *testing.T, s server) {
	owner := s.database(t)
	conn := open(t, owner)
	user := "u" + one(t, conn, "SELECT current_database()")
	mustRun(t, conn, "CREATE ROLE "+user)
	t.Cleanup(func() {
		if err := exec(context.Background(), conn.PgConn(), "DROP OWNED BY "+user+"; DROP ROLE "+user); err != nil {
			t.Error(err)
		}
	})
	check := func(c *pgx.Conn, sc Scenario, want string) {
		t.Helper()
		err := sc.MayMake(t.Context(), c, smallValues(t, sc))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", sc.Name, err, want)
		}
	}
	few := open(t, owner)
	mustRun(t, few, "SET ROLE "+user)
	for _, sc := range List() {
		check(conn, sc, "")
		check(few, sc, "user "+user+" may not create schema pgtlb in database")
	}
	if made := one(t, conn, "SELECT count(*)::text FROM pg_namespace WHERE nspname = 'pgtlb'"); made != "0" {
		t.Error("looking made the schema")
	}
	if err := PointSelect().Setup(t.Context(), owner, smallValues(t, PointSelect()), nil); err != nil {
		t.Fatal(err)
	}
	check(few, PointSelect(), "") // all is there
	check(few, Commit(), "may not create tables in schema pgtlb, which another user made: have that user or a superuser run GRANT CREATE")
	mustRun(t, conn, "GRANT CREATE, USAGE ON SCHEMA pgtlb TO "+user)
	check(few, Commit(), "")
	if one(t, conn, "SELECT count(*)::text FROM pg_roles WHERE rolname = 'pgtlb_reader'") == "0" {
		check(few, RowSecurity(), "CREATEROLE")
	}
	mustRun(t, conn, "COMMENT ON SCHEMA pgtlb IS 'mine'")
	for _, sc := range List() {
		check(conn, sc, "schema pgtlb that pgtlb did not make")
	}
	if err := PointSelect().Setup(t.Context(), owner, smallValues(t, PointSelect()), nil); err == nil || !strings.Contains(err.Error(), "that pgtlb did not make") {
		t.Errorf("set-up in a schema of another: %v", err)
	}
}
