package workload

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/fnv"
	"slices"

	"github.com/jackc/pgx/v5"
)

// samples is the number of rows that a fingerprint looks at.
const samples = 1000

// expected is the fingerprint that the tables of d have: it stands for the
// number of rows and for a sample of them spread evenly over all ids.
func (d Dataset) expected() string {
	p := newDigest(d.Rows, Categories)
	for _, id := range d.sampleIDs() {
		row := [dataColumns]int64{id}
		for c := uint64(1); c < dataColumns; c++ {
			row[c] = int64(value(d.Seed, id, c))
		}
		p.add(row)
	}
	return p.String()
}

// Fingerprint reads the fingerprint of the tables that a database holds,
// whatever d is.
func (d Dataset) Fingerprint(ctx context.Context, conn *pgx.Conn) (string, error) {
	var rows, categories int64
	// The ids are 1 … rows, so the largest is their number and the index has it.
	err := conn.QueryRow(ctx, `SELECT coalesce((SELECT max(id) FROM `+Schema+`.`+dataTable+`), 0),
		(SELECT count(*) FROM `+Schema+`.`+categoryTable+`)`).Scan(&rows, &categories)
	if err != nil {
		return "", fmt.Errorf("reading the fingerprint of the dataset: %w", err)
	}
	found, err := conn.Query(ctx, `SELECT id, col1, col2, col3, col4, col5, col6, col7, col8, col9
		FROM `+Schema+`.`+dataTable+` WHERE id = ANY($1) ORDER BY id`, Dataset{Rows: rows}.sampleIDs())
	if err != nil {
		return "", fmt.Errorf("reading the fingerprint of the dataset: %w", err)
	}
	p := newDigest(rows, categories)
	var r [dataColumns]int64
	_, err = pgx.ForEachRow(found, []any{&r[0], &r[1], &r[2], &r[3], &r[4], &r[5], &r[6], &r[7], &r[8], &r[9]}, func() error {
		p.add(r)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("reading the fingerprint of the dataset: %w", err)
	}
	return p.String(), nil
}

// sampleIDs are in ascending order and hold the first and the last id.
func (d Dataset) sampleIDs() []int64 {
	n := min(d.Rows, samples)
	ids := make([]int64, 0, n)
	for i := range n {
		ids = append(ids, 1+(d.Rows-1)/max(n-1, 1)*i)
	}
	if n > 0 && ids[n-1] != d.Rows {
		ids = append(ids, d.Rows)
	}
	return slices.Compact(ids)
}

// digest is a fingerprint in the making.
type digest struct{ h hash.Hash64 }

func newDigest(rows, categories int64) digest {
	p := digest{fnv.New64a()}
	p.number(rows)
	p.number(categories)
	return p
}

func (p digest) add(row [dataColumns]int64) {
	for _, v := range row {
		p.number(v)
	}
}

func (p digest) number(v int64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(v))
	p.h.Write(b[:]) // a hash never fails
}

func (p digest) String() string { return fmt.Sprintf("%016x", p.h.Sum64()) }
