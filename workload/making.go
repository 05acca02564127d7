package workload

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// maker is Data in pgtlb's schema that says beforehand what Setup makes, and what
// stands in its way.
type maker interface {
	// besides is what Setup makes other than tables in pgtlb's schema.
	besides() []string
	// mayMake returns the error that Setup would end with, as far as that can be
	// known without changing anything.
	mayMake(ctx context.Context, conn *pgx.Conn) error
}

// Makes names what setting the scenario up and prewarming it make on a server that
// has nothing of pgtlb's, a phrase each; nil for a scenario without data. v is complete, as from Resolve.
func (s Scenario) Makes(v Values) []string {
	data := s.Needs(v)
	if len(data) == 0 {
		return nil
	}
	list := []string{"its tables in schema " + Schema, "extensions " + strings.Join(extensions(), " and ") + " in schema " + Schema}
	for _, d := range data {
		if m, ok := d.(maker); ok {
			list = append(list, m.besides()...)
		}
	}
	return list
}

// MayMake returns an error where setting the scenario up or prewarming it is known
// to fail, and says what to do: a schema of that name that pgtlb did not make, or a privilege
// that is missing for what has to be made. It changes nothing. v is complete.
func (s Scenario) MayMake(ctx context.Context, conn *pgx.Conn, v Values) error {
	data := s.Needs(v)
	for _, d := range data {
		if m, ok := d.(maker); ok {
			if err := m.mayMake(ctx, conn); err != nil {
				return err
			}
		}
	}
	if len(data) == 0 {
		return nil
	}
	for _, name := range extensions() {
		schema, err := extensionSchema(ctx, conn, name)
		if err != nil {
			return err
		}
		if schema != "" {
			continue
		}
		if _, err := schemaMade(ctx, conn); err != nil {
			return err
		}
	}
	return nil
}

// extensions are those that prewarming uses.
func extensions() []string { return []string{"pg_prewarm", "pg_buffercache"} }

// mayMakeTables returns why tables in pgtlb's schema cannot be made, and which
// are missing.
func mayMakeTables(ctx context.Context, conn *pgx.Conn, names ...string) (missing []string, err error) {
	made, err := schemaMade(ctx, conn)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		_, there, err := tableComment(ctx, conn, name)
		if err != nil {
			return nil, err
		}
		if !there {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil, nil
	}
	var may bool
	var user, database string
	err = conn.QueryRow(ctx, `SELECT quote_ident(current_user), quote_ident(current_database()),
		CASE WHEN $1 THEN has_schema_privilege($2, 'CREATE') ELSE has_database_privilege(current_database(), 'CREATE') END`, made, Schema).
		Scan(&user, &database, &may)
	switch {
	case err != nil:
		return nil, fmt.Errorf("looking at the right to make tables: %w", err)
	case may:
		return missing, nil
	case made:
		return nil, fmt.Errorf("user %s may not create tables in schema %s, which another user made: have that user or a superuser run GRANT CREATE, USAGE ON SCHEMA %s TO %s",
			user, Schema, Schema, user)
	}
	return nil, fmt.Errorf("user %s may not create schema %s in database %s: have its owner or a superuser run GRANT CREATE ON DATABASE %s TO %s, or use a database of your own",
		user, Schema, database, database, user)
}

func (d Dataset) besides() []string { return nil }

func (d Dataset) mayMake(ctx context.Context, conn *pgx.Conn) error {
	_, err := mayMakeTables(ctx, conn, dataTable, categoryTable)
	return err
}

func (o ownTables) besides() []string {
	if o.role == "" {
		return nil
	}
	return []string{"role " + o.role + ", which all databases of the server share"}
}

func (o ownTables) mayMake(ctx context.Context, conn *pgx.Conn) error {
	var names []string
	for _, t := range o.tables {
		names = append(names, t.name)
	}
	missing, err := mayMakeTables(ctx, conn, names...)
	if err != nil || len(missing) == 0 || o.role == "" {
		return err
	}
	return mayMakeReader(ctx, conn)
}

func (s sbtest) besides() []string { return nil }

func (s sbtest) mayMake(ctx context.Context, conn *pgx.Conn) error {
	found, err := s.found(ctx, conn)
	if err != nil || found {
		return err
	}
	return s.own().mayMake(ctx, conn)
}
