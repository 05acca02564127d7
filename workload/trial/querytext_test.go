package trial

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestNormalized(t *testing.T) {
	for in, want := range map[string]string{
		"SELECT * FROM t WHERE id = 42":                                "SELECT * FROM t WHERE id = $1",
		"SELECT * FROM t WHERE id = $1;":                               "SELECT * FROM t WHERE id = $1",
		"select 'it''s', E'a\\n', U&'\\0061', x'1F', date'2026-01-01'": "select $1, $2, $3, $4, date$5",
		"SELECT -5, a - 5, a -5, 3e-7, .5, 0xFF, 1_000, 7abc, a1":      "SELECT -$1, a - $2, a -$3, $4, $5, $6, $7, $8, a1",
		"WHERE a = -5 AND b IN (-1, +2)":                               "WHERE a = $1 AND b IN ($2 /*, ... */)",
		"SELECT 'a'\n  'b'":                                            "SELECT $1",
		"DO $$ BEGIN PERFORM 'x'; END $$":                              "DO $1",
		"SELECT $fn$ it's $$ here $fn$, $1":                            "SELECT $1, $2",
		"SELECT a$b$c, \"Odd 'name'\" FROM t":                          "SELECT a$b$c, \"Odd 'name'\" FROM t",
		"SELECT /* user 7 /* nested ' */ */ 1 -- don't\n + 2":          "SELECT $1 + $2",
		"-- name: GetAuthor :one\nSELECT * FROM a WHERE id = 3":        "SELECT * FROM a WHERE id = $1",
		"SELECT 1 -- the 'end'":                                        "SELECT $1",
		"x IN ('a'::text, 'b'::text) AND y = ANY (ARRAY[1,2,3])":       "x IN ($1::text /*, ... */) AND y = ANY (ARRAY[$2 /*, ... */])",
		"INSERT INTO t VALUES (1, 'a'), (2, 'b'), ($3, $4)":            "INSERT INTO t VALUES ($1, $2) /*, (...) */",
		"SELECT f(1, 2), '{\"a\": 1}'::jsonb -> 'a' #- '{b}'":          "SELECT f($1, $2), $3::jsonb -> $4 #- $5",
		"CALL p(1, 2.)":            "CALL p($1, $2)",
		"":                         "",
		";":                        "",
		"<insufficient privilege>": "<insufficient privilege>",
		"autovacuum: VACUUM public.t (to prevent wraparound)": "autovacuum: VACUUM public.t (to prevent wraparound)",
		// What is cut, or cannot be told.
		"SELECT * FROM t WHERE name = 'hunter…": "SELECT * FROM t WHERE name =…",
		"SELECT * FROM t WHERE id = 4…":         "SELECT * FROM t WHERE id = $1…",
		"SELECT * FROM tab…":                    "SELECT * FROM tab…",
		"DO $x$ hunter2 $":                      "DO…",
		"SELECT 1 /* hunter2":                   "SELECT $1…",
		`SELECT "hunter2`:                       "SELECT…",
		`SELECT 'C:\', 'hunter2', a`:            "SELECT…",
		`SELECT E'it\'s hunter2', ' hunter2 '`:  "SELECT…",
		"SELECT 'a' 'never closed hunter2":      "SELECT $1…",
	} {
		if got := normalized(in).text; got != want {
			t.Errorf("%s\n gives %s\n  want %s", in, got, want)
		}
	}
}

func TestAlikeQueriesHaveOneKey(t *testing.T) {
	for _, group := range [][]string{
		{"SELECT * FROM t WHERE id = 1", "select *\n  from T where ID=$1;", "SELECT * FROM t WHERE id = -7", "SELECT * FROM t /* 4711 */ WHERE id = 'x'"},
		{"SELECT 1 WHERE a IN (1)", "SELECT 1 WHERE a IN (1, 2, 3)", "SELECT 1 WHERE a in ($1,$2)"},
		{"INSERT INTO t VALUES (1, 2)", "INSERT INTO t VALUES (1, 2), (3, 4)"},
	} {
		for _, q := range group[1:] {
			if a, b := normalized(group[0]).key, normalized(q).key; a != b {
				t.Errorf("%s and %s are not alike: %s, %s", group[0], q, a, b)
			}
		}
	}
	for _, pair := range [][2]string{
		{"SELECT a FROM t", "SELECT b FROM t"}, {`SELECT "A" FROM t`, `SELECT "a" FROM t`}, {"SELECT a FROM t", "SELECT a FROM t…"},
		{"SELECT f(1, 2)", "SELECT f(1)"}, {"SELECT 1 a", "SELECT a 1"},
	} {
		if normalized(pair[0]).key == normalized(pair[1]).key {
			t.Errorf("%s and %s count as alike", pair[0], pair[1])
		}
	}
}

// secretTexts are statements with a password, as a person might write them.
var secretTexts = []string{
	"ALTER ROLE app PASSWORD 'hunter2'", "alter user app with encrypted password 'hunter2' valid until '2027-01-01'",
	"CREATE ROLE app LOGIN PASSWORD $$hunter2$$", "CREATE USER app PASSWORD\n\t'hunter2'", "CREATE USER app/**/PASSWORD/**/'hunter2'",
	"ALTER ROLE app PASSWORD hunter2", `ALTER ROLE app PASSWORD "hunter2"`, "ALTER USER app WITH PASSWORD my hunter2 x", "ALTER USER app PASSWORD = 'hunter2'",
	"ALTER USER app IDENTIFIED BY hunter2", "SELECT 1; ALTER ROLE app PASSWORD hunter2",
	"CREATE USER MAPPING FOR app SERVER s OPTIONS (user 'app', password 'hunter2')", "ALTER USER MAPPING FOR app SERVER s OPTIONS (SET key 'hunter2')",
	"CREATE SERVER s FOREIGN DATA WRAPPER w OPTIONS (url 'hunter2')",
	"CREATE SUBSCRIPTION s CONNECTION 'host=a password=hunter2' PUBLICATION p", "CREATE SUBSCRIPTION s CONNECTION host=a password=hunter2",
	"SELECT dblink_connect('c', 'hunter2')", "SELECT * FROM dblink('postgres://u:hunter2@h', 'SELECT 1') AS t(a int)", `SELECT dblink("password=hunter2")`,
	"COPY t FROM PROGRAM 'curl -u me:hunter2 http://x'", "SET app.password = 'hunter2'", "SET app.password TO hunter2", "SET LOCAL my.api_key = a, hunter2",
	"SELECT set_config('app.jwt_secret', 'hunter2', true)", "UPDATE users SET password = crypt('hunter2', gen_salt('bf'))", "UPDATE users SET password = hunter2 WHERE id = 1",
	"INSERT INTO users (name, passwd) VALUES ('bob', 'hunter2')", "SELECT * FROM users WHERE hash = md5('hunter2')",
	"DO $$ BEGIN EXECUTE format('ALTER ROLE %I PASSWORD %L', 'app', 'hunter2'); END $$", "ALTER SYSTEM SET primary_conninfo = 'host=a password=hunter2'",
	"SELECT pgp_sym_decrypt(data, 'hunter2') FROM t", "SELECT 1 -- the password is hunter2", "SELECT 1 /* password hunter2 */", "-- password hunter2\nSELECT 'hunter2'",
	"ALTER ROLE app PASSWORD 'hunter2…", "ALTER ROLE app PASSWORD E'x\\'hunter2'", `ALTER ROLE app PASSWORD 'a\' || 'hunter2'`, "ALTER ROLE app PASSWORD U&'hunter2'", "ALTER ROLE app PASSWORD 'SCRAM-SHA-256$4096:hunter2'",
}

func TestRecordedQueriesHoldNoSecrets(t *testing.T) {
	for _, q := range secretTexts {
		kept := recordedQuery(q)
		if strings.Contains(kept, "hunter2") {
			t.Errorf("%s\nis recorded as %s", q, kept)
		}
		if again := normalized(kept).text; strings.Contains(again, "hunter2") {
			t.Errorf("%s\nis shown as %s", q, again)
		}
		if shown := normalized(q).text; strings.Contains(shown, "hunter2") {
			t.Errorf("%s\nwould be shown as %s", q, shown)
		}
	}
	for in, want := range map[string]string{
		"SELECT * FROM t WHERE id = 42 AND name = 'bob'": "SELECT * FROM t WHERE id = 42 AND name = 'bob'", // asked for
		"SELECT password FROM users WHERE id = 7":        "SELECT password FROM users WHERE id = $1",
		"ALTER ROLE app PASSWORD NULL":                   "ALTER ROLE app PASSWORD NULL",
		"UPDATE u SET password = $1 WHERE id = $2":       "UPDATE u SET password = $1 WHERE id = $2",
		"UPDATE u SET password = crypt($1, salt)":        "UPDATE u SET password = crypt($1, salt)",
		"CREATE TABLE u (id int, password text)":         "CREATE TABLE u (id int, password text)",
		"SHOW password_encryption":                       "SHOW password_encryption",
	} {
		if got := recordedQuery(in); got != want {
			t.Errorf("%s\n gives %s\n  want %s", in, got, want)
		}
	}
}

// Texts put together at random from parts of which it is known what they are: no
// part of a constant or a comment comes out, and all names do.
func TestNoConstantComesOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	body := func() string { // what may stand in quotes
		parts := []string{"hunter2", " ", "--", "/*", "*/", "$$", "$x$", `"`, ";", "''", "\n", "(", "ü", "=", "1"}
		var b strings.Builder
		for range 1 + rng.IntN(6) {
			b.WriteString(parts[rng.IntN(len(parts))])
		}
		return b.String() + "hunter2"
	}
	secret := []func() string{
		func() string { return "'" + body() + "'" },
		func() string { return "E'\\\\n" + body() + "'" },
		func() string { return "U&'" + body() + "'" },
		func() string { return "$q$" + body() + "$q$" },
		func() string { return "$$" + strings.NewReplacer("$", "", "\\", "").Replace(body()) + "$$" },
		func() string { return "/* " + strings.NewReplacer("*", "", "/", "").Replace(body()) + " */" },
		func() string { return "-- " + strings.ReplaceAll(body(), "\n", "") + "\n" },
	}
	names := []string{"alpha", `"Beta ' gamma"`, "delta$1", "epsilon"}
	signs := []string{",", "=", "(", ")", "||", "-", "::", "[", ";", "<->", "."}
	for range 3000 {
		var text strings.Builder
		var shown []string
		for range 1 + rng.IntN(12) {
			switch rng.IntN(3) {
			case 0:
				text.WriteString(secret[rng.IntN(len(secret))]())
			case 1:
				shown = append(shown, names[rng.IntN(len(names))])
				text.WriteString(shown[len(shown)-1])
			default:
				text.WriteString(signs[rng.IntN(len(signs))])
			}
			text.WriteByte(" \n"[rng.IntN(2)])
		}
		got := normalized(text.String()).text
		if strings.Contains(got, "hunter2") {
			t.Fatalf("%s\ngives %s", text.String(), got)
		}
		for _, name := range shown {
			_, rest, ok := strings.Cut(got, name)
			if !ok {
				t.Fatalf("%s\nlost %s: %s", text.String(), name, got)
			}
			got = rest
		}
	}
}

// FuzzNormalized: whatever the text, nothing in single quotes comes out, numbers do
// not, and a part of the text is either a piece, white space or a comment.
func FuzzNormalized(f *testing.F) {
	for _, q := range secretTexts {
		f.Add(q)
	}
	for _, q := range []string{"SELECT 1", "$$ $a$ $", "'\\'", "/*/**/", "--", "\xff\x00'", "IN (1,2", "VALUES (1),(2),", "1e+5..", "u&\"", "e'", "…", "'…", "::::(1::a,", "--1", "- -1"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, q string) {
		rest := q
		for _, p := range sqlPieces(q) {
			at := strings.Index(rest, p.text)
			if p.text == "" || at < 0 {
				t.Fatalf("piece %q is not in %q", p.text, rest)
			}
			between := strings.TrimLeft(rest[:at], " \t\n\v\f\r")
			if between != "" && !strings.HasPrefix(between, "--") && !strings.HasPrefix(between, "/*") {
				t.Fatalf("%q of %q is no piece", between, q)
			}
			rest = rest[at+len(p.text):]
			if (p.kind == sqlSymbol || p.kind == sqlWord) && strings.ContainsAny(p.text, "'\"") {
				t.Errorf("%q has a quote in %+v", q, p)
			}
		}
		got := normalized(q)
		for _, p := range sqlPieces(got.text) {
			if p.kind == sqlLiteral || p.kind == sqlNumber {
				t.Errorf("%q shows a constant: %q in %q", q, p.text, got.text)
			}
		}
	})
}

func BenchmarkRecordedQuery(b *testing.B) {
	q := "SELECT " + strings.Repeat("a.long_name, b.other_name, ", 30) + "1 FROM a JOIN b USING (id) WHERE a.id = 4711"
	for b.Loop() {
		if recordedQuery(q) != q {
			b.Fatal("the text has changed")
		}
	}
}

func BenchmarkNormalized(b *testing.B) {
	q := "SELECT " + strings.Repeat("a.long_name, b.other_name, ", 30) + "1 FROM a JOIN b USING (id) WHERE a.id = 4711"
	for b.Loop() {
		if s := normalized(q); s.cut() {
			b.Fatal(fmt.Sprint(s))
		}
	}
}
