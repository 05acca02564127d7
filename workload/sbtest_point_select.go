package workload

import "fmt"

// SbtestPointSelect is sysbench's oltp_point_select.
func SbtestPointSelect() Scenario {
	return Scenario{
		Name:    "sbtest-point-select",
		Version: 1,
		Summary: "sysbench's oltp_point_select: reads a column of one row by its id",
		Shows: "The same as point-select on sysbench's schema, so that figures can be held against those of sysbench: page-table filling " +
			"and dTLB misses of random access. The default of 100,000 rows is about 26 MB; more tables or rows touch more memory." + sbtestShows,
		Clients: 8,
		Params:  sbtestParams(),
		Data:    sbtestData,
		Work: func(v Values) (Work, error) {
			return sbtestWork(v, func(table int64) string {
				return fmt.Sprintf("\\set id random(1, :table_size)\nSELECT c FROM sbtest%d WHERE id = :id;\n", table)
			}), nil
		},
	}
}
