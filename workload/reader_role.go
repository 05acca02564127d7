package workload

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// readerRole is the role that the policies of row-security are for. Roles belong
// to the whole server, so it carries a mark of its own and serves all databases.
const readerRole = "pgtlb_reader"

const readerMark = "pgtlb role: reads under the policies of row-security"

// insufficientPrivilege is the SQLSTATE of that name.
const insufficientPrivilege = "42501"

// ensureReader makes the role, or finds the one that pgtlb made, and lets the
// user become it. A role of that name without pgtlb's mark is an error.
func ensureReader(ctx context.Context, tx pgx.Tx) error {
	found, err := readerMade(ctx, tx)
	if err != nil {
		return err
	}
	if !found {
		_, err = tx.Exec(ctx, createReader)
	}
	if err == nil {
		err = becomeReader(ctx, tx)
	}
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == insufficientPrivilege {
		return readerRefused("the server says: " + refused.Message)
	}
	if err != nil {
		return fmt.Errorf("making role %s: %w", readerRole, err)
	}
	return nil
}

const createReader = "CREATE ROLE " + readerRole + " NOLOGIN; COMMENT ON ROLE " + readerRole + " IS '" + readerMark + "'"

func readerRefused(why string) error {
	return fmt.Errorf("row-security needs a role and the right to make it, CREATEROLE; or have a superuser run: %s; GRANT %s TO your user (%s)",
		createReader, readerRole, why)
}

// readerMade tells whether the role is there; one without pgtlb's mark is an error.
func readerMade(ctx context.Context, q queryRower) (bool, error) {
	mark, found, err := roleComment(ctx, q, readerRole)
	if err != nil {
		return false, err
	}
	if found && mark != readerMark {
		return false, fmt.Errorf("this server has a role %s that pgtlb did not make (its comment is not %q): rename it", readerRole, readerMark)
	}
	return found, nil
}

// mayMakeReader returns an error where the role is not there and cannot be made.
func mayMakeReader(ctx context.Context, q queryRower) error {
	found, err := readerMade(ctx, q)
	if err != nil || found {
		return err
	}
	var may bool
	if err := q.QueryRow(ctx, "SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user").Scan(&may); err != nil {
		return fmt.Errorf("looking at the right to make role %s: %w", readerRole, err)
	}
	if !may {
		return readerRefused("the user has no CREATEROLE")
	}
	return nil
}

// becomeReader makes sure that the user may SET ROLE to it.
func becomeReader(ctx context.Context, tx pgx.Tx) error {
	var may bool
	err := tx.QueryRow(ctx, `SELECT pg_has_role($1::name,
		CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END)`, readerRole).Scan(&may)
	if err == nil && !may {
		_, err = tx.Exec(ctx, "GRANT "+readerRole+" TO CURRENT_USER")
	}
	return err
}

// roleComment returns the comment of a role; found tells whether the role exists.
func roleComment(ctx context.Context, q queryRower, role string) (comment string, found bool, err error) {
	err = q.QueryRow(ctx, "SELECT coalesce(shobj_description(oid, 'pg_authid'), '') FROM pg_roles WHERE rolname = $1", role).Scan(&comment)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("looking for role %s: %w", role, err)
	}
	return comment, true, nil
}
