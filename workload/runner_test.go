package workload

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"pgtlb/workload/script"
)

// scripted is a load of one script that sends each of its commands as it is.
func scripted(conns Connect, clients int, text string) Load {
	return Load{Connect: conns, Clients: clients, Scenario: Scenario{Name: "test", Work: func(Values) (Work, error) {
		return Work{Scripts: []Script{{Name: "test.sql", Text: text, Weight: 1}}}, nil
	}}}
}

// testLoad is how long each scenario runs.
const testLoad = 300 * time.Millisecond

// smallValues are parameters with which the set-up of any scenario is quick.
func smallValues(t *testing.T, s Scenario) Values {
	t.Helper()
	v, err := s.Resolve(s.Own(Values{
		"rows": 20_000, "report_rows": 10_000, "accounts": 5_000, "documents": 2_000, "table_size": 5_000, "slices": 2, "pause": 1,
	}))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func testEveryScenario(t *testing.T, s server) {
	conns := s.database(t)
	conn := open(t, conns)
	for _, scenario := range List() {
		t.Run(scenario.Name, func(t *testing.T) {
			v := smallValues(t, scenario)
			setUp := func() string {
				if err := scenario.Setup(t.Context(), conns, v, nil); err != nil {
					t.Fatal(err)
				}
				is, err := scenario.Fingerprint(t.Context(), conns, v)
				if err != nil || is == "" {
					t.Fatalf("fingerprint %q, %v", is, err)
				}
				return is + " in " + files(t, conn)
			}
			first := setUp()
			if again := setUp(); again != first {
				t.Errorf("set up twice: %s, then %s", first, again)
			}
			work, err := scenario.Work(v)
			if err != nil {
				t.Fatal(err)
			}
			m := NewMeter(scenario.Name)
			res, err := NewRunner(m).Run(t.Context(), Load{
				Scenario: scenario, Values: v, Clients: min(4, scenario.Clients), Duration: testLoad, Seed: 1, Connect: conns,
			})
			if err != nil {
				t.Fatal(err)
			}
			contended := res.FailedBy["40001"] + res.FailedBy["40P01"]
			if res.TPS() <= 0 || res.Failed != contended || res.Latency.Count() != res.Transactions || res.Cancelled ||
				res.InitialConnect <= 0 != work.Reconnect || res.Connections > 0 != work.Reconnect || res.Elapsed < testLoad {
				t.Errorf("result %+v", res)
			}
			b, err := m.Read(t.Context())
			if err != nil || b.Readings[0].Value != float64(res.Transactions) {
				t.Errorf("the meter reads %+v, %v after %d transactions", b, err, res.Transactions)
			}
			if after := setUp(); after != first {
				t.Errorf("set up after the load: %s, before %s", after, first)
			}
		})
	}
}

// testJoinResult computes what the join must give from the values themselves.
func testJoinResult(t *testing.T, s server) {
	conns := s.database(t)
	d := Dataset{Rows: 2000, Seed: 5}
	setup(t, d, conns)
	conn := open(t, conns)
	mustRun(t, conn, useSchema)
	type group struct {
		n                int64
		sum1, sum2       *big.Int
		maxCol3, minCol4 uint64
	}
	const id = 700
	want := map[string]*group{}
	for i := int64(id); i <= id+50; i++ {
		name := string(categoryName(nil, int64(value(d.Seed, i, 5)%100000)+1))
		g := want[name]
		if g == nil {
			g = &group{sum1: new(big.Int), sum2: new(big.Int), minCol4: 1 << 63}
			want[name] = g
		}
		g.n++
		g.sum1.Add(g.sum1, new(big.Int).SetUint64(value(d.Seed, i, 1)))
		g.sum2.Add(g.sum2, new(big.Int).SetUint64(value(d.Seed, i, 2)))
		g.maxCol3, g.minCol4 = max(g.maxCol3, value(d.Seed, i, 3)), min(g.minCol4, value(d.Seed, i, 4))
	}
	_, sql, _ := strings.Cut(joinAggregateScript, "\n")
	results, err := conn.PgConn().Exec(t.Context(), strings.ReplaceAll(sql, ":id", strconv.Itoa(id))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	res := results[0]
	if len(res.Rows) != len(want) {
		t.Fatalf("%d groups, want %d", len(res.Rows), len(want))
	}
	for i, row := range res.Rows {
		g := want[string(row[0])]
		if g == nil {
			t.Fatalf("group %s is not expected", row[0])
		}
		spread := int64(g.maxCol3) - int64(g.minCol4)
		if got, want := fmt.Sprintf("%s %s %s", row[1], row[3], row[4]), fmt.Sprintf("%d %s %d", g.n, g.sum2, spread); got != want {
			t.Errorf("%s: %s, want %s", row[0], got, want)
		}
		avg, ok := new(big.Rat).SetString(string(row[2]))
		exact := new(big.Rat).SetFrac(g.sum1, big.NewInt(g.n))
		if !ok || avg.Sub(avg, exact).Abs(avg).Cmp(big.NewRat(1, 1)) > 0 {
			t.Errorf("%s: average %s, want %s", row[0], row[2], exact.FloatString(3))
		}
		if i > 0 {
			before, _ := strconv.ParseInt(string(res.Rows[i-1][4]), 10, 64)
			if before < spread {
				t.Errorf("row %d is out of order", i)
			}
		}
	}
}

// startedThen makes a load call then in a goroutine once it has started, and
// waits for that when the test ends.
func startedThen(t *testing.T, l *Load, then func()) {
	done := make(chan struct{})
	started := false
	l.Started = func() {
		started = true
		go func() { defer close(done); then() }()
	}
	t.Cleanup(func() {
		if started {
			<-done
		}
	})
}

// someDone waits until the load has finished some transactions.
func someDone(t *testing.T, m *Meter) {
	for range 600 {
		if b, err := m.Read(context.Background()); err != nil || b.Readings[0].Value >= 10 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Error("no transaction within half a minute")
}

func testCancelLongQuery(t *testing.T, s server) {
	conns := s.database(t)
	watch := open(t, conns)
	const sleeping = "SELECT count(*)::text FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND state = 'active' AND datname = current_database()"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	load := scripted(conns, 20, "SELECT pg_sleep(600);")
	startedThen(t, &load, func() {
		for range 500 {
			var n string
			if err := watch.QueryRow(context.Background(), sleeping).Scan(&n); err != nil || n == "20" {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		cancel()
	})
	begun := time.Now()
	res, err := NewRunner(NewMeter("test")).Run(ctx, load)
	if err != nil {
		t.Fatal(err)
	}
	if !res.Cancelled || res.Transactions != 0 || res.Failed != 0 {
		t.Errorf("result %+v", res)
	}
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("it took %v to cancel", took)
	}
	if n := one(t, watch, sleeping); n != "0" {
		t.Errorf("%s queries go on", n)
	}
}

// testHung cancels a load while neither backends nor postmaster answer.
func testHung(t *testing.T, s server) {
	conns := s.database(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	load := scripted(conns, 4, "SELECT pg_sleep(600);")
	var stopped []int
	goOn := func() {
		for _, pid := range stopped {
			if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
				t.Error(err)
			}
		}
	}
	startedThen(t, &load, func() {
		defer cancel()
		time.Sleep(200 * time.Millisecond)
		conn, err := conns(context.Background())
		if err != nil {
			t.Error(err)
			return
		}
		defer closeConn(context.Background(), conn)
		rows, _ := conn.Query(context.Background(), "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
		if err != nil || len(pids) != 4 {
			t.Errorf("backends %v, %v", pids, err)
		}
		for _, pid := range append(pids, s.Pid()) {
			if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
				t.Error(err)
			}
			stopped = append(stopped, pid)
		}
	})
	begun := time.Now()
	res, err := NewRunner(NewMeter("test")).Run(ctx, load)
	took := time.Since(begun)
	goOn()
	if err != nil || !res.Cancelled || res.Transactions != 0 || res.Failed != 0 {
		t.Errorf("result %+v, error %v", res, err)
	}
	if took > 30*time.Second {
		t.Errorf("it took %v to cancel", took)
	}
	t.Log(took)
}

func testInFlight(t *testing.T, s server) {
	load := scripted(s.database(t), 3, "SELECT pg_sleep(0.4);")
	load.Duration = 50 * time.Millisecond
	res, err := NewRunner(NewMeter("test")).Run(t.Context(), load)
	if err != nil {
		t.Fatal(err)
	}
	if res.Transactions != 3 || res.Cancelled || res.Elapsed < 400*time.Millisecond {
		t.Errorf("result %+v", res)
	}
}

func testFailedCounted(t *testing.T, s server) {
	load := scripted(s.database(t), 2, `\set n :n + 1
\if :n % 4 = 0
SELECT 1/0;
\elif :n % 4 = 1
DO $$BEGIN RAISE EXCEPTION 'retry' USING errcode = '40001'; END$$;
\else
SELECT 1;
\endif
`)
	load.Defines = []Define{{"n", "0"}}
	load.Duration = 300 * time.Millisecond
	m := NewMeter("test")
	res, err := NewRunner(m).Run(t.Context(), load)
	if err != nil {
		t.Fatal(err)
	}
	sum := res.FailedBy["22012"] + res.FailedBy["40001"]
	if res.Failed == 0 || res.Failed != sum || len(res.FailedBy) != 2 || res.Transactions == 0 || res.Latency.Count() != res.Transactions {
		t.Errorf("result %+v", res)
	}
	if b, _ := m.Read(t.Context()); b.Readings[1].Value != float64(res.Failed) {
		t.Errorf("the meter reads %+v", b.Readings)
	}
}

func testWarmup(t *testing.T, s server) {
	conns := s.database(t)
	conn := open(t, conns)
	mustRun(t, conn, "CREATE SEQUENCE done")
	load := scripted(conns, 3, "SELECT nextval('done');")
	load.Transactions = 10
	asked := 0
	load.Warmup = &Warmup{Most: time.Minute, Over: func() bool { asked++; return asked == 2 }}
	var before int64
	m := NewMeter("test")
	load.Warmed = func() {
		var err error
		if before, err = strconv.ParseInt(one(t, conn, "SELECT last_value::text FROM done"), 10, 64); err != nil {
			t.Error(err)
		}
	}
	res, err := NewRunner(m).Run(t.Context(), load)
	if err != nil {
		t.Fatal(err)
	}
	w := res.Warmup
	if w == nil || !w.Settled || w.Transactions != before || w.Elapsed < 2*time.Second || w.Latency.Count() != before || w.TPS() <= 0 {
		t.Errorf("warm-up %+v after %d transactions", w, before)
	}
	if res.Transactions != 30 || res.Latency.Count() != 30 || res.Scripts[0].Latency.Count != 30 {
		t.Errorf("result %+v", res)
	}
	if b, _ := m.Read(t.Context()); b.Readings[0].Value != float64(before+30) {
		t.Errorf("the meter reads %+v after %d transactions", b.Readings, before+30)
	}

	load.Warmup = &Warmup{Most: 50 * time.Millisecond}
	if res, err = NewRunner(NewMeter("test")).Run(t.Context(), load); err != nil || res.Warmup.Settled || res.Warmup.Elapsed < 50*time.Millisecond || res.Transactions != 30 {
		t.Errorf("result %+v, %v", res, err)
	}

	// Cut short, it is apart all the same.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	load.Warmup = &Warmup{Most: time.Minute, Over: func() bool { cancel(); return false }}
	load.Warmed = func() { t.Error("warmed up, though it was cancelled") }
	m = NewMeter("test")
	res, err = NewRunner(m).Run(ctx, load)
	if err != nil || !res.Cancelled || res.Warmup.Transactions == 0 || res.Warmup.Settled || res.Warmup.Latency.Count() != res.Warmup.Transactions ||
		res.Transactions != 0 || res.Latency.Count() != 0 || res.Scripts[0].Latency.Count != 0 {
		t.Errorf("cancelled in the warm-up: %+v, %+v, %v", res, res.Warmup, err)
	}
	if b, _ := m.Read(t.Context()); b.Readings[0].Value != float64(res.Warmup.Transactions) {
		t.Errorf("the meter reads %+v after %d transactions", b.Readings, res.Warmup.Transactions)
	}
}

func testReconnect(t *testing.T, s server) {
	conns := s.database(t)
	conn := open(t, conns)
	mustRun(t, conn, "CREATE TABLE seen (pid int, path text)")
	load := Load{Connect: conns, Clients: 3, Transactions: 4, Scenario: Scenario{Name: "test", Work: func(Values) (Work, error) {
		return Work{Reconnect: true, Mode: script.Prepared, Session: []string{"SET search_path = public, pg_temp"}, Scripts: []Script{{Name: "a",
			Text: "INSERT INTO seen VALUES (pg_backend_pid(), current_setting('search_path'));", Weight: 1}}}, nil
	}}}
	res, err := NewRunner(NewMeter("test")).Run(t.Context(), load)
	if err != nil {
		t.Fatal(err)
	}
	if res.Transactions != 12 || res.Failed != 0 || res.Connections != 12 || res.ConnectMean <= 0 || res.Connect.Count() != 12 || res.Indirect == "" {
		t.Errorf("result %+v", res)
	}
	if got := one(t, conn, "SELECT count(DISTINCT pid) || ' ' || count(*) || ' ' || min(path) FROM seen"); got != "12 12 public, pg_temp" {
		t.Errorf("sessions, transactions and path: %s", got)
	}
	load.Connect = func(context.Context) (*pgx.Conn, error) { return nil, errors.New("no way") }
	if _, err := NewRunner(NewMeter("test")).Run(t.Context(), load); err == nil || !strings.Contains(err.Error(), "connecting: no way") {
		t.Errorf("error %v", err)
	}
}

func testStorm(t *testing.T, s server) {
	load := scripted(s.database(t), 2, "SELECT * FROM nowhere;")
	res, err := NewRunner(NewMeter("test")).Run(t.Context(), load)
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || refused.Code != "42P01" || !strings.Contains(err.Error(), "failed 100 times in a row") {
		t.Fatalf("error %v", err)
	}
	if res.Failed < stormLength || res.FailedBy["42P01"] != res.Failed {
		t.Errorf("result %+v", res)
	}
}

func testTerminated(t *testing.T, s server) {
	conns := s.database(t)
	killer := open(t, conns)
	load := scripted(conns, 4, "SELECT pg_sleep(0.01);")
	m := NewMeter("test")
	startedThen(t, &load, func() {
		someDone(t, m)
		_, err := killer.Exec(context.Background(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`)
		if err != nil {
			t.Error(err)
		}
	})
	res, err := NewRunner(m).Run(t.Context(), load)
	if err == nil || !strings.Contains(err.Error(), "lost its connection: FATAL: terminating connection due to administrator command") {
		t.Errorf("error %v", err)
	}
	if res.Transactions == 0 || res.Failed != 0 {
		t.Errorf("result %+v", res)
	}
}

func testTooFewConnections(t *testing.T, s server) {
	conns := s.database(t)
	conn := open(t, conns)
	most, err := strconv.Atoi(one(t, conn, "SELECT setting FROM pg_settings WHERE name = 'max_connections'"))
	if err != nil {
		t.Fatal(err)
	}
	load := scripted(conns, most+10, "SELECT 1;")
	_, err = NewRunner(NewMeter("test")).Run(t.Context(), load)
	if err == nil {
		t.Fatal("no error")
	}
	var fitted, asked int
	_, text, _ := strings.Cut(err.Error(), ": ")
	// Sessions of other tests may still be going.
	if _, e := fmt.Sscanf(text, "only %d of %d clients could connect, raise max_connections", &fitted, &asked); e != nil ||
		fitted >= most || fitted < most-20 || asked != most+10 {
		t.Errorf("error %v where max_connections is %d", err, most)
	}
}

func testStarted(t *testing.T, s server) {
	conns := s.database(t)
	conn := open(t, conns)
	mustRun(t, conn, "CREATE SEQUENCE done")
	var calls atomic.Int64
	load := scripted(conns, 20, "SELECT nextval('done');")
	load.Duration = 100 * time.Millisecond
	load.Started = func() {
		calls.Add(1)
		others := one(t, conn, "SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		if done := one(t, conn, "SELECT is_called::text FROM done"); others != "20" || done != "false" {
			t.Errorf("%s of 20 clients connected, a transaction begun: %s", others, done)
		}
	}
	if _, err := NewRunner(NewMeter("test")).Run(t.Context(), load); err != nil {
		t.Fatal(err)
	}
	if calls.Load() != 1 {
		t.Errorf("started %d times", calls.Load())
	}

	ctx, cancel := context.WithCancel(t.Context())
	load.Started = cancel
	before := one(t, conn, "SELECT last_value::text FROM done")
	if _, err := NewRunner(NewMeter("test")).Run(ctx, load); !errors.Is(err, context.Canceled) || one(t, conn, "SELECT last_value::text FROM done") != before {
		t.Errorf("cancelled before the start: error %v", err)
	}
	load.Connect = func(ctx context.Context) (*pgx.Conn, error) { return nil, errors.New("no way") }
	if _, err := NewRunner(NewMeter("test")).Run(t.Context(), load); err == nil || !strings.Contains(err.Error(), "connecting client 1 of 20: no way") {
		t.Errorf("error %v", err)
	}
}

func testServerGone(t *testing.T, s server) {
	conns := s.database(t)
	load := scripted(conns, 4, "SELECT pg_sleep(0.01);")
	pid := s.Pid()
	m := NewMeter("test")
	startedThen(t, &load, func() {
		someDone(t, m)
		// An immediate shutdown: no session is told why.
		if err := syscall.Kill(pid, syscall.SIGQUIT); err != nil {
			t.Error(err)
		}
	})
	res, err := NewRunner(m).Run(t.Context(), load)
	if err == nil || !strings.Contains(err.Error(), "lost its connection") {
		t.Errorf("error %v", err)
	}
	t.Log(err)
	if res.Transactions == 0 {
		t.Errorf("result %+v", res)
	}
	if _, err := NewRunner(NewMeter("test")).Run(t.Context(), load); err == nil || !strings.Contains(err.Error(), "connecting client 1 of 4") {
		t.Errorf("error %v without a server", err)
	}
}
