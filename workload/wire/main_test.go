package wire

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/goleak"

	"pgtlb/workload/lab"
	"pgtlb/workload/lab/labtest"
)

// programs are those that the servers are made with.
var programs labtest.Programs

// shared is the server of all tests that leave it alive.
var shared struct {
	once    sync.Once
	cluster *lab.Cluster
	parent  string
	err     error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if err := errors.Join(stopShared(), programs.Remove()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	fuzzing := flag.Lookup("test.fuzz").Value.String() != "" // leaves goroutines of its own
	if err := goleak.Find(); err != nil && !fuzzing {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func stopShared() error {
	if shared.cluster == nil {
		return nil
	}
	return stopServer(shared.cluster, shared.parent)
}

// needServer returns the shared server.
func needServer(t testing.TB) *lab.Cluster {
	t.Helper()
	found := findServer(t)
	shared.once.Do(func() { shared.cluster, shared.parent, shared.err = startServer(found) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.cluster
}

// ownServer starts a server that the test may break.
func ownServer(t testing.TB) *lab.Cluster {
	t.Helper()
	c, parent, err := startServer(findServer(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stopServer(c, parent); err != nil {
			t.Error(err)
		}
	})
	return c
}

func findServer(t testing.TB) lab.Server {
	t.Helper()
	f := lab.NewFinder()
	f.Portable = nil
	s, err := f.Find(t.Context(), "")
	if err != nil {
		t.Skipf("need: PostgreSQL's server programs (pgtlb setup): %v", err)
	}
	s.Bindir = programs.Of(t, s.Bindir)
	return s
}

func startServer(s lab.Server) (*lab.Cluster, string, error) {
	// The server's account may not enter a test's own directory.
	parent, err := os.MkdirTemp("/tmp", "pgtlb-wire-")
	if err != nil {
		return nil, "", err
	}
	if err := os.Chmod(parent, 0o755); err != nil {
		return nil, "", err
	}
	c, err := lab.Start(context.Background(), lab.Options{Server: s, Parent: parent, SharedBuffers: "512MB"}, nil)
	return c, parent, err
}

func stopServer(c *lab.Cluster, parent string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := c.Stop(ctx); err != nil {
		return err
	}
	if left, _ := filepath.Glob(parent + "/*"); len(left) > 0 {
		return fmt.Errorf("left behind: %v", left)
	}
	return os.Remove(parent)
}

// connector opens connections of one kind: which engine drives them follows from it.
type connector struct {
	name string
	wrap bool // the socket, so that its descriptor cannot be had
}

var (
	direct  = connector{name: "direct"}
	wrapped = connector{name: "wrapped", wrap: true}
)

// onBoth runs a test over both engines.
func onBoth(t *testing.T, test func(t *testing.T, with connector)) {
	t.Helper()
	for _, with := range []connector{direct, wrapped} {
		t.Run(with.name, func(t *testing.T) { test(t, with) })
	}
}

// connect opens one connection.
func (with connector) connect(ctx context.Context, dsn string) (*pgconn.PgConn, error) {
	config, err := pgconn.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	if dial := config.DialFunc; with.wrap {
		config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			return struct{ net.Conn }{conn}, err
		}
	}
	return pgconn.ConnectConfig(ctx, config)
}

// adopt opens n connections, lets prepare use them, and takes them over. They are
// closed with the test.
func (with connector) adopt(t testing.TB, dsn string, n int, prepare func(*pgconn.PgConn)) []*Conn {
	t.Helper()
	conns := make([]*Conn, n)
	for i := range conns {
		pc, err := with.connect(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		if prepare != nil {
			prepare(pc)
		}
		if conns[i], err = Adopt(t.Context(), pc); err != nil {
			t.Fatal(err)
		}
		if indirect := conns[i].Indirect(); (indirect != "") != with.wrap {
			t.Fatalf("%s: not driven directly because it %q", with.name, indirect)
		}
		t.Cleanup(func() {
			if err := conns[i].Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return conns
}

func execAll(t testing.TB, dsn, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// selectTask selects rows by id, in one of pgbench's three modes.
type selectTask struct {
	mode string
	sql  string
	// parameterised is sql and the parameter, made once.
	parameterised string
	next          func() (int64, bool)
	id            int64
	asked         bool
	err           error
	seen          func(id int64, affected int64)
}

// statement is the name under which the tests prepare.
const statement = "P0_1"

func (s *selectTask) Next(_ Moment, b []byte) ([]byte, Action) {
	if s.err != nil {
		return b, Abort(s.err)
	}
	if s.asked {
		s.asked = false
		return b, Done()
	}
	id, ok := s.next()
	if !ok {
		return b, Stop()
	}
	s.id, s.asked = id, true
	if s.parameterised == "" {
		s.parameterised = s.sql + "$1;"
	}
	if s.mode == "simple" {
		b, mark := BeginQuery(b)
		b = append(b, s.sql...)
		b = strconv.AppendInt(b, id, 10)
		return EndQuery(append(b, ';'), mark), Send(1)
	}
	name := statement
	if s.mode == "extended" {
		name = ""
		b = AppendParse(b, "", s.parameterised)
	}
	b, mark := BeginBind(b, name, 1)
	b, value := BeginParam(b)
	b = EndParam(strconv.AppendInt(b, id, 10), value)
	return appendExecuteSync(EndBind(b, mark)), Send(1)
}

func (s *selectTask) Result(_ Moment, r *Result) {
	if r.State != (State{}) {
		s.err = r.Err()
	} else if s.seen != nil {
		s.seen(s.id, r.Affected)
	}
}
