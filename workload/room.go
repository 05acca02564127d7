package workload

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Connections is how many sessions a server has room for.
type Connections struct {
	Max int // max_connections
	// Superusers and Reserved are kept back by superuser_reserved_connections and,
	// from PostgreSQL 16 on, reserved_connections.
	Superusers, Reserved int
	// InUse are sessions there are now, the asking one included. WAL senders have
	// slots of their own.
	InUse int
	// Free is how many more this user can open in this database. The reserved are
	// left alone even where the user might have them.
	Free int
	// Limit says which narrower limit Free comes from: "role app has CONNECTION
	// LIMIT 20, 3 of them in use"; empty where it is the server's own.
	Limit string
}

// Room counts the sessions of a server against its limits.
func Room(ctx context.Context, conn *pgx.Conn) (Connections, error) {
	var c Connections
	var role, database string
	var roleLimit, ofRole, databaseLimit, ofDatabase int
	// Without pg_read_all_stats the type of others' sessions is not to be seen,
	// but their database is: those count.
	err := conn.QueryRow(ctx, `WITH s AS (SELECT datid, usesysid FROM pg_stat_activity
			WHERE backend_type = 'client backend' OR backend_type IS NULL AND datid IS NOT NULL)
		SELECT current_setting('max_connections')::int, current_setting('superuser_reserved_connections')::int,
			coalesce(current_setting('reserved_connections', true), '0')::int, (SELECT count(*) FROM s),
			r.rolname, CASE WHEN r.rolsuper THEN -1 ELSE r.rolconnlimit END, (SELECT count(*) FROM s WHERE usesysid = r.oid),
			d.datname, CASE WHEN r.rolsuper THEN -1 ELSE d.datconnlimit END, (SELECT count(*) FROM s WHERE datid = d.oid)
		FROM pg_roles r, pg_database d WHERE r.rolname = session_user AND d.datname = current_database()`).
		Scan(&c.Max, &c.Superusers, &c.Reserved, &c.InUse, &role, &roleLimit, &ofRole, &database, &databaseLimit, &ofDatabase)
	if err != nil {
		return Connections{}, fmt.Errorf("counting the server's sessions: %w", err)
	}
	c.Free = max(0, c.Max-c.Superusers-c.Reserved-c.InUse)
	c.narrow("role "+role, roleLimit, ofRole)
	c.narrow("database "+database, databaseLimit, ofDatabase)
	return c, nil
}

// narrow takes a limit of a role or database into account; -1 is none.
func (c *Connections) narrow(of string, limit, used int) {
	if limit < 0 || limit-used >= c.Free {
		return
	}
	c.Free = max(0, limit-used)
	c.Limit = fmt.Sprintf("%s has CONNECTION LIMIT %d, %d of them in use", of, limit, used)
}

// OwnSessions are those that a load's set-up and its watching need besides the
// clients.
const OwnSessions = 3

// Check returns an error where n clients more, and pgtlb's own sessions, do not
// fit, with all that decides it.
func (c Connections) Check(n int) error {
	most := max(0, c.Free-OwnSessions)
	switch {
	case n <= most:
		return nil
	case c.Limit != "":
		return fmt.Errorf("%d clients do not fit, there is room for %d and %d sessions of pgtlb's own: %s; raise it or use fewer clients", n, most, OwnSessions, c.Limit)
	}
	kept := fmt.Sprintf("%d are reserved for superusers", c.Superusers)
	if c.Reserved > 0 {
		kept += fmt.Sprintf(", %d by reserved_connections", c.Reserved)
	}
	return fmt.Errorf("%d clients do not fit, there is room for %d and %d sessions of pgtlb's own: max_connections is %d, %s, %d are in use; raise max_connections or use fewer clients",
		n, most, OwnSessions, c.Max, kept, c.InUse)
}
