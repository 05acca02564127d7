package workload

import (
	"slices"
	"strings"
	"testing"
)

func testCleanup(t *testing.T, s server) {
	conns := s.database(t)
	conn := open(t, conns)
	clean := func() (gone, kept []string) {
		t.Helper()
		listed, err := Marked(t.Context(), conn)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		err = Cleanup(t.Context(), conn, func(o Object) {
			n++
			if o.Kept != "" {
				kept = append(kept, o.String()+": "+o.Kept)
			} else {
				gone = append(gone, o.String())
			}
		})
		if err != nil || n != len(listed) {
			t.Errorf("%d objects listed, %d reported, %v", len(listed), n, err)
		}
		slices.Sort(kept)
		return gone, kept
	}
	role := "role pgtlb_reader" // other tests' databases may need it
	isRole := func(s string) bool { return strings.HasPrefix(s, role) }
	mine := func(list []string) string { return strings.Join(slices.DeleteFunc(list, isRole), "; ") }

	if gone, kept := clean(); mine(gone) != "" || mine(kept) != "" {
		t.Errorf("an empty database: gone %v, kept %v", gone, kept)
	}
	for _, scenario := range []Scenario{PointSelect(), Commit(), RowSecurity()} {
		if err := scenario.Setup(t.Context(), conns, smallValues(t, scenario), nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Prewarm(t.Context(), conns, []Data{Dataset{}}, nil); err != nil {
		t.Fatal(err)
	}
	mustRun(t, conn, `CREATE TABLE pgtlb.mine (id serial PRIMARY KEY);
		CREATE FUNCTION pgtlb.f() RETURNS int LANGUAGE sql AS 'SELECT 1';
		CREATE TYPE pgtlb.mood AS ENUM ('ok');
		CREATE VIEW public.uses AS SELECT balance FROM pgtlb.commit_account;
		COMMENT ON VIEW public.uses IS 'pgtlb is used here';
		CREATE TABLE public."Marked one" (); COMMENT ON TABLE public."Marked one" IS 'pgtlb other: x';
		CREATE TABLE public.mine ()`)
	gone, kept := clean()
	if want := `table pgtlb.row_security_document; table pgtlb.row_security_grant; table pgtlb.test_hp_categories; table pgtlb.test_hp_table; ` +
		`table public."Marked one"; extension pg_buffercache; extension pg_prewarm`; sortedWords(mine(gone)) != sortedWords(want) {
		t.Errorf("gone %s", mine(gone))
	}
	const why = ": it does not carry pgtlb's mark"
	if want := "function pgtlb.f()" + why + "; schema pgtlb: it holds what pgtlb did not make; " +
		"table pgtlb.commit_account: cannot drop table pgtlb.commit_account because other objects depend on it view uses depends on table pgtlb.commit_account; " +
		"table pgtlb.mine" + why + "; type pgtlb.mood" + why; mine(kept) != want {
		t.Errorf("kept %s", mine(kept))
	}
	if got := one(t, conn, "SELECT concat_ws(' ', to_regclass('pgtlb.mine'), to_regclass('public.mine'), to_regclass('uses'), pgtlb.f(), 'ok'::pgtlb.mood)"); got != "pgtlb.mine mine uses 1 ok" {
		t.Errorf("left: %s", got)
	}
	mustRun(t, conn, "DROP VIEW uses; DROP TABLE pgtlb.mine; DROP FUNCTION pgtlb.f(); DROP TYPE pgtlb.mood")
	if gone, kept := clean(); mine(gone) != "table pgtlb.commit_account; schema pgtlb" || mine(kept) != "" {
		t.Errorf("then gone %v, kept %v", gone, kept)
	}
	if gone, kept := clean(); mine(gone) != "" || mine(kept) != "" {
		t.Errorf("once more: gone %v, kept %v", gone, kept)
	}

	// A schema of another is not looked upon as pgtlb's.
	mustRun(t, conn, "CREATE SCHEMA pgtlb; CREATE EXTENSION IF NOT EXISTS pg_prewarm")
	if gone, kept := clean(); mine(gone) != "" || mine(kept) != "schema pgtlb"+why {
		t.Errorf("foreign schema: gone %v, kept %v", gone, kept)
	}
}

func sortedWords(list string) string {
	words := strings.Split(list, "; ")
	slices.Sort(words)
	return strings.Join(words, "; ")
}

// testRoleInUse keeps the role while another database needs it.
func testRoleInUse(t *testing.T, s server) {
	here, there := s.database(t), s.database(t)
	scenario := RowSecurity()
	for _, conns := range []Connect{here, there} {
		if err := scenario.Setup(t.Context(), conns, smallValues(t, scenario), nil); err != nil {
			t.Fatal(err)
		}
	}
	conn := open(t, here)
	var role Object
	if err := Cleanup(t.Context(), conn, func(o Object) {
		if o.Kind == "role" {
			role = o
		}
	}); err != nil {
		t.Fatal(err)
	}
	name := one(t, open(t, there), "SELECT current_database()")
	if !strings.HasPrefix(role.Kept, "objects in other databases need it: ") || !strings.Contains(role.Kept, name) {
		t.Errorf("role %+v, needed by %s", role, name)
	}
}

func testRoom(t *testing.T, s server) {
	conns := s.database(t)
	conn := open(t, conns)
	c, err := Room(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	if c.Max < 50 || c.Superusers != 3 || c.Reserved != 0 || c.InUse < 1 || c.Free != c.Max-3-c.InUse || c.Limit != "" || c.Check(c.Free-OwnSessions) != nil {
		t.Errorf("room %+v", c)
	}
	if err := c.Check(c.Free - OwnSessions + 1); err == nil || !strings.Contains(err.Error(), "3 are reserved for superusers") {
		t.Errorf("error %v", err)
	}
	open(t, conns)
	more, err := Room(t.Context(), conn)
	if err != nil || more.InUse != c.InUse+1 {
		t.Errorf("room %+v after %+v, %v", more, c, err)
	}
	mustRun(t, conn, "DROP ROLE IF EXISTS narrow; CREATE ROLE narrow CONNECTION LIMIT 5; SET SESSION AUTHORIZATION narrow")
	c, err = Room(t.Context(), conn)
	if want := "9 clients do not fit, there is room for 2 and 3 sessions of pgtlb's own: role narrow has CONNECTION LIMIT 5, 0 of them in use; raise it or use fewer clients"; err != nil ||
		c.Free != 5 || c.Check(9) == nil || c.Check(9).Error() != want {
		t.Errorf("room %+v, %v, %v", c, err, c.Check(9))
	}
	mustRun(t, conn, "RESET SESSION AUTHORIZATION; DROP ROLE narrow")
}
