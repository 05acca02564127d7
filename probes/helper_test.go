package probes_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"pgtlb/probes"
	"pgtlb/workload/lab"
	"pgtlb/workload/lab/labtest"
)

// programs are those that labs are made with.
var programs labtest.Programs

// servers lists the newest installed server of each major version.
func servers(t *testing.T) []lab.Server {
	t.Helper()
	all, _, err := lab.NewFinder().All(t.Context())
	if err != nil && !errors.Is(err, lab.ErrNoServer) {
		t.Fatal(err)
	}
	var out []lab.Server
	for _, s := range all {
		if !slices.ContainsFunc(out, func(o lab.Server) bool { return o.Major == s.Major }) {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		t.Skip("need: PostgreSQL's server programs (pgtlb setup)")
	}
	return out
}

// startLab starts a private server that the test stops at its end.
func startLab(t *testing.T, o lab.Options) *lab.Cluster {
	t.Helper()
	// Not below t.TempDir: the server's account may not enter that.
	parent, err := os.MkdirTemp("/tmp", "pgtlb-probes-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(parent); err != nil {
			t.Errorf("the lab left something behind: %v", err)
		}
	})
	if err := os.Chmod(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	o.Server.Bindir = programs.Of(t, o.Server.Bindir)
	o.Parent, o.SharedBuffers = parent, "64MB"
	c, err := lab.Start(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

func config(t *testing.T, dsn string) *pgx.ConnConfig {
	t.Helper()
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func watch(t *testing.T, cfg *pgx.ConnConfig, roots probes.Roots) *probes.Server {
	t.Helper()
	s, err := probes.Connect(t.Context(), cfg, roots)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// client is an ordinary connection with an application_name.
func client(t *testing.T, cfg *pgx.ConnConfig, app string) *pgx.Conn {
	t.Helper()
	cfg = cfg.Copy()
	cfg.RuntimeParams["application_name"] = app
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) }) // the server may be gone before it
	return conn
}

func run(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func read(t *testing.T, p probes.Probe) probes.Batch {
	t.Helper()
	b, err := p.Read(t.Context())
	if err != nil {
		t.Fatalf("reading %s: %v", p.Name(), err)
	}
	return b
}

func value(t *testing.T, b probes.Batch, id string) float64 {
	t.Helper()
	for _, r := range b.Readings {
		if r.ID == id {
			return r.Value
		}
	}
	t.Fatalf("no reading of %s; misses %+v", id, b.Misses)
	return 0
}

func rowOf(t *testing.T, b probes.Batch, app string) probes.Backend {
	t.Helper()
	for _, r := range b.Backends {
		if r.App == app {
			return r
		}
	}
	t.Fatalf("no backend %q among %+v", app, b.Backends)
	return probes.Backend{}
}

func openBackends(t *testing.T, s *probes.Server) (probes.Probe, []probes.Miss) {
	t.Helper()
	p, misses := probes.NewBackends(t.Context(), s)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, misses
}
