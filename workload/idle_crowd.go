package workload

import "fmt"

// IdleCrowd is a pool of sessions that once touched everything and now idle.
func IdleCrowd() Scenario {
	return Scenario{
		Name:    "idle-crowd",
		Version: 1,
		Summary: "many sessions touch all data once and then idle, with a trivial query now and then",
		Shows: "What a large connection pool costs when it does nothing: a backend keeps the page table of all shared memory it ever " +
			"touched until it ends, so hundreds of idle sessions hold sessions times touched memory / 512 with 4 kB pages, and next to " +
			"nothing with huge pages. Touching is over when the page faults die out; what PageTables then holds is the price of idling. A pooler in front, or " +
			"huge pages, makes it go away. Latency includes the pause, so it says nothing here, and the load ends up to one pause late.",
		Clients: 600,
		Params: append(datasetParams(1, maxRows),
			Param{Name: "slices", Default: 20, Min: 0, Max: 10_000, Meaning: "steps in which each session first touches all of test_hp_table and its index; 0: it does not"},
			Param{Name: "pause", Default: 5, Min: 1, Max: 600, Meaning: "seconds between two trivial queries of an idle session"},
		),
		Data: dataset,
		Work: func(v Values) (Work, error) {
			return oneScript("idle-crowd", idleCrowdScript(v["rows"], v["slices"])), nil
		},
	}
}

// touchStride is how many ids a session skips between two rows that it touches.
// The kernel maps 64 kB of shared memory around a fault, 8 blocks with 75 rows
// each; the two loaders of the table fill blocks in turn, so that neighbouring
// blocks of one loader are up to twice as far apart.
const touchStride = 256

// idleCrowdScript counts slices down: a client's variables outlive its
// transactions. The inner query cannot be pulled up, which keeps the lookups by index.
func idleCrowdScript(rows, slices int64) string {
	step := (rows + max(slices, 1) - 1) / max(slices, 1)
	return fmt.Sprintf(`\if :slices > 0
\set slices :slices - 1
\set first 1 + :slices * %d
\set last least(:rows, :first + %d)
SELECT count(t.col1) FROM generate_series(:first::bigint, :last::bigint, %d) i,
  LATERAL (SELECT col1 FROM test_hp_table WHERE id = i OFFSET 0) t;
\else
\sleep :pause s
SELECT 1;
\endif
`, step, step-1, touchStride)
}
