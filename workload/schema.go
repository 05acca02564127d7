package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Schema holds everything that pgtlb makes in a database. It carries a comment
// as pgtlb's mark; a schema of this name without the mark is never touched.
const Schema = "pgtlb"

const schemaMark = "made by pgtlb: data of its load scenarios"

// setupLock is the key of the advisory lock under which data is made, so that
// two set-ups in one database follow each other.
const setupLock int64 = 0x7067746c62 // "pgtlb"

// stepTimeout bounds the short statements of a set-up, which go on when the
// set-up is cancelled because they are what leaves things tidy.
const stepTimeout = 30 * time.Second

// useSchema lets a session find the scenarios' tables by their bare names.
const useSchema = "SET search_path = " + Schema + ", public"

// exec runs one or more statements, all in one transaction.
func exec(ctx context.Context, conn *pgconn.PgConn, sql string) error {
	return conn.Exec(ctx, sql).Close()
}

// short returns a context for a statement that has to run even if ctx ends.
func short(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), stepTimeout)
}

// closeTimeout bounds the end of sessions.
const closeTimeout = time.Second

// closeConn ends a session and waits, within bounds, until nothing of it is left
// in this process; what goes wrong then matters to nobody.
func closeConn(ctx context.Context, conn *pgx.Conn) { closeAll(ctx, []*pgx.Conn{conn}) }

// closeAll is closeConn for many sessions, some of which may be nil.
func closeAll(ctx context.Context, conns []*pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	for _, conn := range conns {
		if conn != nil {
			_ = conn.Close(ctx)
		}
	}
	for _, conn := range conns {
		if conn == nil {
			continue
		}
		select {
		case <-conn.PgConn().CleanupDone():
		case <-ctx.Done():
		}
	}
}

// lockSetup waits until no other set-up is at work in this database. The lock
// is given back by unlockSetup or with the end of the session.
func lockSetup(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", setupLock); err != nil {
		return fmt.Errorf("waiting for another set-up to end: %w", err)
	}
	return nil
}

func unlockSetup(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := short(ctx)
	defer cancel()
	// It fails only if the session is gone, and the lock with it.
	_, _ = conn.Exec(ctx, "SELECT pg_advisory_unlock($1)", setupLock)
}

// underLock runs do on a session of its own that holds the set-up lock.
func underLock(ctx context.Context, conns Connect, do func(control *pgx.Conn) error) error {
	conn, err := conns(ctx)
	if err != nil {
		return err
	}
	defer closeConn(ctx, conn)
	if err := lockSetup(ctx, conn); err != nil {
		return err
	}
	defer unlockSetup(ctx, conn)
	return do(conn)
}

// schemaMade tells whether the schema is there; one without pgtlb's mark is an
// error.
func schemaMade(ctx context.Context, conn *pgx.Conn) (bool, error) {
	var mark *string
	err := conn.QueryRow(ctx,
		"SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = $1", Schema).Scan(&mark)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("looking for schema %s: %w", Schema, err)
	case mark == nil || *mark != schemaMark:
		return false, fmt.Errorf("this database has a schema %s that pgtlb did not make (its comment is not %q): rename it or use another database", Schema, schemaMark)
	}
	return true, nil
}

// ensureSchema makes the schema or finds the one it made before.
func ensureSchema(ctx context.Context, conn *pgx.Conn) error {
	made, err := schemaMade(ctx, conn)
	if err != nil || made {
		return err
	}
	err = exec(ctx, conn.PgConn(), "CREATE SCHEMA "+Schema+"; COMMENT ON SCHEMA "+Schema+" IS '"+schemaMark+"'")
	if err != nil {
		return fmt.Errorf("creating schema %s: %w", Schema, err)
	}
	return nil
}
