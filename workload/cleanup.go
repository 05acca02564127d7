package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// cleanupWait bounds how long a removal waits for others that use the object.
const cleanupWait = "5s"

// Cleanup removes what Marked lists without a reason to keep it, and nothing else.
// report is called for every object of that list as it goes or stays. Kept is then
// also set where the server refuses: somebody uses the object, something depends on it (nothing
// is dropped with what depends on it), or the user may not drop it. Where there is nothing of pgtlb's, nothing happens.
//
// It waits for a set-up under way. With an error, what was removed until then has
// been reported.
func Cleanup(ctx context.Context, conn *pgx.Conn, report func(Object)) error {
	if err := lockSetup(ctx, conn); err != nil {
		return fmt.Errorf("cleaning up: %w", err)
	}
	defer unlockSetup(ctx, conn)
	all, err := Marked(ctx, conn)
	if err != nil {
		return fmt.Errorf("cleaning up: %w", err)
	}
	var todo []Object
	for _, o := range all {
		if o.Kept != "" {
			report(o)
		} else {
			todo = append(todo, o)
		}
	}
	// Tables may refer to each other: the refused are tried again while others go.
	for len(todo) > 0 {
		var refused []Object
		for _, o := range todo {
			if o.Kept, err = drop(ctx, conn, o); err != nil {
				return fmt.Errorf("cleaning up: %w", err)
			}
			if o.Kept != "" {
				refused = append(refused, o)
			} else {
				report(o)
			}
		}
		if len(refused) == len(todo) {
			for _, o := range refused {
				report(o)
			}
			break
		}
		todo = refused
	}
	return nil
}

// drop removes an object, or says why the server does not.
func drop(ctx context.Context, conn *pgx.Conn, o Object) (kept string, err error) {
	sql := "SET LOCAL lock_timeout = '" + cleanupWait + "'; "
	if o.Kind == "role" {
		var there bool
		if err := conn.QueryRow(ctx, "SELECT to_regnamespace($1) IS NOT NULL", Schema).Scan(&there); err != nil {
			return "", err
		}
		if there { // the schema is kept: what pgtlb granted on it goes
			sql += "REVOKE USAGE ON SCHEMA " + Schema + " FROM " + o.Name + "; "
		}
	}
	err = exec(ctx, conn.PgConn(), sql+"DROP "+strings.ToUpper(o.Kind)+" IF EXISTS "+o.Name)
	var said *pgconn.PgError
	// Dependent objects, lock timeout, object in use, insufficient privilege.
	if errors.As(err, &said) && slices.Contains([]string{"2BP01", "55P03", "55006", insufficientPrivilege}, said.Code) {
		return strings.TrimSpace(said.Message + " " + said.Detail), nil
	}
	if err != nil {
		return "", fmt.Errorf("dropping %s: %w", o, err)
	}
	return "", nil
}
