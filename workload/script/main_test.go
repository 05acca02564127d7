package script

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pgtlb/workload/lab"
)

// reference is the installed pgbench on a private server.
type reference struct {
	*lab.Cluster
	pgbench string
	args    []string // how to connect
	dir     string
}

var shared struct {
	sync.Mutex
	ref  *reference
	why  string // there is none
	stop func() error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.stop != nil {
		if err := shared.stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// needPgbench starts the server once for all tests, or skips naming the need.
func needPgbench(t testing.TB) *reference {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.ref == nil && shared.why == "" {
		startReference(t)
	}
	if shared.why != "" {
		t.Skip(shared.why)
	}
	return shared.ref
}

func startReference(t testing.TB) {
	t.Helper()
	f := lab.NewFinder()
	f.Portable = nil
	server, err := f.Find(context.Background(), "")
	if err != nil {
		shared.why = "need: PostgreSQL's server programs (pgtlb setup): " + err.Error()
		return
	}
	pgbench := filepath.Join(server.Bindir, "pgbench")
	if _, err := os.Stat(pgbench); err != nil {
		shared.why = "need: pgbench beside the server programs: " + err.Error()
		return
	}
	// The server's account may not enter t.TempDir.
	parent, err := os.MkdirTemp("/tmp", "pgtlb-script-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	c, err := lab.Start(context.Background(), lab.Options{Server: server, Parent: parent, SharedBuffers: "32MB",
		Settings: map[string]string{"max_connections": "150", "fsync": "off"}}, nil)
	if err != nil {
		_ = os.RemoveAll(parent)
		t.Fatal(err)
	}
	shared.stop = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.Stop(ctx); err != nil {
			return err
		}
		return os.RemoveAll(parent)
	}
	config, err := pgx.ParseConfig(c.DSN())
	if err != nil {
		t.Fatal(err)
	}
	shared.ref = &reference{Cluster: c, pgbench: pgbench, dir: parent, args: []string{"-h", config.Host, "-p",
		strconv.Itoa(int(config.Port)), "-U", config.User, "-n", config.Database}}
}

// run runs pgbench on a script with further options, and returns what it wrote to its standard error without its own
// name in front.
func (r *reference) run(t testing.TB, text string, options ...string) (lines []string, code int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "s.sql")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.pgbench, append(append([]string{}, r.args...), append(options, "-f", file)...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "PG_COLOR=never")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(stderr.String()) {
		line = strings.TrimSuffix(line, "\n")
		line = strings.TrimPrefix(strings.TrimPrefix(line, "pgbench: "), "error: ")
		lines = append(lines, strings.ReplaceAll(line, file, "s.sql"))
	}
	return lines, cmd.ProcessState.ExitCode()
}

func (r *reference) connect(t testing.TB) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), r.DSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func mustParse(t testing.TB, text string) *Script {
	t.Helper()
	s, err := Parse("s.sql", text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return s
}

// client makes a machine as pgbench makes its only client with --random-seed=42.
func client(t testing.TB, mode Mode, s *Script, defines ...string) *Machine {
	t.Helper()
	p, err := Link(mode, s)
	if err != nil {
		t.Fatal(err)
	}
	seeds := NewSeeds(42)
	random := seeds.Rand()
	vars := p.NewVars()
	for _, d := range defines {
		name, value, err := ParseDefine(d)
		if err == nil {
			err = vars.SetText(name, value)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]int64{"scale": 1, "client_id": 0, "default_seed": int64(seeds.Uint64()), "random_seed": 42} {
		if err := vars.Default(name, IntValue(value)); err != nil {
			t.Fatal(err)
		}
	}
	m := p.Machine(Client{Mode: mode, Vars: vars, Rand: random})
	m.Begin(0)
	return m
}

// evaluate gives the value of one expression.
func evaluate(t testing.TB, expr string, defines ...string) (Value, error) {
	t.Helper()
	s, err := Parse("s.sql", `\set v `+expr)
	if err != nil {
		return Value{}, err
	}
	m := client(t, Simple, s, defines...)
	if _, err := m.Next(); err != nil {
		return Value{}, err
	}
	return m.Vars().Value("v")
}
