package workload

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"pgtlb/probes"
)

// Residency says how much of the dataset is in shared buffers.
type Residency struct {
	Blocks   int64 // of tables and indexes
	Resident int64 // of those, in shared buffers
	// Known says how Resident was found out.
	Known string
}

// Percent is the resident share.
func (r Residency) Percent() float64 {
	if r.Blocks == 0 {
		return 100
	}
	return 100 * float64(r.Resident) / float64(r.Blocks)
}

func (r Residency) String() string {
	return fmt.Sprintf("%.1f %% of the dataset is in shared buffers (%s)", r.Percent(), r.Known)
}

// prewarmBlocks is read by one call of pg_prewarm: 32 MB with 8 kB blocks.
const prewarmBlocks = 4096

// relation is a table or index with its size.
type relation struct {
	name          string
	blocks, bytes int64
}

// Prewarm reads tables and indexes of a scenario into shared buffers and checks
// that they stayed there. It creates the extension pg_prewarm, and
// pg_buffercache for the check, in pgtlb's schema where the server has them and
// the user may. Without pg_prewarm it fails with an error that wraps
// probes.ErrUnavailable, before Setup with ErrNoData. progress may be nil.
//
// One session's prewarm fills shared buffers, not the page tables of the
// backends that use them afterwards.
func Prewarm(ctx context.Context, conns Connect, data []Data, progress func(Progress)) (Residency, error) {
	if progress == nil {
		progress = func(Progress) {}
	}
	conn, err := conns(ctx)
	if err != nil {
		return Residency{}, fmt.Errorf("prewarming: %w", err)
	}
	defer closeConn(ctx, conn)
	rels, err := relations(ctx, conn, data)
	if err != nil {
		return Residency{}, fmt.Errorf("prewarming: %w", err)
	}
	warm, err := ensureExtension(ctx, conn, "pg_prewarm")
	if err != nil {
		return Residency{}, fmt.Errorf("prewarming: %w", err)
	}
	if err := readAll(ctx, conn, warm, rels, progress); err != nil {
		return Residency{}, fmt.Errorf("prewarming: %w", err)
	}
	r, err := residency(ctx, conn, rels)
	if err != nil {
		return Residency{}, fmt.Errorf("checking residency: %w", err)
	}
	return r, nil
}

// relations lists what to prewarm with its sizes.
func relations(ctx context.Context, conn *pgx.Conn, data []Data) ([]relation, error) {
	var rels []relation
	for _, d := range data {
		names, err := d.Relations(ctx, conn)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			r := relation{name: name}
			err := conn.QueryRow(ctx, `SELECT coalesce(size / current_setting('block_size')::bigint, 0), coalesce(size, -1)
				FROM pg_relation_size(to_regclass($1)) size`, name).Scan(&r.blocks, &r.bytes)
			if err != nil {
				return nil, fmt.Errorf("measuring %s: %w", name, err)
			}
			if r.bytes < 0 {
				return nil, ErrNoData
			}
			rels = append(rels, r)
		}
	}
	return rels, nil
}

func readAll(ctx context.Context, conn *pgx.Conn, schema string, rels []relation, progress func(Progress)) error {
	p := Progress{Phase: "prewarm", Unit: "blocks"}
	for _, r := range rels {
		p.Total += r.blocks
	}
	sql := "SELECT " + pgx.Identifier{schema, "pg_prewarm"}.Sanitize() + "($1::text::regclass, 'buffer', 'main', $2, $3)"
	for _, r := range rels {
		p.Detail = r.name + ", " + gigabytes(r.bytes)
		progress(p)
		for first := int64(0); first < r.blocks; first += prewarmBlocks {
			last := min(first+prewarmBlocks, r.blocks) - 1
			if _, err := conn.Exec(ctx, sql, r.name, first, last); err != nil {
				return fmt.Errorf("reading %s: %w", r.name, err)
			}
			p.Done += last - first + 1
			progress(p)
		}
	}
	return nil
}

// residency counts the dataset's buffers with pg_buffercache, or where that is
// not to be had says what can be in shared buffers at most.
func residency(ctx context.Context, conn *pgx.Conn, rels []relation) (Residency, error) {
	var r Residency
	names := make([]string, len(rels))
	for i, rel := range rels {
		r.Blocks += rel.blocks
		names[i] = rel.name
	}
	schema, err := ensureExtension(ctx, conn, "pg_buffercache")
	if errors.Is(err, probes.ErrUnavailable) {
		r.Known = "at most: blocks read by pg_prewarm against shared_buffers, pg_buffercache is not available"
		var buffers int64
		err = conn.QueryRow(ctx, "SELECT setting::bigint FROM pg_settings WHERE name = 'shared_buffers'").Scan(&buffers)
		r.Resident = min(r.Blocks, buffers)
		return r, err
	}
	if err != nil {
		return Residency{}, err
	}
	r.Known = "pg_buffercache"
	err = conn.QueryRow(ctx, `SELECT count(*) FROM `+pgx.Identifier{schema, "pg_buffercache"}.Sanitize()+` b
		WHERE b.reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND b.relforknumber = 0
		AND b.relfilenode IN (SELECT pg_relation_filenode(n::regclass) FROM unnest($1::text[]) n)`, names).Scan(&r.Resident)
	return r, err
}

// ensureExtension finds or creates an extension and returns its schema. Where
// the server lacks it or the user may not create it, the error wraps
// probes.ErrUnavailable.
func ensureExtension(ctx context.Context, conn *pgx.Conn, name string) (schema string, err error) {
	if schema, err = extensionSchema(ctx, conn, name); schema != "" || err != nil {
		return schema, err
	}
	// Two sessions that create it at once would collide.
	if err := lockSetup(ctx, conn); err != nil {
		return "", err
	}
	defer unlockSetup(ctx, conn)
	if err = ensureSchema(ctx, conn); err == nil {
		err = exec(ctx, conn.PgConn(), "CREATE EXTENSION IF NOT EXISTS "+name+" SCHEMA "+Schema)
	}
	var refused *pgconn.PgError
	if errors.As(err, &refused) && !conn.IsClosed() && ctx.Err() == nil {
		return "", &probes.Unavailable{
			What:   name,
			Reason: refused.Message,
			Remedy: "install PostgreSQL's contrib modules and, as a superuser in this database, run CREATE EXTENSION " + name,
		}
	}
	if err != nil {
		return "", fmt.Errorf("creating extension %s: %w", name, err)
	}
	return extensionSchema(ctx, conn, name)
}

// extensionSchema returns where an extension is installed, empty if nowhere.
func extensionSchema(ctx context.Context, conn *pgx.Conn, name string) (string, error) {
	var schema string
	err := conn.QueryRow(ctx, `SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
		WHERE e.extname = $1`, name).Scan(&schema)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("looking for extension %s: %w", name, err)
	}
	return schema, nil
}
