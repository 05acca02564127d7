package workload

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// DataSize says how large the dataset of a database is. Sizes are in bytes.
type DataSize struct {
	Rows, Seed    int64
	Fingerprint   string // as recorded when the tables were made
	TableBytes    int64  // both tables
	IndexBytes    int64  // both indexes
	SharedBuffers int64
}

// ErrNoData is returned where a scenario's data has not been made.
var ErrNoData = errors.New("the scenario's data is not in this database")

// Size measures the dataset. It fails with ErrNoData before Setup.
func Size(ctx context.Context, conn *pgx.Conn) (DataSize, error) {
	m, err := readMark(ctx, conn, dataTable)
	if err != nil {
		return DataSize{}, err
	}
	if m == nil {
		return DataSize{}, ErrNoData
	}
	s := DataSize{Rows: m.rows, Seed: m.seed, Fingerprint: m.fingerprint}
	err = conn.QueryRow(ctx, `SELECT sum(pg_table_size(t)), sum(pg_indexes_size(t)),
		(SELECT pg_size_bytes(current_setting('shared_buffers')))
		FROM unnest($1::text[]::regclass[]) t`,
		[]string{Schema + "." + dataTable, Schema + "." + categoryTable}).
		Scan(&s.TableBytes, &s.IndexBytes, &s.SharedBuffers)
	if err != nil {
		return DataSize{}, fmt.Errorf("measuring the dataset: %w", err)
	}
	return s, nil
}

// Fits tells whether tables and indexes have room in shared buffers.
func (s DataSize) Fits() bool { return s.TableBytes+s.IndexBytes <= s.SharedBuffers }

// String is the size line: "1,000,000 rows: 0.11 GB table + 0.02 GB index, fits
// shared_buffers 2 GB".
func (s DataSize) String() string {
	fits := "fits"
	if !s.Fits() {
		fits = "does not fit"
	}
	return fmt.Sprintf("%s rows: %s table + %s index, %s shared_buffers %s",
		count(s.Rows), gigabytes(s.TableBytes), gigabytes(s.IndexBytes), fits, gigabytes(s.SharedBuffers))
}

// gigabytes writes bytes in PostgreSQL's GB (2^30), and in MB what would round to
// less than 0.01 GB.
func gigabytes(n int64) string {
	const mb, gb = 1 << 20, 1 << 30
	switch {
	case n%gb == 0:
		return fmt.Sprintf("%d GB", n/gb)
	case n < gb/100:
		return fmt.Sprintf("%.1f MB", float64(n)/mb)
	default:
		return fmt.Sprintf("%.2f GB", float64(n)/gb)
	}
}
