package workload

// JoinAggregate joins a short range of ids with the categories and aggregates.
func JoinAggregate() Scenario {
	return Scenario{
		Name:    "join-aggregate",
		Version: 2,
		Summary: "joins 51 neighbouring rows with 100,000 categories, groups and sorts them",
		Shows: "Each transaction looks up 51 random categories and then computes on them in private memory, so page walks and " +
			"page faults are a smaller part of its work than in point-select: the gain from huge pages should be there, but smaller.",
		Clients: 8,
		// The script leaves 100 ids free at the end, and :id + 50 is an integer.
		Params: datasetParams(101, 1<<31-1),
		Data:   dataset,
		Work: func(Values) (Work, error) {
			w := oneScript("join-aggregate", joinAggregateScript)
			// One client is one backend: parallel workers would blur what a client costs.
			w.Session = append(w.Session, "SET max_parallel_workers_per_gather = 0")
			return w, nil
		},
	}
}

const joinAggregateScript = `\set id random(1, :rows - 100)
SELECT c.category_name, COUNT(t.id) AS total_count, AVG(t.col1) AS avg_col1,
  SUM(t.col2) AS sum_col2, MAX(t.col3) - MIN(t.col4) AS spread
FROM test_hp_table t JOIN test_hp_categories c ON c.cat_id = (t.col5 % 100000) + 1
WHERE t.id BETWEEN :id AND :id + 50
GROUP BY c.category_name ORDER BY spread DESC, c.category_name;
`
