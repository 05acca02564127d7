package workload

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// markPrefix begins the comment on every table and role that pgtlb makes.
const markPrefix = "pgtlb "

// Object is something that pgtlb made, or that lies in its schema.
type Object struct {
	Kind  string // as SQL has it: "table", "schema", "extension", "role", "function" …
	Name  string // qualified and quoted as in SQL
	Bytes int64  // of a table with its indexes
	// Kept says why Cleanup leaves it; empty for what is removed.
	Kept string
}

func (o Object) String() string { return o.Kind + " " + o.Name }

// Why objects stay.
const (
	keptForeign = "it does not carry pgtlb's mark"
	keptShared  = "objects in other databases need it: "
	keptFull    = "it holds what pgtlb did not make"
)

// Marked lists everything in this database that carries pgtlb's mark, in the order
// in which Cleanup removes it: tables in any schema, pg_prewarm and pg_buffercache in schema
// pgtlb, the schema, and the role of row-security, which belongs to the whole server.
// Before the schema come the objects in it that are not pgtlb's; with them it is kept.
func Marked(ctx context.Context, conn *pgx.Conn) ([]Object, error) {
	var all []Object
	for _, part := range []func(context.Context, *pgx.Conn) ([]Object, error){markedTables, inSchema, markedSchema, markedRole} {
		some, err := part(ctx, conn)
		if err != nil {
			return nil, fmt.Errorf("looking for what pgtlb made: %w", err)
		}
		all = append(all, some...)
	}
	foreign := false
	for i := range all {
		foreign = foreign || all[i].Kept == keptForeign
		if all[i].Kind == "schema" && foreign && all[i].Kept == "" {
			all[i].Kept = keptFull
		}
	}
	return all, nil
}

// objects runs a query of kind, name, bytes and the reason to keep it.
func objects(ctx context.Context, conn *pgx.Conn, sql string, args ...any) ([]Object, error) {
	rows, err := conn.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Object])
}

func markedTables(ctx context.Context, conn *pgx.Conn) ([]Object, error) {
	return objects(ctx, conn, `SELECT 'table', format('%I.%I', n.nspname, c.relname), coalesce(pg_total_relation_size(c.oid), 0), ''
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'p') AND starts_with(obj_description(c.oid, 'pg_class'), $1) ORDER BY 2`, markPrefix)
}

// inSchema lists what else lies in schema pgtlb. Members of extensions go with
// those, and sequences, indexes and types of tables with the tables.
func inSchema(ctx context.Context, conn *pgx.Conn) ([]Object, error) {
	return objects(ctx, conn, `SELECT o.type, o.identity, 0::bigint,
			CASE WHEN d.classid = 'pg_extension'::regclass AND o.name = ANY($2) THEN '' ELSE $3 END
		FROM pg_depend d CROSS JOIN LATERAL pg_identify_object(d.classid, d.objid, d.objsubid) o
		WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = (SELECT oid FROM pg_namespace WHERE nspname = $1)
		AND NOT EXISTS (SELECT FROM pg_depend m WHERE m.classid = d.classid AND m.objid = d.objid AND m.deptype IN ('a', 'i', 'e'))
		AND NOT EXISTS (SELECT FROM pg_class c WHERE d.classid = 'pg_class'::regclass AND c.oid = d.objid
			AND c.relkind IN ('r', 'p') AND starts_with(obj_description(c.oid, 'pg_class'), $4))
		ORDER BY 4, 1, 2`, Schema, extensions(), keptForeign, markPrefix)
}

func markedSchema(ctx context.Context, conn *pgx.Conn) ([]Object, error) {
	return objects(ctx, conn, `SELECT 'schema', format('%I', nspname), 0::bigint,
			CASE WHEN obj_description(oid, 'pg_namespace') = $2 THEN '' ELSE $3 END
		FROM pg_namespace WHERE nspname = $1`, Schema, schemaMark, keptForeign)
}

// markedRole looks also for other databases in which something depends on the role.
func markedRole(ctx context.Context, conn *pgx.Conn) ([]Object, error) {
	return objects(ctx, conn, `SELECT 'role', format('%I', r.rolname), 0::bigint,
			CASE WHEN NOT coalesce(starts_with(shobj_description(r.oid, 'pg_authid'), $2), false) THEN $3
				ELSE coalesce((SELECT $4 || string_agg(DISTINCT quote_ident(b.datname), ', ') FROM pg_shdepend s JOIN pg_database b ON b.oid = s.dbid
					WHERE s.refclassid = 'pg_authid'::regclass AND s.refobjid = r.oid AND b.datname <> current_database()), '') END
		FROM pg_roles r WHERE r.rolname = $1`, readerRole, markPrefix, keptForeign, keptShared)
}
