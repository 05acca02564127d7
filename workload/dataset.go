package workload

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// Categories is the number of rows of test_hp_categories.
const Categories = 100_000

// DefaultRows is the size of test_hp_table unless asked otherwise.
const DefaultRows = 1_000_000

// definition is the version of what the tables hold. Raise it when columns,
// indexes or the way values are made change: older data is then made anew.
const definition = 1

// Dataset is what most scenarios read: test_hp_table with Rows rows of
// ten bigint columns, random from Seed, and test_hp_categories. Both are
// unlogged: a crash of the server empties them, which Setup notices.
type Dataset struct {
	Rows int64
	Seed int64
}

// maxRows is the size of test_hp_table at most.
const maxRows = 1_000_000_000_000

// datasetParams are the parameters of every scenario that works on the dataset.
func datasetParams(minRows, maxRows int64) []Param {
	return []Param{
		{Name: "rows", Default: DefaultRows, Min: minRows, Max: maxRows, Meaning: "rows of test_hp_table"},
		{Name: "data_seed", Default: 1, Min: math.MinInt64, Max: math.MaxInt64, Meaning: "seed of the values in test_hp_table"},
	}
}

// dataset is the Data of those scenarios.
func dataset(v Values) []Data { return []Data{Dataset{Rows: v["rows"], Seed: v["data_seed"]}} }

// Relations are the tables and their indexes, the largest first.
func (d Dataset) Relations(context.Context, *pgx.Conn) ([]string, error) {
	return []string{Schema + "." + dataTable, Schema + "." + dataIndex, Schema + "." + categoryTable, Schema + "." + categoryIndex}, nil
}

// Estimate counts full pages: 75 rows of 109 bytes in each, index entries of 20
// bytes in pages filled to nine tenths, and the categories.
func (d Dataset) Estimate() int64 {
	const row, category = 109 + 22, 53 + 22
	return row*d.Rows + category*Categories
}

// Setup makes the tables in schema pgtlb, or finds them made already with the
// same definition, seed and rows and changes nothing. Tables of other rows or
// seed are replaced; tables that pgtlb did not make are never touched and are an
// error.
//
// New tables are built beside the old ones, indexed, analyzed, and take their
// place in one transaction, so that a set-up that is cancelled or fails leaves
// the database as it was. progress may be nil; it is called by the calling
// goroutine.
func (d Dataset) Setup(ctx context.Context, conns Connect, progress func(Progress)) error {
	if d.Rows < 1 {
		return errors.New("rows must be at least 1")
	}
	if progress == nil {
		progress = func(Progress) {}
	}
	err := underLock(ctx, conns, func(control *pgx.Conn) error {
		why, err := d.missing(ctx, control)
		if err != nil {
			return err
		}
		if why == "" {
			progress(foundRows(d.Rows))
			return nil
		}
		return d.build(ctx, control, conns, why, progress)
	})
	if err != nil {
		return fmt.Errorf("setting up the dataset: %w", err)
	}
	return nil
}

// foundRows is the progress of a set-up that has nothing to do.
func foundRows(n int64) Progress {
	return Progress{Phase: "load", Detail: "found " + count(n) + " rows from an earlier set-up", Done: n, Total: n, Unit: "rows"}
}

// notMade is the reason for making the tables the first time.
const notMade = "there are no tables yet"

// missing returns why the tables have to be made, empty if they are there. It
// removes what a set-up that was killed has left.
func (d Dataset) missing(ctx context.Context, conn *pgx.Conn) (string, error) {
	ctx, cancel := short(ctx)
	defer cancel()
	if err := ensureSchema(ctx, conn); err != nil {
		return "", err
	}
	if err := dropUnfinished(ctx, conn); err != nil {
		return "", err
	}
	data, err := readMark(ctx, conn, dataTable)
	if err != nil {
		return "", err
	}
	categories, err := readMark(ctx, conn, categoryTable)
	if err != nil {
		return "", err
	}
	switch {
	case data == nil || categories == nil:
		return notMade, nil
	case *data != *categories:
		return "the two tables are not of one set-up", nil
	case data.definition != definition:
		return "another version of pgtlb made the tables", nil
	case data.rows != d.Rows:
		return fmt.Sprintf("the tables hold %s rows instead of %s", count(data.rows), count(d.Rows)), nil
	case data.seed != d.Seed:
		return fmt.Sprintf("the tables were made from seed %d instead of %d", data.seed, d.Seed), nil
	}
	is, err := d.Fingerprint(ctx, conn)
	if err != nil {
		return "", err
	}
	if want := d.expected(); is != want {
		return "the tables lost or changed rows, as a crash of the server does to unlogged tables", nil
	}
	return "", nil
}

const (
	dataTable     = "test_hp_table"
	dataIndex     = "idx_test_hp_id"
	categoryTable = "test_hp_categories"
	categoryIndex = "idx_test_hp_cat_id"
	// unfinished ends the names of what is being built.
	unfinished = "_unfinished"
)

// mark is what the comment on each table says about its content.
type mark struct {
	definition  int
	seed, rows  int64
	fingerprint string
}

const (
	markFormat     = "pgtlb dataset: definition %d, seed %d, rows %d, fingerprint %s"
	unfinishedMark = "pgtlb dataset: being built"
)

func (m mark) String() string {
	return fmt.Sprintf(markFormat, m.definition, m.seed, m.rows, m.fingerprint)
}

func parseMark(comment string) (mark, error) {
	var m mark
	if _, err := fmt.Sscanf(comment, markFormat, &m.definition, &m.seed, &m.rows, &m.fingerprint); err != nil {
		return mark{}, fmt.Errorf("reading the mark %q: %w", comment, err)
	}
	return m, nil
}

// tableComment returns the comment of a relation in pgtlb's schema: ok tells
// whether the relation exists; one without comment has an empty one.
func tableComment(ctx context.Context, conn *pgx.Conn, name string) (comment string, ok bool, err error) {
	err = conn.QueryRow(ctx, `SELECT coalesce(obj_description(c.oid, 'pg_class'), '')
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relname = $2`, Schema, name).Scan(&comment)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("looking for table %s.%s: %w", Schema, name, err)
	}
	return comment, true, nil
}

// readMark returns the mark of a table, nil if there is no such table, and an
// error if pgtlb did not make it.
func readMark(ctx context.Context, conn *pgx.Conn, table string) (*mark, error) {
	comment, ok, err := tableComment(ctx, conn, table)
	if err != nil || !ok {
		return nil, err
	}
	m, err := parseMark(comment)
	if err != nil {
		return nil, notOurs(table)
	}
	return &m, nil
}

// notOurs is the error of a table that stands where pgtlb's would.
func notOurs(table string) error {
	return fmt.Errorf("table %s.%s does not carry pgtlb's mark, so it is not replaced: rename or drop it, or use another database", Schema, table)
}

// dropUnfinished removes half-made tables, and only those with pgtlb's mark.
func dropUnfinished(ctx context.Context, conn *pgx.Conn) error {
	for _, table := range []string{dataTable + unfinished, categoryTable + unfinished} {
		comment, ok, err := tableComment(ctx, conn, table)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if comment != unfinishedMark {
			return fmt.Errorf("table %s.%s does not carry pgtlb's mark, so it is not dropped: rename or drop it, or use another database", Schema, table)
		}
		if err := exec(ctx, conn.PgConn(), "DROP TABLE "+Schema+"."+table); err != nil {
			return fmt.Errorf("dropping the half-made table %s.%s: %w", Schema, table, err)
		}
	}
	return nil
}

// count writes a number with thousands separated: 1,000,000.
func count(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
