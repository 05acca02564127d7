package trial

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgtlb/probes"
)

func TestNormalized(t *testing.T) {
	for in, want := range map[string]string{
		"SELECT * FROM t WHERE id = 42":                                 "SELECT * FROM t WHERE id = $1",
		"SELECT * FROM t WHERE id = $1;":                                "SELECT * FROM t WHERE id = $1",
		"select 'it''s', E'a\\n', U&'\\0061', x'1F', date '2026-01-01'": "select $1, $2, $3, $4, date $5",
		"SELECT -5, a - 5, a -5, 3e-7, .5, 0xFF, 1_000, 7abc, a1":       "SELECT -$1, a - $2, a -$3, $4, $5, $6, $7, $8, a1",
		"WHERE a = -5 AND b IN (-1, +2)":                                "WHERE a = $1 AND b IN ($2 /*, ... */)",
		"SELECT 'a'\n  'b'":                                             "SELECT $1",
		"DO $$ BEGIN PERFORM 'x'; END $$":                               "DO $1",
		"SELECT $fn$ it's $$ here $fn$, $1":                             "SELECT $1, $2",
		"SELECT a$b, \"Odd 'name'\", t.\"X\" FROM t":                    "SELECT a$b, \"Odd 'name'\", t.\"X\" FROM t",
		"SELECT /* user 7 /* nested ' */ */ 1 -- don't\n + 2":           "SELECT $1 + $2",
		"-- name: GetAuthor :one\nSELECT * FROM a WHERE id = 3":         "SELECT * FROM a WHERE id = $1",
		"SELECT 1 -- the 'end'":                                         "SELECT $1",
		"x IN ('a'::text, 'b'::text) AND y = ANY (ARRAY[1,2,3])":        "x IN ($1::text /*, ... */) AND y = ANY (ARRAY[$2 /*, ... */])",
		"INSERT INTO t VALUES (1, 'a'), (2, 'b'), ($3, $4)":             "INSERT INTO t VALUES ($1, $2) /*, (...) */",
		"SELECT f(1, 2), '{\"a\": 1}'::jsonb -> 'a' #- '{b}'":           "SELECT f($1, $2), $3::jsonb -> $4 #- $5",
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
		"SELECT 'a' 'never closed hunter2":      "SELECT…",
		// A quote that was not doubled, and dollars where none belong.
		"INSERT INTO t (a, b) VALUES ('O'Brien', 'hunter2')":             "INSERT INTO t (a, b) VALUES (…",
		"INSERT INTO t (a, b) VALUES ('O'Brien', 'D'Arcy', 'hunter2')":   "INSERT INTO t (a, b) VALUES (…",
		"INSERT INTO t VALUES (1, 'the boys' hunter2 room', 'x')":        "INSERT INTO t VALUES ($1,…",
		"INSERT INTO t VALUES ('boys' hunter2 room', 'the girls' room')": "INSERT INTO t VALUES (…",
		"SELECT a WHERE b = 'fine' AND c = 'it's hunter2'":               "SELECT a WHERE b =…",
		"INSERT INTO t VALUES ('a' hunter2 ', '(' s ')":                  "INSERT INTO t VALUES (…",
		"INSERT INTO t VALUES ('a' hunter2 ', ')!' s ')":                 "INSERT INTO t VALUES (…",
		"SELECT größe FROM t WHERE b = ‘hunter2’":                        "SELECT größe FROM t WHERE b =…",
		"SELECT a FROM t WHERE b =\u00a042":                              "SELECT a FROM t WHERE b =…",
		"UPDATE t SET a = 'x'hunter2":                                    "UPDATE t SET a =…",
		`INSERT INTO t VALUES (1, "O"Brien", "hunter2")`:                 "INSERT INTO t VALUES ($1,…",
		"SELECT 1$a$top hunter2$a$":                                      "SELECT…",
		"SELECT $1$a$top hunter2$a$":                                     "SELECT…",
		"SELECT abc$a$top hunter2$a$":                                    "SELECT…",
		"SELECT abc$$top hunter2$$, 1":                                   "SELECT…",
		"SELECT 'a', abc$a$top hunter2$a$":                               "SELECT…",
	} {
		if got := normalized(in, false).text; got != want {
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
			if a, b := normalized(group[0], false).key, normalized(q, false).key; a != b {
				t.Errorf("%s and %s are not alike: %s, %s", group[0], q, a, b)
			}
		}
	}
	for _, pair := range [][2]string{
		{"SELECT a FROM t", "SELECT b FROM t"}, {`SELECT "A" FROM t`, `SELECT "a" FROM t`}, {"SELECT a FROM t", "SELECT a FROM t…"},
		{"SELECT f(1, 2)", "SELECT f(1)"}, {"SELECT 1 a", "SELECT a 1"},
	} {
		if normalized(pair[0], false).key == normalized(pair[1], false).key {
			t.Errorf("%s and %s count as alike", pair[0], pair[1])
		}
	}
}

// secretTexts are statements with a secret, as a person might write them.
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
	// Quotes that are not doubled.
	"INSERT INTO users (name, passwd) VALUES ('O'Brien', 'hunter2')", "INSERT INTO users (name, passwd) VALUES ('O'Brien', 'hunter2', 'D'Arcy')",
	"ALTER ROLE app PASSWORD 'it's hunter2'", "SET password = 'O'hunter2'", "INSERT INTO users VALUES ('O'Brien', 'hunter2') -- passwords",
	"INSERT INTO users VALUES ('the boys' hunter2', password)", "INSERT INTO users VALUES ($$it$$s hunter2$$, password)",
	// No quotes, and the wrong ones.
	"ALTER ROLE app PASSWORD !hunter2", "ALTER ROLE app PASSWORD #hunter2", "ALTER ROLE app PASSWORD $hunter2", "ALTER ROLE app PASSWORD $ecret-hunter2", "ALTER ROLE app PASSWORD (hunter2)", "ALTER ROLE app PASSWORD:hunter2",
	"UPDATE u SET password = p@ss-hunter2", "UPDATE u SET password = hunter2-x-y", `INSERT INTO users (name, passwd) VALUES ("bob", "hunter2")`,
	`INSERT INTO users VALUES ("bob", "hunter2") -- password`, `SELECT * FROM u WHERE password LIKE "hunter2"`, `SELECT crypt("hunter2", salt)`, `SELECT set_config("app.password", "hunter2", true)`,
	"INSERT INTO users VALUES (“bob”, ‘hunter2’) -- password", "INSERT INTO users VALUES (`hunter2`) -- password",
	// Other words, among them those of README.
	"SET app.pass = 'hunter2'", "SELECT sha224('hunter2'), a", "SELECT sha384('hunter2')", "SELECT sha512('hunter2')", "SET app.key = 'hunter2'", "SET access_key = 'hunter2'", "SET signing_key = 'hunter2'",
	"SET ssh_key = 'hunter2'", "SELECT f('hunter2') AS \"encryption key\"", "SET app.jwt = hunter2", "SET app.authorization = 'hunter2'", "SET app.auth = 'hunter2'", "SET app.cookie = 'hunter2'", "SET app.pin = 'hunter2'",
	"UPDATE u SET pin_code = 'hunter2'", "SET app.salt = 'hunter2'", "SELECT otp('hunter2')", "SET app.credentials = 'hunter2'", "UPDATE u SET token = 'hunter2'", "SET app.secret = 'hunter2'", "SELECT login('bob', 'hunter2')",
	"SELECT * FROM session WHERE id = 'hunter2'", "UPDATE u SET hash = 'hunter2'", "SELECT encrypt('hunter2')", "SELECT f('host=a connection hunter2')", "SELECT 'postgres://bob:hunter2@h'", "SET app.dsn = 'hunter2'",
	"SET app.passphrase = 'hunter2'", "SELECT hmac(a, 'hunter2')", "SELECT digest('hunter2', a)", "SET app.header = 'Bearer hunter2'", "SET app.PASSWD = 'hunter2'", "SET pwd = 'hunter2'",
}

func TestRecordedQueriesHoldNoSecrets(t *testing.T) {
	for _, q := range secretTexts {
		for what, kept := range map[string]string{"recorded": recordedQuery(q, false), "listed of its record": normalized(recordedQuery(q, false), false).text, "listed of an older record": normalized(q, false).text} {
			if strings.Contains(kept, "hunter2") || !strings.HasSuffix(kept, probes.CutMark) {
				t.Errorf("%s\nis %s as %s", q, what, kept)
			}
		}
	}
	for in, want := range map[string]string{
		"SELECT * FROM t WHERE id = 42 AND name = 'O'Brien'": "SELECT * FROM t WHERE id = 42 AND name = 'O'Brien'", // asked for
		"SELECT password FROM users WHERE id = 7":            "SELECT password…",
		"SELECT name FROM users WHERE id = 7 AND password":   "SELECT name FROM users WHERE id =…",
		`SELECT "id", "password" FROM users`:                 "SELECT…",
		"SELECT a FROM t WHERE b = $1 AND token = $2":        "SELECT a FROM t WHERE b =…",
		"SELECT col1, pin FROM t":                            "SELECT col…",
		"/* the clerk's */ ALTER ROLE app PASSWORD 'x'":      "…",
		"/* of bob */ ALTER ROLE app PASSWORD 'x'":           "ALTER ROLE app PASSWORD…",
		"/* of bob */ SELECT a FROM key":                     "SELECT a FROM key",
		"CREATE TABLE u (id int, passwords text)":            "CREATE TABLE u (id int, password…",
		"SHOW password_encryption":                           "SHOW password…",
		"SELECT shipping FROM authors WHERE id = 7":          "SELECT shipping FROM authors WHERE id = 7",
		// Not whole, so that the word that tells of a secret may be missing.
		"INSERT INTO users VALUES (1, 'bob', 'hunt…":                "INSERT INTO users VALUES ($1,…",
		"SELECT * FROM t WHERE name = 'bob' AND id = 7 AND c IN (…": "SELECT * FROM t WHERE name = $1 AND id = $2 AND c IN (…",
		"INSERT INTO users VALUES ('O'Brien', 'hunter', 'D'A…":      "INSERT INTO users VALUES (…",
	} {
		if got := recordedQuery(in, false); got != want {
			t.Errorf("%s\n gives %s\n  want %s", in, got, want)
		}
	}
	// The word is behind what pgtlb keeps.
	for in, want := range map[string]string{
		"INSERT INTO users VALUES ('bob', 'hunter…": "INSERT INTO users VALUES (…",
		"SELECT a FROM t WHERE id = 7 AND b IN (…":  "SELECT a FROM t WHERE id =…",
		"SELECT a FROM t WHERE b IN (…":             "SELECT a FROM t WHERE b IN (…",
	} {
		if got := recordedQuery(in, true); got != want {
			t.Errorf("%s\n gives %s\n  want %s", in, got, want)
		}
	}
}

// Texts with a word that tells of a secret and any quoting: nothing behind the word is
// kept, and nothing before it that may be in quotes of any kind.
func TestNoSecretComesOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	between := []string{"'", "''", `"`, "$", "$$", "$a$", "1", "E'", "\\", " ", "\n", "(", ",", "=", "!", "#", "@", "--", "/*", "*/", ":", ";", "O'Brien", "’", "x", "7e", "…"}
	words := []string{"PASSWORD", "passwd", "pass", "Secret", "access_key", "jwt", "crypt(", "user_pin", "auth", "x://"}
	var text strings.Builder
	add := func() { text.WriteString(between[rng.IntN(len(between))]) }
	for range 20000 {
		text.Reset()
		text.WriteString("INSERT INTO t ")
		if rng.IntN(2) == 0 { // quotes stand before the word too
			text.WriteString([]string{"'", `"`, "$$", "$q$", "1", "E'", "“", "`"}[rng.IntN(8)])
			for range rng.IntN(4) {
				add()
			}
			text.WriteString("hunter")
			for range rng.IntN(4) {
				add()
			}
			text.WriteByte(' ')
		}
		text.WriteString(words[rng.IntN(len(words))])
		text.WriteString([]string{" ", "=", "'", `"`, "$", "!", "("}[rng.IntN(7)])
		for range 1 + rng.IntN(8) {
			add()
			text.WriteString("hunter")
		}
		q := text.String()
		kept := recordedQuery(q, false)
		if again := normalized(kept, false).text; strings.Contains(kept, "hunter") || again != kept || !strings.HasPrefix(kept, "INSERT INTO t") {
			t.Fatalf("%q\nis recorded as %q, listed as %q", q, kept, again)
		}
	}
}

// Constants in which quotes are not doubled, with and without spaces: no list shows a
// part of one.
func TestNoPartOfAMalformedConstantComesOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	pick := func(s ...string) string { return s[rng.IntN(len(s))] }
	inside := func(quote string) string { // begins and ends with a word
		text := pick("hunter", "O", "e", "x", "é", "7")
		for range rng.IntN(5) {
			text += pick("hunter", quote+"hunter", quote+" hunter", quote+"s hunter", " hunter", quote+quote+"hunter", "$1hunter", "$hunter", "7hunter", "-hunter")
		}
		return text + pick("", "7", "hunter")
	}
	constant := func() string {
		switch rng.IntN(6) {
		case 0:
			return pick("1", "$1", "x_$", "7.5", ".5e3", "abc", "0x1F") + "$a$" + inside("'") + "$a$"
		case 1:
			return "$q$" + inside("'") + "$q$"
		case 2:
			return "$$" + inside("'") + "$$"
		}
		return pick("", "E", "b", "N", "U&") + "'" + inside("'") + "'"
	}
	hidden := 0
	for range 50000 {
		space := pick("", "", " ")
		text := "INSERT INTO t VALUES (" + pick("1,", "", "a, ") + constant()
		for range rng.IntN(5) {
			text += space + "," + space + constant()
		}
		text += ")" + pick("", ";", " RETURNING a", ",(1,'x')")
		got := normalized(text, false)
		if strings.Contains(got.text, "hunter") {
			t.Fatalf("%s\ngives %s", text, got.text)
		}
		if got.cut() {
			hidden++
		}
	}
	if hidden < 10000 || hidden > 49000 {
		t.Errorf("%d of 50000 texts are hidden from somewhere on: the generator makes one kind only", hidden)
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
		got := normalized(text.String(), false).text
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
// not, a part of the text is either a piece, white space or a comment, and what is
// behind a word that tells of a secret leaves no trace.
func FuzzNormalized(f *testing.F) {
	for _, q := range secretTexts {
		f.Add(q)
	}
	for _, q := range []string{"SELECT 1", "$$ $a$ $", "'\\'", "/*/**/", "--", "\xff\x00'", "IN (1,2", "VALUES (1),(2),", "1e+5..", "u&\"", "e'", "…", "'…", "::::(1::a,", "--1", "- -1", "/**/*", "\u20000"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, q string) {
		rest := q
		for _, p := range sqlPieces(q) {
			rest = behindComments(rest)
			if p.text == "" || !strings.HasPrefix(rest, p.text) {
				t.Fatalf("%q of %q does not begin with the piece %q", rest, q, p.text)
			}
			rest = rest[len(p.text):]
			if (p.kind == sqlSymbol || p.kind == sqlWord) && strings.ContainsAny(p.text, "'\"") {
				t.Errorf("%q has a quote in %+v", q, p)
			}
		}
		one, other := recordedQuery(q+" password = 'hunter2", false), recordedQuery(q+" password p@ss'word' ", false)
		if one != other || !strings.HasSuffix(one, probes.CutMark) {
			t.Errorf("%q with one secret is %q, with another %q", q, one, other)
		}
		got := normalized(q, false)
		for _, p := range sqlPieces(got.text) {
			if p.kind == sqlLiteral || p.kind == sqlNumber {
				t.Errorf("%q shows a constant: %q in %q", q, p.text, got.text)
			}
		}
	})
}

// behindComments leaves out the white space and comments that a text begins with.
func behindComments(s string) string {
	for {
		s = strings.TrimLeft(s, " \t\n\v\f\r")
		n := 0
		switch {
		case strings.HasPrefix(s, "--"):
			n = sqlLine(s)
		case strings.HasPrefix(s, "/*"):
			n = sqlComment(s)
		}
		if n == 0 {
			return s
		}
		s = s[n:]
	}
}

func BenchmarkRecordedQuery(b *testing.B) {
	q := "SELECT " + strings.Repeat("a.long_name, b.other_name, ", 30) + "1 FROM a JOIN b USING (id) WHERE a.id = 4711"
	for b.Loop() {
		if recordedQuery(q, false) != q {
			b.Fatal("the text has changed")
		}
	}
}

func BenchmarkNormalized(b *testing.B) {
	q := "SELECT " + strings.Repeat("a.long_name, b.other_name, ", 30) + "1 FROM a JOIN b USING (id) WHERE a.id = 4711"
	for b.Loop() {
		if s := normalized(q, false); s.cut() {
			b.Fatal(fmt.Sprint(s))
		}
	}
}
