package workload

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// sbtest is what the sbtest scenarios work on: the tables sbtest1 … sbtestN of
// sysbench's OLTP tests. Tables that sysbench made are used as they are, wherever
// the session's search path finds them, if all of them are there with sysbench's columns
// and hold ids up to size. Else pgtlb's own in its schema are used, and made if need be.
//
// The read-write load changes k and c, and replaces rows by others of the same id.
// Numbers of rows and ids stay, and the fingerprint stands for those.
type sbtest struct{ tables, size, seed int64 }

// maxSbtestTables is how many tables there may be.
const maxSbtestTables = 64

// sbtestParams are the parameters of all sbtest scenarios.
func sbtestParams(more ...Param) []Param {
	return append([]Param{
		{Name: "tables", Default: 1, Min: 1, Max: maxSbtestTables, Meaning: "tables sbtest1, sbtest2 …; each transaction uses one of them"},
		{Name: "table_size", Default: 100_000, Min: 100, Max: 100_000_000, Meaning: "rows of each table that are used"},
		seedParam(),
	}, more...)
}

// rangeParam is the length of sysbench's range queries.
func rangeParam() Param {
	return Param{Name: "range_size", Default: 100, Min: 1, Max: 100_000, Meaning: "rows of each range query"}
}

func sbtestData(v Values) []Data { return []Data{sbtest{v["tables"], v["table_size"], v["data_seed"]}} }

// sbtestShows ends the Shows of all of them.
const sbtestShows = " Tables that sysbench prepare made are used as they are. Ids are uniformly random, as with sysbench --rand-type=uniform; a transaction stays in " +
	"one table, where sysbench draws one for each kind of query."

// sbtestWork has one script per table.
func sbtestWork(v Values, text func(table int64) string) Work {
	w := oneScript("", "")
	w.Scripts = nil
	for i := int64(1); i <= v["tables"]; i++ {
		w.Scripts = append(w.Scripts, Script{Name: fmt.Sprintf("sbtest%d", i), Text: text(i), Weight: 1})
	}
	w.Session = []string{sbtest{v["tables"], v["table_size"], 0}.choose()}
	return w
}

// choose is SQL that decides whose tables a session uses: it leaves the search
// path alone for sysbench's, and puts pgtlb's schema first else. Set-up and sessions
// decide by the same words. A load does not change the outcome.
func (s sbtest) choose() string {
	return fmt.Sprintf(`DO $$
DECLARE
  tab regclass;
  most bigint;
BEGIN
  FOR i IN 1..%d LOOP
    tab := to_regclass('sbtest' || i);
    IF tab IS NOT NULL AND EXISTS (SELECT FROM pg_class WHERE oid = tab AND relkind IN ('r', 'p') AND relnamespace::regnamespace::text <> '%[3]s')
      AND (SELECT count(*) FROM pg_attribute a JOIN (VALUES ('id', 'N'), ('k', 'N'), ('c', 'S'), ('pad', 'S')) w (name, category) ON a.attname = w.name
        JOIN pg_type t ON t.oid = a.atttypid AND t.typcategory::text = w.category WHERE a.attrelid = tab AND a.attnum > 0) = 4
    THEN
      EXECUTE format('SELECT max(id) FROM %%s', tab) INTO most;
    ELSE
      most := NULL;
    END IF;
    IF most IS NULL OR most < %[2]d THEN
      PERFORM set_config('search_path', '%[3]s, public', false);
      RETURN;
    END IF;
  END LOOP;
END $$`, s.tables, s.size, Schema)
}

// found tells whether sysbench's tables are to be used. The session keeps its
// search path.
func (s sbtest) found(ctx context.Context, conn *pgx.Conn) (bool, error) {
	const path = "SELECT current_setting('search_path')"
	var before, after string
	tx, err := conn.Begin(ctx)
	if err == nil {
		err = tx.QueryRow(ctx, path).Scan(&before)
		if err == nil {
			_, err = tx.Exec(ctx, s.choose())
		}
		if err == nil {
			err = tx.QueryRow(ctx, path).Scan(&after)
		}
		err = errors.Join(err, tx.Rollback(ctx))
	}
	if err != nil {
		return false, fmt.Errorf("looking for sysbench's tables: %w", err)
	}
	return before == after, nil
}

// Setup finds sysbench's tables, or makes pgtlb's own.
func (s sbtest) Setup(ctx context.Context, conns Connect, progress func(Progress)) error {
	conn, err := conns(ctx)
	if err != nil {
		return fmt.Errorf("looking for sysbench's tables: %w", err)
	}
	defer closeConn(ctx, conn)
	found, err := s.found(ctx, conn)
	if err != nil {
		return err
	}
	if !found {
		return s.own().Setup(ctx, conns, progress)
	}
	if progress != nil {
		p := foundRows(s.tables * s.size)
		p.Detail = fmt.Sprintf("found %d tables of sysbench with %s rows or more each", s.tables, count(s.size))
		progress(p)
	}
	return nil
}

// Fingerprint stands for the ids alone; tables of sysbench and pgtlb's own of the
// same size are told apart.
func (s sbtest) Fingerprint(ctx context.Context, conn *pgx.Conn) (string, error) {
	found, err := s.found(ctx, conn)
	if err != nil {
		return "", err
	}
	if !found {
		return s.own().Fingerprint(ctx, conn)
	}
	return ownTables{scenario: "sysbench", check: s.check("")}.Fingerprint(ctx, conn)
}

// check is over the tables of a schema, which is empty or ends with a dot.
func (s sbtest) check(schema string) string {
	parts := []string{fmt.Sprintf("'%s'", schema)}
	for i := int64(1); i <= s.tables; i++ {
		parts = append(parts, fmt.Sprintf("(SELECT concat_ws(' ', count(*), min(id), max(id)) FROM %ssbtest%d)", schema, i))
	}
	return "concat_ws(', ', " + strings.Join(parts, ", ") + ")"
}

// Relations are the tables in use, with their indexes.
func (s sbtest) Relations(ctx context.Context, conn *pgx.Conn) ([]string, error) {
	found, err := s.found(ctx, conn)
	if err != nil {
		return nil, err
	}
	if !found {
		return s.own().Relations(ctx, conn)
	}
	var names []string
	for i := int64(1); i <= s.tables; i++ {
		names = append(names, fmt.Sprintf("sbtest%d", i))
	}
	return withIndexes(ctx, conn, names)
}

// Estimate is for pgtlb's own tables; sysbench's are there already.
func (s sbtest) Estimate() int64 { return s.own().Estimate() }

// own are the tables as sysbench makes them on PostgreSQL.
func (s sbtest) own() ownTables {
	o := ownTables{scenario: "sbtest", definition: 1, params: fmt.Sprintf("tables %d, rows %d, seed %d", s.tables, s.size, s.seed),
		check: s.check(Schema + ".")}
	for i := int64(1); i <= s.tables; i++ {
		name := fmt.Sprintf("sbtest%d", i)
		column := 100 * i
		o.tables = append(o.tables, ownTable{
			name: name, logged: true, rows: s.size, rowSize: 270,
			create: "(id integer NOT NULL, k integer DEFAULT 0 NOT NULL, c char(120) DEFAULT '' NOT NULL, pad char(60) DEFAULT '' NOT NULL)",
			row: fmt.Sprintf("i, %s, %s, %s", random1(s.size, s.seed, column),
				sbtestText(10, s.seed, column+1), sbtestText(5, s.seed, column+11)),
			after: []string{
				"ALTER TABLE " + Schema + "." + name + " ADD PRIMARY KEY (id)",
				fmt.Sprintf("CREATE INDEX k_%d ON %s.%s (k)", i, Schema, name),
			},
		})
	}
	return o
}

// sbtestText is SQL for a text as sysbench makes them: groups of 11 digits with a
// hyphen between.
func sbtestText(groups, seed, column int64) string {
	var parts []string
	for g := range groups {
		parts = append(parts, fmt.Sprintf("lpad((%s %% 100000000000)::text, 11, '0')", random63(seed, column+g)))
	}
	return strings.Join(parts, " || '-' || ")
}

// sbtestVariables sets variables and returns SQL for a text made of them, as
// sbtestText.
func sbtestVariables(name string, groups int) (set, sql string) {
	var parts []string
	for g := range groups {
		set += fmt.Sprintf("\\set %s%d random(10000000000, 99999999999)\n", name, g)
		parts = append(parts, fmt.Sprintf(":%s%d::text", name, g))
	}
	return set, strings.Join(parts, " || '-' || ")
}

// sbtestReads are the reads of sysbench's oltp_read_only and oltp_read_write.
func sbtestReads(table int64) string {
	var text strings.Builder
	for i := range 10 {
		fmt.Fprintf(&text, "\\set id%d random(1, :table_size)\nSELECT c FROM sbtest%d WHERE id = :id%d;\n", i, table, i)
	}
	for i, query := range []string{
		"SELECT c FROM sbtest%d WHERE id BETWEEN :from%d AND :to%d;\n",
		"SELECT SUM(k) FROM sbtest%d WHERE id BETWEEN :from%d AND :to%d;\n",
		"SELECT c FROM sbtest%d WHERE id BETWEEN :from%d AND :to%d ORDER BY c;\n",
		"SELECT DISTINCT c FROM sbtest%d WHERE id BETWEEN :from%d AND :to%d ORDER BY c;\n",
	} {
		fmt.Fprintf(&text, "\\set from%d random(1, :table_size)\n\\set to%d :from%d + :range_size - 1\n", i, i, i)
		fmt.Fprintf(&text, query, table, i, i)
	}
	return text.String()
}
