package workload

import (
	"fmt"
	"strings"
)

// joinTables is how many tables planning has to join, all of them made always.
const joinTables = 20

// Planning joins many small tables: planning takes longer than running.
func Planning() Scenario {
	return Scenario{
		Name:    "planning",
		Version: 1,
		Summary: "plans a join of 12 or more tables, and runs it with a plan that is kept",
		Shows: "What planning costs against running, as generated SQL of ERP systems and ORMs has it. Two commands, each with its own " +
			"latency: EXPLAIN plans the join for one id and does not run it, SELECT runs the same join with a generic plan that its session made once " +
			"(prepared mode; with -M simple or extended it is planned each time). The planner tries join orders of up to collapse tables at a time: " +
			"more may find a better plan and takes many times longer; from geqo_threshold on a genetic search takes over. It works in private memory and the " +
			"catalogue caches of each session, so page size hardly matters; prepared statements do.",
		Clients: 4,
		Params: []Param{
			{Name: "tables", Default: 12, Min: 12, Max: joinTables, Meaning: "tables in the join"},
			{Name: "collapse", Default: 8, Min: 1, Max: joinTables, Meaning: "join_collapse_limit and from_collapse_limit of the sessions"},
			seedParam(),
		},
		Data: func(v Values) []Data { return []Data{planningTables(v["data_seed"])} },
		Work: func(v Values) (Work, error) {
			w := oneScript("planning", planningScript(v["tables"]))
			w.PerCommand = true
			w.Session = append(w.Session,
				fmt.Sprintf("SET join_collapse_limit = %[1]d; SET from_collapse_limit = %[1]d", v["collapse"]),
				"SET plan_cache_mode = force_generic_plan",
				"SET jit = off")
			return w, nil
		},
	}
}

// joinRows is the number of rows of each of the tables.
const joinRows = 1000

// planningScript joins each table to one of those before it: a tree that branches
// in two. Its commands are told apart by their first lines.
func planningScript(tables int64) string {
	var join strings.Builder
	fmt.Fprintf(&join, "  count(*), sum(t%d.amount), max(t%d.name)\nFROM planning_%02d t1\n", tables, tables-1, 1)
	for i := int64(2); i <= tables; i++ {
		fmt.Fprintf(&join, "JOIN planning_%02d t%d ON t%d.id = t%d.%s\n", i, i, i, i/2, []string{"left_id", "right_id"}[i%2])
	}
	join.WriteString("WHERE t1.id = :id;\n")
	return fmt.Sprintf("\\set id random(1, %d)\nEXPLAIN (COSTS OFF) SELECT -- plan only\n%sSELECT -- run the kept plan\n%s", joinRows, &join, &join)
}

// planningTables are read only.
func planningTables(seed int64) ownTables {
	o := ownTables{scenario: "planning", definition: 1, params: fmt.Sprintf("seed %d", seed)}
	var sums []string
	for i := int64(1); i <= joinTables; i++ {
		name := fmt.Sprintf("planning_%02d", i)
		o.tables = append(o.tables, ownTable{
			name:   name,
			create: "(id bigint, left_id bigint NOT NULL, right_id bigint NOT NULL, amount bigint NOT NULL, name text NOT NULL) WITH (autovacuum_enabled = false)",
			rows:   joinRows,
			row: fmt.Sprintf("i, %s, %s, %s, 'name ' || i", random1(joinRows, seed, 10*i), random1(joinRows, seed, 10*i+1),
				random1(1_000_000, seed, 10*i+2)),
			after: []string{
				"ALTER TABLE " + Schema + "." + name + " ADD PRIMARY KEY (id)",
				"CREATE INDEX ON " + Schema + "." + name + " (left_id)",
				"CREATE INDEX ON " + Schema + "." + name + " (right_id)",
			},
			rowSize: 205,
		})
		sums = append(sums, "(SELECT sum(hashtextextended(t::text, 0)) FROM "+Schema+"."+name+" t)")
	}
	o.check = "concat_ws(' ', " + strings.Join(sums, ", ") + ")"
	return o
}
