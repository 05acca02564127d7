package workload

import "fmt"

// Report is a large join, sort and aggregate.
func Report() Scenario {
	return Scenario{
		Name:    "report",
		Version: 1,
		Summary: "joins, ranks, aggregates and sorts hundreds of thousands of rows",
		Shows: "Hash tables and sorts live in private memory up to work_mem (hash tables hash_mem_multiplier times that) and go to " +
			"temporary files beyond: see temporary files and bytes per transaction at two values of work_mem_kb. More work_mem saves " +
			"the files, and is private memory in 4 kB pages that huge pages of shared memory do not cover (transparent huge pages may), times the number of sessions. " +
			"Parallel workers and JIT are off, so that one client is one backend.",
		Clients: 2,
		Params: append(datasetParams(2, maxRows),
			Param{Name: "report_rows", Default: 200_000, Min: 1, Max: maxRows, Meaning: "neighbouring rows of test_hp_table in one report, all of them at most"},
			Param{Name: "work_mem_kb", Default: 4096, Min: 64, Max: 1<<31 - 1, Meaning: "work_mem of the sessions in kB"},
		),
		Data: dataset,
		Work: func(v Values) (Work, error) {
			w := oneScript("report", reportScript(min(v["report_rows"], v["rows"])))
			w.Session = append(w.Session,
				fmt.Sprintf("SET work_mem = %d", v["work_mem_kb"]),
				"SET max_parallel_workers_per_gather = 0",
				"SET jit = off",
				"SET plan_cache_mode = force_custom_plan") // a generic plan would expect a short range
			return w, nil
		},
	}
}

// reportScript ranks the rows of each category, which sorts them all, and then
// aggregates and sorts the categories.
func reportScript(rows int64) string {
	return fmt.Sprintf(`\set first random(1, :rows - %d)
SELECT category_name, count(*) AS lines, sum(col1) AS total, max(col2) - min(col3) AS spread,
  sum(col4) FILTER (WHERE place <= 3) AS best
FROM (SELECT c.category_name, t.col1, t.col2, t.col3, t.col4,
    row_number() OVER (PARTITION BY c.category_name ORDER BY t.col1 DESC) AS place
  FROM test_hp_table t JOIN test_hp_categories c ON c.cat_id = t.col5 %% 100000 + 1
  WHERE t.id BETWEEN :first AND :first + %d) ranked
GROUP BY category_name ORDER BY total DESC, category_name LIMIT 100;
`, rows-1, rows-1)
}
