package workload

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// JoinAggregate joins a short range of ids with the categories and aggregates.
func JoinAggregate() Scenario {
	return Scenario{
		Name:    "join-aggregate",
		Version: 1,
		Summary: "joins 51 neighbouring rows with 100,000 categories, groups and sorts them",
		Shows: "Each transaction looks up 51 random categories and then computes on them in private memory, so page walks and " +
			"page faults are a smaller part of its work than in point-select: the gain from huge pages should be there, but smaller.",
		Clients: 8,
		// The script leaves 100 ids free at the end.
		Params: datasetParams(joinMargin + 1),
		Script: "\\set id random(1, :rows - 100)\n" + joinSelect + "\nWHERE t.id BETWEEN :id AND :id + 50\n" + joinGroup + ";\n",
		Setup:  setupDataset,
		Worker: newJoinAggregate,
	}
}

// joinMargin keeps the whole range of a transaction inside the table.
const joinMargin = 100

const (
	joinSelect = `SELECT c.category_name, COUNT(t.id) AS total_count, AVG(t.col1) AS avg_col1,
  SUM(t.col2) AS sum_col2, MAX(t.col3) - MIN(t.col4) AS spread
FROM test_hp_table t JOIN test_hp_categories c ON c.cat_id = (t.col5 % 100000) + 1`
	joinGroup        = `GROUP BY c.category_name ORDER BY spread DESC, c.category_name`
	joinAggregateSQL = joinSelect + " WHERE t.id BETWEEN $1 AND $1 + 50 " + joinGroup
)

type joinAggregate struct {
	byID
	conn *pgconn.PgConn
}

func newJoinAggregate(ctx context.Context, conn *pgconn.PgConn, env WorkerEnv) (Worker, error) {
	if err := useSchema(ctx, conn); err != nil {
		return nil, err
	}
	// One client is one backend: parallel workers would blur what a client costs.
	if err := exec(ctx, conn, "SET max_parallel_workers_per_gather = 0"); err != nil {
		return nil, fmt.Errorf("setting max_parallel_workers_per_gather: %w", err)
	}
	w := &joinAggregate{byID: newByID(env, env.Values["rows"]-joinMargin), conn: conn}
	if err := w.prepare(ctx, conn, joinAggregateSQL); err != nil {
		return nil, err
	}
	return w, nil
}

// Do aggregates the next range.
func (w *joinAggregate) Do(context.Context) error {
	tag, err := w.query(w.conn)
	if err != nil {
		return err
	}
	if tag.RowsAffected() == 0 {
		return fmt.Errorf("ids from %s of test_hp_table: no rows, the data is not what was set up", w.arg)
	}
	return nil
}
