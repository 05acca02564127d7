package workload

// SbtestReadOnly is sysbench's oltp_read_only.
func SbtestReadOnly() Scenario {
	return Scenario{
		Name:    "sbtest-read-only",
		Version: 1,
		Summary: "sysbench's oltp_read_only: 10 point selects and 4 range queries in a transaction",
		Shows: "Ranges, sums and sorts beside point selects: each range reads neighbouring rows, so a page walk serves many of them, and " +
			"a transaction has 16 round trips. The gain from huge pages should be there, but smaller than in sbtest-point-select." + sbtestShows,
		Clients: 8,
		Params:  sbtestParams(rangeParam()),
		Data:    sbtestData,
		Work: func(v Values) (Work, error) {
			return sbtestWork(v, func(table int64) string { return "BEGIN;\n" + sbtestReads(table) + "COMMIT;\n" }), nil
		},
	}
}
