package workload

import "pgtlb/workload/script"

// Churn gives each transaction a session of its own.
func Churn() Scenario {
	return Scenario{
		Name:    "churn",
		Version: 1,
		Summary: "connects, reads one row by a random id and disconnects, for each transaction",
		Shows: "What a missing connection pool costs: for each connection the server forks a process, which copies the postmaster's page " +
			"table, fills its catalogue caches and takes a page fault for all it touches, and is torn down again. Kernel time, page " +
			"faults and backends come and go; the query itself is the smallest part. With huge pages there is less to map and to tear down. Compare TPS with " +
			"that of point-select: the ratio is what a pooler would win.",
		Clients: 8,
		Params:  datasetParams(1, maxRows),
		Data:    dataset,
		Work: func(Values) (Work, error) {
			// Nothing is set per session: that would be one more query of each transaction.
			w := oneScript("churn", churnScript)
			w.Session, w.Mode, w.Reconnect = nil, script.Simple, true
			return w, nil
		},
	}
}

const churnScript = "\\set id random(1, :rows)\nSELECT * FROM " + Schema + "." + dataTable + " WHERE id = :id;\n"
