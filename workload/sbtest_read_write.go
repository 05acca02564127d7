package workload

import "fmt"

// SbtestReadWrite is sysbench's oltp_read_write.
func SbtestReadWrite() Scenario {
	return Scenario{
		Name:    "sbtest-read-write",
		Version: 1,
		Summary: "sysbench's oltp_read_write: the reads of oltp_read_only, two updates, a delete and an insert in a transaction",
		Shows: "What an OLTP application sees of everything at once: reads, index and heap writes, WAL and a commit. Where commits wait for " +
			"the disk, page size matters little; with synchronous_commit = off or a fast disk the CPU and with it page walks show again. It writes to the tables it finds, as " +
			"sysbench does: they grow by dead rows until autovacuum has passed." + sbtestShows,
		Clients: 8,
		Params:  sbtestParams(rangeParam()),
		Data:    sbtestData,
		Work: func(v Values) (Work, error) {
			return sbtestWork(v, sbtestReadWriteScript), nil
		},
	}
}

// sbtestReadWriteScript passes over an insert of an id that another client has
// just replaced; sysbench begins such a transaction again.
func sbtestReadWriteScript(table int64) string {
	setUpdate, update := sbtestVariables("u", 10)
	setC, c := sbtestVariables("c", 10)
	setPad, pad := sbtestVariables("p", 5)
	return setUpdate + setC + setPad + "BEGIN;\n" + sbtestReads(table) + fmt.Sprintf(`\set id random(1, :table_size)
UPDATE sbtest%[1]d SET k = k + 1 WHERE id = :id;
\set id random(1, :table_size)
UPDATE sbtest%[1]d SET c = %[2]s WHERE id = :id;
\set id random(1, :table_size)
\set k random(1, :table_size)
DELETE FROM sbtest%[1]d WHERE id = :id;
INSERT INTO sbtest%[1]d (id, k, c, pad) VALUES (:id, :k, %[3]s, %[4]s) ON CONFLICT DO NOTHING;
COMMIT;
`, table, update, c, pad)
}
