package workload

import (
	"fmt"

	"pgtlb/workload/script"
)

// TempTables makes, fills, joins and drops a temporary table per transaction.
func TempTables() Scenario {
	return Scenario{
		Name:    "temp-tables",
		Version: 1,
		Summary: "creates a temporary table, fills, analyzes and joins it, and drops it, in each transaction",
		Shows: "A temporary table is a real one to the catalogue: each writes rows into pg_class, pg_attribute, pg_type, pg_depend and " +
			"pg_statistic and deletes them again, so catalog_kb grows until autovacuum keeps up, every session's catalogue caches are " +
			"invalidated, and the WAL has it all. Its rows are in private memory (temp_buffers), which huge pages of shared memory do not cover. The ERP kind " +
			"of load; commands are sent as plain text, as its drivers do.",
		Clients: 8,
		Params: append(datasetParams(2, maxRows),
			Param{Name: "temp_rows", Default: 500, Min: 1, Max: 10_000_000, Meaning: "rows of each temporary table, fewer than rows"}),
		Data: dataset,
		Work: func(v Values) (Work, error) {
			if v["temp_rows"] >= v["rows"] {
				return Work{}, fmt.Errorf("temp_rows must be less than rows, %d", v["rows"])
			}
			w := oneScript("temp-tables", tempTablesScript)
			// A prepared statement of a table that is made anew is planned anew anyway.
			w.Mode = script.Simple
			w.PerCommand = true
			return w, nil
		},
	}
}

const tempTablesScript = `\set first random(1, :rows - :temp_rows)
BEGIN;
CREATE TEMPORARY TABLE temp_part (id bigint, cat_id bigint, amount bigint);
INSERT INTO temp_part SELECT id, col5 % 100000 + 1, col1 FROM test_hp_table WHERE id >= :first AND id < :first + :temp_rows;
ANALYZE temp_part;
SELECT count(*), sum(p.amount), max(c.category_name) FROM temp_part p JOIN test_hp_categories c ON c.cat_id = p.cat_id;
DROP TABLE temp_part;
END;
`
