package workload

import (
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"pgtlb/workload/lab"
	"pgtlb/workload/script"
)

// needPgbench finds the pgbench that belongs to the system's server.
func needPgbench(t *testing.T) string {
	t.Helper()
	path := filepath.Join(systemServer(t).Bindir, "pgbench")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("need: pgbench beside the server programs: %v", err)
	}
	return path
}

// comparison is a command line that pgbench and the driver run both. The scripts
// put what they see into table seen.
type comparison struct {
	scripts []string      // each with its weight behind the last @
	modes   []script.Mode // nil is simple and prepared
	clients int
	each    int64 // transactions of each client; 0 is 5
	tries   int
	defines []string
}

var (
	allModes = []script.Mode{script.Simple, script.Extended, script.Prepared}
	extended = []script.Mode{script.Extended, script.Prepared}
)

const see = "INSERT INTO seen (client, what) VALUES (:client_id, "

// comparisons cover every backslash command and what the driver does with it.
func comparisons() map[string]comparison {
	return map[string]comparison{
		"set": {scripts: []string{`\set a random(1, 1000)
\set b random_gaussian(1, 1000, 2.5) + random_zipfian(1, 100, 1.2)
\set c random_exponential(1, 1000, 3.5)
\set d hash(:a) % 1000
\set e 1.5 * :a
` + see + `concat_ws(' ', (:a)::text, (:b)::text, (:c)::text, (:d)::text, (:e)::text, (:scale)::text, (:random_seed)::text, (:default_seed)::text));`}, modes: allModes, clients: 3},
		"gset": {scripts: []string{`SELECT 1 AS one, 'two' AS two, NULL AS none \gset
SELECT 7 AS x, 8 AS y \gset p_
` + see + `concat_ws(' ', :one, ':two', :p_x, :p_y));`}, modes: allModes[:1]},
		"gset in the extended protocol": {scripts: []string{`SELECT 1 AS one, 'two' AS two \gset
` + see + `concat_ws(' ', :one::int, :two::text));`}, modes: extended},
		"aset and several statements": {scripts: []string{`SELECT 1 AS a \; SELECT 2 AS b, 3 AS c \; SELECT 4 AS a WHERE false \aset
` + see + `concat_ws(' ', :a, :b, :c));`}, modes: allModes[:1]},
		"gset takes the last statement": {scripts: []string{`SELECT 1 AS a \; SELECT 2 AS a \gset
` + see + `':a') \; ` + see + `'second');`}, modes: allModes[:1]},
		"if": {scripts: []string{`\set n random(1, 4)
\if :n = 1
` + see + `'one');
\elif :n = 2
` + see + `'two');
\if :n > 1 and true
` + see + `'inner');
\endif
\else
` + see + `'other');
\endif`}, each: 20},
		"sleep": {scripts: []string{`\set ms 2
\sleep :ms ms
\sleep 10 us
` + see + `'awake');`}},
		"pipeline": {scripts: []string{`\set n random(1, 100)
\startpipeline
` + see + `:n::text);
SELECT 1;
` + see + `'in it');
\endpipeline
` + see + `'behind it');`}, modes: extended, each: 14},
		"long pipeline": {scripts: []string{`\startpipeline
BEGIN ISOLATION LEVEL SERIALIZABLE;
` + strings.Repeat(see+"'p');\n", 16) + `END;
\endpipeline`}, modes: extended, clients: 2},
		"pipeline after pipeline": {scripts: []string{`\startpipeline
` + see + `'a');
\endpipeline
\startpipeline
` + see + `'b');
\endpipeline`}, modes: extended, clients: 2},
		"shell": {scripts: []string{`\setshell n expr 40 + 2
\setshell failing echo 7; exit 3
\shell true
` + see + `concat_ws(' ', :n::text, :failing::text));`}, each: 2},
		"define": {scripts: []string{"\\set n :n + 1\n" + see + `concat_ws(' ', :n, ':text', :scale));`}, modes: allModes[:1],
			defines: []string{"n=10", "text=it is", "scale=5"}},
		"weights":             {scripts: []string{see + "'often');@7", see + "'seldom');@2", see + "'never');@0"}, each: 60},
		"transaction":         {scripts: []string{"BEGIN;\n" + see + "'in');\nROLLBACK;\nBEGIN;\n" + see + "'kept');\nCOMMIT;"}, clients: 2},
		"comments and quotes": {scripts: []string{"-- a comment\n/* another\n*/ " + see + "'it''s :x a;b' || $$;$$) -- end\n;"}, modes: allModes[:1]},
		// n counts the tries: a variable keeps its value when a transaction is tried again.
		"serialization failure": {scripts: []string{`\set n :n + 1
\set drawn random(1, 1000000)
BEGIN;
SELECT fail(:n % 3 <> 0, '40001');
` + see + `concat_ws(' ', :n::text, :drawn::text));
COMMIT;`}, modes: allModes, defines: []string{"n=0"}, tries: 3, clients: 2, each: 8},
		"deadlock, tries used up": {scripts: []string{`\set n :n + 1
SELECT fail(:n % 4 <> 0, '40P01');
` + see + `:n::text);`}, defines: []string{"n=0"}, tries: 2, each: 12},
		"failure without another try": {scripts: []string{`\set n :n + 1
SELECT fail(:n % 2 = 0, '40001');
` + see + `:n::text);`}, defines: []string{"n=0"}, each: 8},
		"failure in a pipeline": {scripts: []string{`\set n :n + 1
\startpipeline
` + see + `'before');
SELECT fail(:n % 2 = 0, '40001');
` + see + `'behind');
\endpipeline`}, defines: []string{"n=0"}, modes: extended, tries: 3, each: 6},
		"error of one client": {scripts: []string{see + `'before');
SELECT 1 / (:client_id - 1);
` + see + `'behind');`}, clients: 3},
		"gset of two rows":        {scripts: []string{see + "'before');\nSELECT generate_series(1, 2) AS a \\gset\n" + see + "'behind');"}, clients: 2},
		"error of an expression":  {scripts: []string{see + "'before');\n\\set a 1 / :client_id\n" + see + "'behind');"}, clients: 2},
		"transaction left open":   {scripts: []string{"BEGIN;\n" + see + "'lost');"}},
		"pipeline left open":      {scripts: []string{"\\startpipeline\n" + see + "'lost');"}, modes: extended},
		"pipeline in simple mode": {scripts: []string{"\\startpipeline\nSELECT 1;\n\\endpipeline"}, modes: allModes[:1]},
		"shell that fails":        {scripts: []string{see + "'before');\n\\shell exit 2\n" + see + "'behind');"}},
	}
}

// againstPgbench are the tests that need pgbench.
func againstPgbench(t *testing.T, s server) {
	t.Run("pgbench's language", func(t *testing.T) { testAgainstPgbench(t, s) })
	t.Run("pgbench's tables", func(t *testing.T) { testPgbenchTables(t, s) })
}

// testAgainstPgbench has pgbench and the driver run the same and compares what
// the scripts saw, and what both counted.
func testAgainstPgbench(t *testing.T, s server) {
	pgbench := needPgbench(t)
	conns := s.database(t)
	conn := open(t, conns)
	mustRun(t, conn, `CREATE TABLE seen (n bigserial, client int, what text);
		CREATE FUNCTION fail(really bool, state text) RETURNS void LANGUAGE plpgsql AS $$
		BEGIN IF really THEN RAISE EXCEPTION 'asked for' USING ERRCODE = state; END IF; END $$`)
	for name, c := range comparisons() {
		modes := c.modes
		if modes == nil {
			modes = []script.Mode{script.Simple, script.Prepared}
		}
		for _, mode := range modes {
			t.Run(name+" "+mode.String(), func(t *testing.T) {
				c := c.withDefaults()
				want := c.byPgbench(t, pgbench, conn, mode)
				got := c.byDriver(t, conns, conn, mode)
				if got != want {
					t.Errorf("the driver: %+v\npgbench:    %+v", got, want)
				}
			})
		}
	}
}

func (c comparison) withDefaults() comparison {
	c.clients, c.tries = max(1, c.clients), max(1, c.tries)
	if c.each == 0 {
		c.each = 5
	}
	return c
}

// comparedRun is what a run left and counted.
type comparedRun struct {
	done, failed, retried, retries, aborted int
	seen                                    string
}

const comparedSeed = 4711

func (c comparison) byPgbench(t *testing.T, pgbench string, conn *pgx.Conn, mode script.Mode) comparedRun {
	t.Helper()
	mustRun(t, conn, "TRUNCATE seen")
	cfg := conn.Config()
	args := []string{"-n", "-h", cfg.Host, "-p", strconv.Itoa(int(cfg.Port)), "-U", cfg.User, "-M", mode.String(), "-c", strconv.Itoa(c.clients),
		"-t", strconv.FormatInt(c.each, 10), "--random-seed", strconv.Itoa(comparedSeed), "--max-tries", strconv.Itoa(c.tries)}
	for _, d := range c.defines {
		args = append(args, "-D", d)
	}
	dir := t.TempDir()
	for i, s := range c.scripts {
		text, weight := c.weighed(s)
		file := filepath.Join(dir, fmt.Sprintf("%d.sql", i))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "-f", fmt.Sprintf("%s@%d", file, weight))
	}
	out, err := osexec.CommandContext(t.Context(), pgbench, append(args, cfg.Database)...).CombinedOutput()
	if err != nil && !strings.Contains(string(out), "Run was aborted") {
		t.Fatalf("pgbench: %v\n%s", err, out)
	}
	count := func(what string) int {
		m := regexp.MustCompile(what + `: (\d+)`).FindSubmatch(out)
		if m == nil {
			return 0
		}
		n, _ := strconv.Atoi(string(m[1]))
		return n
	}
	return comparedRun{count("actually processed"), count("number of failed transactions"), count("transactions retried"),
		count("total number of retries"), len(abortedClients(string(out))), c.seen(t, conn)}
}

// abortedClients are those that pgbench's messages name.
func abortedClients(out string) map[string]bool {
	clients := map[string]bool{}
	if strings.Contains(out, "Run was aborted") {
		for _, m := range regexp.MustCompile(`error: client (\d+)`).FindAllStringSubmatch(out, -1) {
			clients[m[1]] = true
		}
	}
	return clients
}

func (c comparison) byDriver(t *testing.T, conns Connect, conn *pgx.Conn, mode script.Mode) comparedRun {
	t.Helper()
	mustRun(t, conn, "TRUNCATE seen")
	work := Work{Mode: mode, Strict: true}
	for i, s := range c.scripts {
		text, weight := c.weighed(s)
		work.Scripts = append(work.Scripts, Script{Name: fmt.Sprint(i), Text: text, Weight: weight})
	}
	sc, err := Custom(work)
	if err != nil {
		t.Fatal(err)
	}
	l := Load{Scenario: sc, Clients: c.clients, Threads: 1, Transactions: c.each, MaxTries: c.tries, Seed: comparedSeed, Connect: conns, Shell: lab.Shell}
	for _, d := range c.defines {
		name, value, err := script.ParseDefine(d)
		if err != nil {
			t.Fatal(err)
		}
		l.Defines = append(l.Defines, Define{name, value})
	}
	res, err := NewRunner(NewMeter("test")).Run(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	return comparedRun{int(res.Transactions), int(res.Failed), int(res.Retried), int(res.Retries), len(res.Aborted), c.seen(t, conn)}
}

func (c comparison) weighed(s string) (text string, weight int) {
	at := strings.LastIndexByte(s, '@')
	if at < 0 {
		return s, 1
	}
	weight, _ = strconv.Atoi(s[at+1:])
	return s[:at], weight
}

func (c comparison) seen(t *testing.T, conn *pgx.Conn) string {
	t.Helper()
	return one(t, conn, "SELECT coalesce(string_agg(client || ' ' || what, E'\n' ORDER BY client, n), '') FROM seen")
}

// testPgbenchTables compares the tables of Make with those of pgbench -i.
func testPgbenchTables(t *testing.T, s server) {
	pgbench := needPgbench(t)
	for name, c := range map[string]struct {
		flags  []string
		tables PgbenchTables
	}{
		"plain":   {[]string{"-s", "2"}, PgbenchTables{Scale: 2}},
		"options": {[]string{"-s", "1", "-F", "70", "--unlogged-tables", "--foreign-keys", "-n"}, PgbenchTables{Scale: 1, Fillfactor: 70, Unlogged: true, ForeignKeys: true, NoVacuum: true}},
	} {
		t.Run(name, func(t *testing.T) {
			conns := s.database(t)
			conn := open(t, conns)
			if _, err := PgbenchScale(t.Context(), conn); err != ErrNoPgbenchTables {
				t.Errorf("the scale before: %v", err)
			}
			cfg := conn.Config()
			args := append([]string{"-i", "-q", "-h", cfg.Host, "-p", strconv.Itoa(int(cfg.Port)), "-U", cfg.User}, c.flags...)
			if out, err := osexec.CommandContext(t.Context(), pgbench, append(args, cfg.Database)...).CombinedOutput(); err != nil {
				t.Fatalf("pgbench: %v\n%s", err, out)
			}
			want := describeTables(t, conn)
			found, err := FindPgbenchTables(t.Context(), conn)
			if err != nil || len(found) != 4 || slices.ContainsFunc(found, func(f PgbenchTable) bool { return f.Ours }) {
				t.Errorf("found %v, %v: all four, none of pgtlb's", found, err)
			}
			if err := c.tables.Make(t.Context(), conns, nil); err != nil {
				t.Fatal(err)
			}
			if got := describeTables(t, conn); got != want {
				t.Errorf("pgtlb made:\n%s\npgbench:\n%s", got, want)
			}
			found, err = FindPgbenchTables(t.Context(), conn)
			if err != nil || len(found) != 4 || slices.ContainsFunc(found, func(f PgbenchTable) bool { return !f.Ours }) {
				t.Errorf("found %v, %v: all four, all of pgtlb's", found, err)
			}
			if n, err := PgbenchScale(t.Context(), conn); n != c.tables.Scale || err != nil {
				t.Errorf("the scale is %d, %v", n, err)
			}
			print := func() string {
				f, err := c.tables.Fingerprint(t.Context(), conn)
				if err != nil {
					t.Fatal(err)
				}
				return f
			}
			before := print()
			mustRun(t, conn, "UPDATE pgbench_accounts SET abalance = 5 WHERE aid < 10")
			if err := c.tables.Setup(t.Context(), conns, nil); err != nil {
				t.Fatal(err)
			}
			if one(t, conn, "SELECT count(*)::text FROM pgbench_accounts WHERE abalance = 5") != "9" || print() != before {
				t.Error("a second set-up made them anew")
			}
		})
	}
}

// describeTables is everything about pgbench's tables: definition, keys, content.
func describeTables(t *testing.T, conn *pgx.Conn) string {
	t.Helper()
	var all []string
	for _, sql := range []string{
		`SELECT string_agg(concat_ws(' ', c.relname, c.relkind, c.relpersistence, c.reloptions, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull), E'\n' ORDER BY c.relname, a.attnum)
			FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.relname LIKE 'pgbench%' AND a.attnum > 0`,
		`SELECT string_agg(concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid)), E'\n' ORDER BY conrelid::regclass::text, conname)
			FROM pg_constraint WHERE conrelid::regclass::text LIKE 'pgbench%'`,
		`SELECT string_agg(concat_ws(' ', relname, relname <> 'pgbench_accounts' OR relallvisible > 0, reltuples >= 0), E'\n' ORDER BY relname) FROM pg_class WHERE relname LIKE 'pgbench%' AND relkind = 'r'`,
		"SELECT count(*) || ' ' || md5(string_agg(t::text, '|' ORDER BY aid)) FROM pgbench_accounts t",
		"SELECT count(*) || ' ' || md5(string_agg(t::text, '|' ORDER BY tid)) FROM pgbench_tellers t",
		"SELECT count(*) || ' ' || md5(string_agg(t::text, '|' ORDER BY bid)) FROM pgbench_branches t",
		"SELECT count(*)::text FROM pgbench_history",
	} {
		all = append(all, one(t, conn, sql))
	}
	return strings.Join(all, "\n\n")
}
