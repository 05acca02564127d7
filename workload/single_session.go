package workload

import (
	"fmt"

	"pgtlb/workload/script"
)

// SingleSession is one client that reads, writes and uses temporary tables.
func SingleSession() Scenario {
	return Scenario{
		Name:    "single-session",
		Version: 1,
		Summary: "one session posts documents: reads, a temporary table, updates and a commit in each transaction",
		Shows: "How fast one thread gets through a mix of work, as the scores of ERP systems do: single-core speed, the time of a commit and " +
			"the round trips count, not the number of cores. About 80 MB are more than the data TLB covers with 4 kB pages and fit what it covers with 2 MB pages, " +
			"so the effect of page size on one session shows without noise from others. -r tells the time of each command.",
		Clients: 1,
		Params: []Param{
			{Name: "documents", Default: 80_000, Min: 100, Max: 10_000_000, Meaning: "documents of 5 lines each, about 1 kB together"},
			seedParam(),
		},
		Data: func(v Values) []Data { return []Data{singleTables(v["documents"], v["data_seed"])} },
		Work: func(Values) (Work, error) {
			w := oneScript("single-session", singleSessionScript)
			w.Mode = script.Simple // as temp-tables
			w.PerCommand = true
			return w, nil
		},
	}
}

const singleSessionScript = `\set document random(1, :documents)
\set first random(1, :documents - 99)
\set item random(1, 10000)
BEGIN;
SELECT customer, posted, total, note FROM single_document WHERE id = :document FOR UPDATE;
SELECT l.line, l.quantity, l.amount, i.name FROM single_line l JOIN single_item i ON i.id = l.item WHERE l.document = :document ORDER BY l.line;
CREATE TEMPORARY TABLE single_part (document bigint, item bigint, quantity bigint, amount bigint) ON COMMIT DROP;
INSERT INTO single_part SELECT document, item, quantity, amount FROM single_line WHERE document >= :first AND document < :first + 100;
ANALYZE single_part;
SELECT i.name, sum(p.quantity), sum(p.amount) AS total FROM single_part p JOIN single_item i ON i.id = p.item GROUP BY i.name ORDER BY total DESC, i.name LIMIT 20;
DELETE FROM single_line WHERE document = :document AND line = 5;
INSERT INTO single_line (document, line, item, quantity, amount, note) VALUES (:document, 5, :item, 1, 100, repeat('n', 60));
UPDATE single_line SET quantity = quantity % 100 + 1 WHERE document = :document AND line < 5;
UPDATE single_item SET stock = stock - 1 WHERE id = :item;
UPDATE single_document SET posted = posted + 1, total = (SELECT sum(quantity * amount) FROM single_line WHERE document = :document) WHERE id = :document;
END;
`

// singleTables are written by the load: it posts documents, replaces their last
// lines and changes stock and quantities. Which documents, lines and items there
// are stays, and so do customers and names: the fingerprint stands for those.
func singleTables(documents, seed int64) ownTables {
	const items = 10_000
	key := func(table, columns string) string {
		return "ALTER TABLE " + Schema + "." + table + " ADD PRIMARY KEY (" + columns + ")"
	}
	return ownTables{
		scenario: "single-session", definition: 1, params: fmt.Sprintf("documents %d, seed %d", documents, seed),
		tables: []ownTable{
			{
				name: "single_line", logged: true, rows: 5 * documents, rowSize: 178,
				create: "(document bigint, line bigint, item bigint NOT NULL, quantity bigint NOT NULL, amount bigint NOT NULL, note text NOT NULL) WITH (fillfactor = 90)",
				row:    fmt.Sprintf("(i - 1) / 5 + 1, (i - 1) %% 5 + 1, %s, %s, %s, repeat('n', 60)", random1(items, seed, 1), random1(100, seed, 2), random1(100_000, seed, 3)),
				after:  []string{key("single_line", "document, line")},
			},
			{
				name: "single_document", logged: true, rows: documents, rowSize: 143,
				create: "(id bigint, customer bigint NOT NULL, posted bigint NOT NULL, total bigint NOT NULL, note text NOT NULL) WITH (fillfactor = 90)",
				row:    fmt.Sprintf("i, %s, 0, 0, 'document ' || i || repeat('.', 30)", random1(1000, seed, 4)),
				after:  []string{key("single_document", "id")},
			},
			{
				name: "single_item", logged: true, rows: items, rowSize: 110,
				create: "(id bigint, stock bigint NOT NULL, name text NOT NULL) WITH (fillfactor = 70)",
				row:    "i, 0, 'item ' || i",
				after:  []string{key("single_item", "id")},
			},
		},
		check: `concat_ws(' ', (SELECT concat_ws(' ', count(*), sum(hashint8extended(document, line))) FROM ` + Schema + `.single_line),
			(SELECT concat_ws(' ', count(*), sum(hashtextextended(note, id + customer))) FROM ` + Schema + `.single_document),
			(SELECT concat_ws(' ', count(*), sum(hashtextextended(name, id))) FROM ` + Schema + `.single_item))`,
	}
}
