package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
)

// PointSelect reads single rows by primary key, all over the table.
func PointSelect() Scenario {
	return Scenario{
		Name:    "point-select",
		Version: 1,
		Summary: "reads one row by its id, a random one each time",
		Shows: "Every transaction touches a few random blocks of shared buffers. With 4 kB pages each backend fills its own page " +
			"table entry by entry (page faults, page tables up to 1/512 of shared memory for each backend) and nearly every block " +
			"needs a page walk; with huge pages one entry covers 2 MB or 1 GB.",
		Clients: 8,
		Params:  datasetParams(1),
		Script:  "\\set id random(1, :rows)\nSELECT * FROM test_hp_table WHERE id = :id;\n",
		Setup:   setupDataset,
		Worker:  newPointSelect,
	}
}

const pointSelectSQL = "SELECT * FROM test_hp_table WHERE id = $1"

type pointSelect struct {
	byID
	conn *pgconn.PgConn
}

func newPointSelect(ctx context.Context, conn *pgconn.PgConn, env WorkerEnv) (Worker, error) {
	if err := useSchema(ctx, conn); err != nil {
		return nil, err
	}
	w := &pointSelect{byID: newByID(env, env.Values["rows"]), conn: conn}
	if err := w.prepare(ctx, conn, pointSelectSQL); err != nil {
		return nil, err
	}
	return w, nil
}

// Do reads the next row.
func (w *pointSelect) Do(context.Context) error {
	tag, err := w.query(w.conn)
	if err != nil {
		return err
	}
	if n := tag.RowsAffected(); n != 1 {
		return fmt.Errorf("id %s of test_hp_table: %d rows instead of 1, the data is not what was set up", w.arg, n)
	}
	return nil
}

// byID is a client that runs one prepared statement with a random id from 1 to
// limit. Its buffers are reused.
type byID struct {
	rng   *rand.Rand
	limit int64
	arg   []byte
	args  [][]byte
}

// statement is the name under which a client prepares its one statement.
const statement = "pgtlb"

// int8OID is PostgreSQL's bigint.
const int8OID = 20

func newByID(env WorkerEnv, limit int64) byID {
	return byID{rng: clientRandom(env.Seed, env.Index), limit: limit, arg: make([]byte, 0, 20), args: make([][]byte, 1)}
}

func (b *byID) prepare(ctx context.Context, conn *pgconn.PgConn, sql string) error {
	if _, err := conn.Prepare(ctx, statement, sql, []uint32{int8OID}); err != nil {
		return fmt.Errorf("preparing %q: %w", sql, err)
	}
	return nil
}

// next draws the id of the next transaction.
func (b *byID) next() int64 { return 1 + b.rng.Int64N(b.limit) }

// query runs the statement for the next id and reads its result to the end, in
// text format and with Describe as pgbench does, so that both ask the same work
// of the server.
func (b *byID) query(conn *pgconn.PgConn) (pgconn.CommandTag, error) {
	b.arg = strconv.AppendInt(b.arg[:0], b.next(), 10)
	b.args[0] = b.arg
	return conn.ExecPrepared(context.Background(), statement, b.args, nil, nil).Close()
}
