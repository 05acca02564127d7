package main

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// connection holds the flags that name a server, with libpq's meaning.
type connection struct {
	host, user, database string
	port                 int
}

func (c *connection) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&c.host, "host", "h", "", "host name, or directory of the Unix socket (PGHOST)")
	f.IntVarP(&c.port, "port", "p", 0, "port (PGPORT)")
	f.StringVarP(&c.user, "username", "U", "", "user (PGUSER)")
	f.StringVarP(&c.database, "dbname", "d", "", "database, URI or key=value string (PGDATABASE)")
}

// config makes the connection configuration. What is not given comes from the
// PG* variables, the service file and ~/.pgpass, as with psql.
func (c *connection) config(args []string) (*pgx.ConnConfig, error) {
	dsn := c.database
	if len(args) > 0 {
		dsn = args[0]
	}
	if dsn != "" && !strings.Contains(dsn, "://") && !strings.Contains(dsn, "=") {
		dsn = "dbname=" + quote(dsn)
	}
	dsn = c.override(dsn)
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("reading the connection string: %w", err)
	}
	return cfg, nil
}

// override adds the flags, which win over what the string says.
func (c *connection) override(dsn string) string {
	set := map[string]string{"host": c.host, "user": c.user}
	if c.port != 0 {
		set["port"] = strconv.Itoa(c.port)
	}
	if c.database != "" && dsn != "" && !strings.HasPrefix(dsn, "dbname=") && !strings.ContainsAny(c.database, "=/") {
		set["dbname"] = c.database
	}
	if strings.Contains(dsn, "://") {
		u, err := url.Parse(dsn)
		if err != nil {
			return dsn // pgx says what is wrong with it
		}
		q := u.Query()
		for k, v := range set {
			if v != "" {
				q.Set(k, v)
			}
		}
		u.RawQuery = q.Encode()
		return u.String()
	}
	for _, k := range []string{"host", "port", "user", "dbname"} {
		if v := set[k]; v != "" {
			dsn = strings.TrimSpace(dsn + " " + k + "=" + quote(v))
		}
	}
	return dsn
}

func quote(v string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(v) + "'"
}

// isTerminal tells whether a person can see and type.
func (a *app) isTerminal() bool {
	out, ok := a.out.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(out.Fd())) && a.in != nil && term.IsTerminal(int(a.in.Fd()))
}
