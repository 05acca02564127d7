package probes

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed sql/server.sql
var serverSQL string

//go:embed sql/settings.sql
var settingsSQL string

// Info asks the server about itself and looks at its first process. What this
// version of the server, this role or this machine does not show stays empty;
// an error means that the server did not answer.
func (s *Server) Info(ctx context.Context) (ServerInfo, error) {
	var info ServerInfo
	var f serverFacts
	var pm postmaster
	err := s.use(ctx, func(c *session) error {
		if err := queryServer(ctx, c, &info, &f); err != nil {
			return fmt.Errorf("asking the server about itself: %w", err)
		}
		var why error
		if pm, why = findPostmaster(s.roots, c); why != nil {
			info.NoPostmasterWhy = reasonOf(why)
		}
		return nil
	})
	if err != nil {
		return ServerInfo{}, err
	}
	info.PostmasterPid = pm.pid
	info.HugePages = hugePagesOf(s.roots, info, f)
	return info, nil
}

// SessionPid is the process that serves our own session, as the server sees it: no
// client in a count of clients. An error means that the server did not answer.
func (s *Server) SessionPid(ctx context.Context) (int, error) {
	pid := 0
	err := s.use(ctx, func(c *session) error {
		pid = c.pid
		return nil
	})
	return pid, err
}

// reasonOf is why something is unavailable, with the remedy, in one sentence.
func reasonOf(err error) string {
	var u *Unavailable
	if !errors.As(err, &u) {
		return err.Error()
	}
	if u.Remedy == "" {
		return u.Reason
	}
	return u.Reason + " (" + u.Remedy + ")"
}

// serverFacts are what the server says about huge pages; nil where its version
// does not know.
type serverFacts struct {
	status      *string // huge_pages_status, since 17
	hugePageKB  *int64  // huge_page_size, since 14; 0 is the kernel's default
	neededPages *int64  // shared_memory_size_in_huge_pages, since 15; -1 is "not supported"
}

// queryServer fills in everything that comes by SQL, in one round trip.
func queryServer(ctx context.Context, c *session, info *ServerInfo, f *serverFacts) error {
	info.Where = c.where()
	var b pgx.Batch
	b.Queue(serverSQL).QueryRow(func(row pgx.Row) error { return scanServer(row, info, f) })
	b.Queue(settingsSQL).Query(func(rows pgx.Rows) error {
		all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Setting])
		info.Settings = publicSettings(all)
		return err
	})
	b.Queue(statementsExtensionSQL).Query(func(rows pgx.Rows) error {
		info.StatementsLoaded = rows.Next()
		rows.Close()
		return rows.Err()
	})
	return c.conn.SendBatch(ctx, &b).Close()
}

func scanServer(row pgx.Row, info *ServerInfo, f *serverFacts) error {
	var dataDir, requested *string
	var sharedBuffers int64
	var sharedMemory *int64
	var maxConnections *int
	err := row.Scan(&info.Version, &info.VersionNum, &info.Started, &info.Database, &info.User, &sharedBuffers,
		&dataDir, &requested, &f.status, &f.hugePageKB, &f.neededPages, &sharedMemory, &maxConnections)
	if err != nil {
		return err
	}
	info.Version = plainVersion(info.Version)
	info.Database, info.User = Clean(info.Database), Clean(info.User)
	info.SharedBuffersKB = uint64(sharedBuffers)
	if dataDir != nil {
		info.DataDir = Clean(*dataDir)
	}
	if requested != nil {
		info.HugePages.Requested = Clean(*requested)
	}
	if sharedMemory != nil && *sharedMemory > 0 {
		info.SharedMemoryKB = uint64(*sharedMemory)
	}
	if maxConnections != nil {
		info.MaxConnections = *maxConnections
	}
	return nil
}

// plainVersion leaves out what distributions add to the version:
// "15.18 (Debian 15.18-0+deb12u1)".
func plainVersion(version string) string {
	plain, _, _ := strings.Cut(Clean(version), " ")
	return plain
}

// publicSettings cleans the settings and leaves out those that may hold a
// password or a key.
func publicSettings(all []Setting) []Setting {
	var out []Setting
	for _, s := range all {
		if IsSecret(s.Name, s.Value) {
			continue
		}
		out = append(out, Setting{Clean(s.Name), Clean(s.Value), Clean(s.Source)})
	}
	return out
}
