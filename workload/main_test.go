package workload

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"pgtlb/workload/lab"
	"pgtlb/workload/lab/labtest"
)

// programs are those that the servers of the tests are made with.
var programs labtest.Programs

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := programs.Remove(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		os.Exit(code)
	}))
}

// server is a private PostgreSQL for tests.
type server struct{ *lab.Cluster }

// startServer starts a private server that ends with the test.
func startServer(t testing.TB, with lab.Server, settings map[string]string) server {
	t.Helper()
	// The server's account may not enter t.TempDir.
	parent, err := os.MkdirTemp("/tmp", "pgtlb-workload-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(parent) })
	if settings == nil {
		settings = map[string]string{"max_connections": "200"}
	}
	with.Bindir = programs.Of(t, with.Bindir)
	c, err := lab.Start(t.Context(), lab.Options{Server: with, Parent: parent, SharedBuffers: "256MB", Settings: settings}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.Stop(ctx); err != nil {
			t.Error(err)
		}
		if left, _ := filepath.Glob(parent + "/*"); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	return server{c}
}

// systemServer finds the server that the system's packages installed.
func systemServer(t testing.TB) lab.Server {
	t.Helper()
	f := lab.NewFinder()
	f.Portable = nil
	s, err := f.Find(t.Context(), "")
	if err != nil {
		t.Skipf("need: PostgreSQL's server programs (pgtlb setup): %v", err)
	}
	return s
}

// portableServer finds a second server of another major version.
func portableServer(t testing.TB, not int) lab.Server {
	t.Helper()
	found, _, err := lab.NewFinder().All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range found {
		if s.Major != not && s.Major >= 16 {
			return s
		}
	}
	t.Skip("need: a portable server of PostgreSQL 16 to 18 (pgtlb setup --portable)")
	return lab.Server{}
}

// database makes a database for one test and returns how to connect to it.
func (s server) database(t testing.TB) Connect {
	t.Helper()
	name := fmt.Sprintf("t%d", time.Now().UnixNano())
	conn := open(t, s.connect("postgres"))
	mustRun(t, conn, "CREATE DATABASE "+name)
	return s.connect(name)
}

func (s server) connect(database string) Connect {
	return func(ctx context.Context) (*pgx.Conn, error) {
		return pgx.Connect(ctx, s.DSN()+" dbname="+database)
	}
}

// open opens a connection that ends with the test.
func open(t testing.TB, conns Connect) *pgx.Conn {
	t.Helper()
	conn, err := conns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeConn(context.Background(), conn) })
	return conn
}

func mustRun(t testing.TB, conn *pgx.Conn, sql string) {
	t.Helper()
	if err := exec(t.Context(), conn.PgConn(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// one reads a single text value.
func one(t testing.TB, conn *pgx.Conn, sql string, args ...any) string {
	t.Helper()
	var s string
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&s); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return s
}

// TestServer runs everything that needs a server: all of it on the system's, and
// on another version what a version can change. With -short only the system's is used, without
// the comparison with pgbench.
func TestServer(t *testing.T) {
	system := systemServer(t)
	t.Run("system", func(t *testing.T) {
		s := startServer(t, system, nil)
		if !testing.Short() {
			againstPgbench(t, s)
		}
		run(t, s, versionTests())
		run(t, s, driverTests())
	})
	t.Run("portable", func(t *testing.T) {
		if testing.Short() {
			t.Skip("need: a run without -short")
		}
		run(t, startServer(t, portableServer(t, system.Major), nil), versionTests())
	})
}

type serverTest struct {
	name string
	run  func(*testing.T, server)
}

func run(t *testing.T, s server, tests []serverTest) {
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.run(t, s) })
	}
}

// versionTests are about data and SQL, which depend on the server's version.
func versionTests() []serverTest {
	return []serverTest{
		{"set-up is idempotent", testIdempotent},
		{"what the tables are", testTables},
		{"changes are noticed", testChangesNoticed},
		{"foreign objects are kept", testForeignKept},
		{"cancelled set-up leaves nothing", testCancelledSetup},
		{"size", testSize},
		{"prewarm", testPrewarm},
		{"every scenario", testEveryScenario},
		{"own tables", testOwnTables},
		{"own tables are the same everywhere", testSameEverywhere},
		{"estimates", testEstimate},
		{"sysbench's tables", testSysbench},
		{"planning and running apart", testPlanningApart},
		{"report makes temporary files", testReportFiles},
		{"row security hides rows", testRowSecurity},
		{"role of row security", testReaderRole},
		{"what is made is known before", testMayMake},
		{"cleanup", testCleanup},
		{"cleanup keeps a role in use", testRoleInUse},
		{"room for connections", testRoom},
		{"cancel in a long query", testCancelLongQuery},
	}
}

// driverTests are about pgtlb's own side.
func driverTests() []serverTest {
	return []serverTest{
		{"fingerprint follows the seed", testFingerprint},
		{"unfinished tables are removed", testUnfinishedRemoved},
		{"two set-ups at once", testTwoSetups},
		{"prewarm without the extension", testPrewarmUnavailable},
		{"idle crowd touches everything once", testIdleTouches},
		{"join result", testJoinResult},
		{"cancel on a hung server", testHung},
		{"transaction in flight is finished", testInFlight},
		{"failed transactions are counted", testFailedCounted},
		{"warm-up is apart", testWarmup},
		{"connection for each transaction", testReconnect},
		{"storm of failures ends the load", testStorm},
		{"terminated session", testTerminated},
		{"end of the duration is no failure", testDurationOver},
		{"client lost alone", testLostAlone},
		{"COPY in a script", testCopyInScript},
		{"error in a pipeline", testPipelineBlame},
		{"time of commands", testCommandTimes},
		{"numbers in the log", testLogNumbers},
		{"too few connections", testTooFewConnections},
		{"started once, before the first transaction", testStarted},
		{"server gone", testServerGone}, // last: the server is gone after it
	}
}
