package workload

import "fmt"

// Commit updates one row and commits, over and over.
func Commit() Scenario {
	return Scenario{
		Name:    "commit",
		Version: 1,
		Summary: "updates one row of a logged table and commits",
		Shows: "What a commit costs: each waits until its WAL record is on disk, so TPS follows the disk's flush time and how many " +
			"commits share a flush, not the CPU. With synchronous_commit = off the wait is gone and at a crash the last transactions " +
			"(up to three times wal_writer_delay) may be lost; repeat the load with it and compare. Page size hardly matters here.",
		Clients: 8,
		Flushes: true,
		Params: []Param{
			{Name: "accounts", Default: 100_000, Min: 1, Max: 10_000_000, Meaning: "rows to choose from; few make clients wait for each other's row locks"},
		},
		Data: func(v Values) []Data { return []Data{commitTables(v["accounts"])} },
		Work: func(Values) (Work, error) { return oneScript("commit", commitScript), nil },
	}
}

const commitScript = `\set id random(1, :accounts)
\set delta random(-5000, 5000)
UPDATE commit_account SET balance = balance + :delta WHERE id = :id;
`

// commitTables is one table whose rows have room on their page for new versions.
// The load changes the balance alone, so that is left out of the fingerprint.
func commitTables(accounts int64) ownTables {
	return ownTables{
		scenario: "commit", definition: 1, params: fmt.Sprintf("accounts %d", accounts),
		tables: []ownTable{{
			name: "commit_account", create: "(id bigint, balance bigint NOT NULL, filler text NOT NULL) WITH (fillfactor = 70)",
			logged: true, rows: accounts, row: "i, 0, repeat('x', 80)",
			after:   []string{"ALTER TABLE " + Schema + ".commit_account ADD PRIMARY KEY (id)"},
			rowSize: 210,
		}},
		check: `(SELECT concat_ws(' ', count(*), min(id), max(id), sum(hashtextextended(filler, id))) FROM ` + Schema + `.commit_account)`,
	}
}
