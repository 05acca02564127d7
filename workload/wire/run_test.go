//go:build linux

package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// tallies gives each thread a Tally and adds them up.
type tallies struct{ all []*Tally }

func (l *tallies) recorder(int) Recorder {
	t := NewTally()
	l.all = append(l.all, t)
	return t
}

func (l *tallies) sum() *Counts {
	sum := NewCounts()
	for _, t := range l.all {
		sum.Add(t.Take(NewCounts()))
	}
	return sum
}

// steps is a task of one transaction: its requests one after the other.
type steps struct {
	requests []func(b []byte) ([]byte, Action)
	at       int
	results  []Result
	errs     []*pgconn.PgError
	rows     [][]string
	names    []string
	commands []int
	bytes    int64
}

func query(sql string) func([]byte) ([]byte, Action) {
	return func(b []byte) ([]byte, Action) { return AppendQuery(b, sql), Send(1) }
}

func queryRows(sql string) func([]byte) ([]byte, Action) {
	return func(b []byte) ([]byte, Action) { return AppendQuery(b, sql), SendRows(1) }
}

func (s *steps) Next(_ Moment, b []byte) ([]byte, Action) {
	if s.at == len(s.requests) {
		s.at++
		return b, Done()
	}
	if s.at > len(s.requests) {
		return b, Stop()
	}
	s.at++
	return s.requests[s.at-1](b)
}

func (s *steps) Result(_ Moment, r *Result) {
	s.results = append(s.results, *r)
	s.errs = append(s.errs, r.Err())
}

func (s *steps) Columns(command int, c Columns) {
	for i := range c.Len() {
		name, _ := c.Name(i)
		s.names = append(s.names, string(name))
	}
}

func (s *steps) Row(command int, r Row) {
	s.commands = append(s.commands, command)
	var row []string
	for i := range r.Len() {
		v, _ := r.Value(i)
		s.bytes += int64(len(v))
		if len(v) > 100 {
			v = v[:100]
		}
		row = append(row, string(v))
	}
	s.rows = append(s.rows, row)
}

// runSteps runs one client through its requests.
func runSteps(t *testing.T, requests ...func([]byte) ([]byte, Action)) (*steps, error) {
	t.Helper()
	s := &steps{requests: requests}
	var l tallies
	stats, err := Run(t.Context(), Options{Clients: []Client{{adopt(t, needServer(t).DSN(), 1, nil)[0], s}}, Recorder: l.recorder})
	if err == nil && (stats.Transactions != 1 || l.sum().Transactions != 1) {
		t.Errorf("%d transactions, recorded %d", stats.Transactions, l.sum().Transactions)
	}
	return s, err
}

const finds = "SELECT id, payload FROM finds WHERE id = "

func makeFinds(t *testing.T) {
	t.Helper()
	execAll(t, needServer(t).DSN(), `CREATE TABLE IF NOT EXISTS finds (id int PRIMARY KEY, payload text);
		INSERT INTO finds SELECT i, repeat(chr(97 + i % 26), i % 700) FROM generate_series(1, 3000) i ON CONFLICT DO NOTHING`)
}

// TestEveryIDIsFound: the answers of all clients are told apart and belong to their requests.
func TestEveryIDIsFound(t *testing.T) {
	makeFinds(t)
	c := needServer(t)
	for _, mode := range []string{"prepared", "extended", "simple"} {
		for _, over := range []string{"unix", "tcp"} {
			t.Run(mode+"/"+over, func(t *testing.T) {
				dsn := c.DSN()
				if over == "tcp" {
					dsn = newProxy(t, dsn).dsn
				}
				findAll(t, dsn, mode)
			})
		}
	}
}

func findAll(t *testing.T, dsn, mode string) {
	const ids, clients, threads = 3000, 7, 3
	conns := adopt(t, dsn, clients, func(pc *pgconn.PgConn) {
		if _, err := pc.Prepare(t.Context(), statement, finds+"$1;", nil); err != nil {
			t.Fatal(err)
		}
	})
	var mu sync.Mutex
	found := map[int64]int{}
	var next atomic.Int64
	given := make([]Client, clients)
	for i := range given {
		given[i] = Client{conns[i], &selectTask{mode: mode, sql: finds,
			next: func() (int64, bool) { id := next.Add(1); return id, id <= ids },
			seen: func(id, affected int64) {
				mu.Lock()
				defer mu.Unlock()
				found[id] += int(affected)
			},
		}}
	}
	var l tallies
	stats, err := Run(t.Context(), Options{Clients: given, Threads: threads, Recorder: l.recorder})
	if err != nil {
		t.Fatal(err)
	}
	sum := l.sum()
	if stats.Transactions != ids || sum.Transactions != ids || sum.Latency.Count() != ids || stats.Threads != threads || stats.Failed != 0 || stats.Cancelled {
		t.Errorf("%+v, recorded %d", stats, sum.Transactions)
	}
	for id := int64(1); id <= ids; id++ {
		if found[id] != 1 {
			t.Errorf("id %d found %d times", id, found[id])
		}
	}
}

func TestRowsAndCommands(t *testing.T) {
	s, err := runSteps(t,
		queryRows("SELECT 1 AS one, NULL AS nothing; SELECT 'x' AS letter FROM generate_series(1, 2)"),
		query("SELECT 5 AS unseen"),
		query(""),
		query("BEGIN"), query("CREATE TEMP TABLE twelve AS SELECT generate_series(1, 12)"), query("ROLLBACK"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(s.names, s.rows, s.commands), "[one nothing letter] [[1 ] [x] [x]] [0 1 1]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	var got []string
	for _, r := range s.results {
		got = append(got, fmt.Sprintf("%c%d:%d", r.Status, r.Commands, r.Affected))
	}
	if want := "I2:2 I1:1 I1:0 T1:0 T1:12 I1:0"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

func TestErrorsAreResults(t *testing.T) {
	extended := func(b []byte) ([]byte, Action) {
		b, mark := BeginBind(AppendParse(b, "", "SELECT 1 / $1::int"), "", 1)
		return AppendExecuteSync(EndBind(AppendParam(b, "0"), mark)), Send(1)
	}
	s, err := runSteps(t, query("SELECT 1 / 0"), query("SELECT 1"), extended, query("BEGIN"), query("nonsense"), query("SELECT 1"), query("ROLLBACK"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range s.results {
		got = append(got, fmt.Sprintf("%c%s", r.Status, r.State))
	}
	if want := "I22012 I I22012 T E42601 E25P02 I"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
	if s.errs[0].Message != "division by zero" || s.errs[1] != nil || s.errs[4].Position != 1 {
		t.Errorf("%v", s.errs)
	}
}

func TestPipelineOfSeveralSyncs(t *testing.T) {
	if _, err := runSteps(t, func(b []byte) ([]byte, Action) { return b, Send(1) }); err == nil {
		t.Error("a request of no bytes is no error")
	}
	s, err := runSteps(t, func(b []byte) ([]byte, Action) {
		for _, sql := range []string{"SELECT 1", "SELECT 1 / 0", "SELECT 3"} {
			var mark int
			b = AppendParse(b, "", sql)
			b, mark = BeginBind(b, "", 0)
			b = AppendExecute(EndBind(b, mark))
			b = AppendSync(b)
		}
		return b, SendRows(3)
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.results) != 3 || s.results[0].State.String() != "" || s.results[1].State.String() != "22012" || s.results[2].State.String() != "" {
		t.Errorf("%+v", s.results)
	}
	if got := fmt.Sprint(s.rows); got != "[[1] [3]]" {
		t.Errorf("rows %s", got)
	}
}

func TestBigAnswersAndRequests(t *testing.T) {
	const rows, size = 100, 1 << 20
	big := fmt.Sprintf("SELECT repeat('x', %d) FROM generate_series(1, %d)", size, rows)
	long := "SELECT length('" + strings.Repeat("y", 9<<20) + "')"
	s, err := runSteps(t, query(big), queryRows(big), queryRows(long))
	if err != nil {
		t.Fatal(err)
	}
	if s.bytes != rows*size+int64(len("9437184")) || s.results[0].Affected != rows || s.results[1].Affected != rows || s.rows[rows][0] != "9437184" {
		t.Errorf("%d bytes, %+v", s.bytes, s.results)
	}
}

func TestNoticesInBetween(t *testing.T) {
	notices := "DO $$BEGIN FOR i IN 1..20000 LOOP RAISE NOTICE 'number % %', i, repeat('n', i % 100); END LOOP; END$$"
	s, err := runSteps(t, query("LISTEN ear"), query("SET client_min_messages = notice"), query(notices), query("NOTIFY ear, 'word'"),
		queryRows("SELECT 1"), query("SET application_name = 'told'"))
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range s.results {
		if r.State != (State{}) || r.Commands != 1 {
			t.Errorf("request %d: %+v", i, r)
		}
	}
}

func TestCopyIsAnError(t *testing.T) {
	if _, err := runSteps(t, query("CREATE TEMP TABLE c (i int)"), query("COPY c FROM STDIN")); !errors.Is(err, errCopy) {
		t.Errorf("%v", err)
	}
	s, err := runSteps(t, query("COPY (SELECT generate_series(1, 1000)) TO STDOUT"))
	if err != nil || s.results[0].Affected != 1000 {
		t.Errorf("%v %+v", err, s.results)
	}
}

func TestSleepAndThrottle(t *testing.T) {
	const nap = 30 * time.Millisecond
	var woke, slept time.Duration
	_, err := runSteps(t, func(b []byte) ([]byte, Action) { return b, Sleep(nap) }, query("SELECT 1"))
	if err != nil {
		t.Fatal(err)
	}
	task := taskFunc(func(at Moment, b []byte) ([]byte, Action) {
		if slept == 0 {
			slept = at.Now
			return b, Sleep(at.Now + nap)
		}
		woke = at.Now
		return b, Stop()
	})
	l := &tallies{}
	if _, err := Run(t.Context(), Options{Clients: []Client{{adopt(t, needServer(t).DSN(), 1, nil)[0], task}}, Recorder: l.recorder}); err != nil {
		t.Fatal(err)
	}
	if woke-slept < nap {
		t.Errorf("slept %v instead of %v", woke-slept, nap)
	}
}

type taskFunc func(at Moment, b []byte) ([]byte, Action)

func (f taskFunc) Next(at Moment, b []byte) ([]byte, Action) { return f(at, b) }
func (f taskFunc) Result(Moment, *Result)                    {}

// endless selects for ever.
func endless(sql string) Task {
	var asked bool
	return taskFunc(func(_ Moment, b []byte) ([]byte, Action) {
		if asked = !asked; asked {
			return AppendQuery(b, sql), Send(1)
		}
		return b, Done()
	})
}

func TestRateBeginsNothingEarly(t *testing.T) {
	const clients, each = 6, 20
	conns := adopt(t, needServer(t).DSN(), clients, nil)
	given := make([]Client, clients)
	var early atomic.Int64
	for i := range given {
		task := endless("SELECT 1")
		given[i] = Client{conns[i], taskFunc(func(at Moment, b []byte) ([]byte, Action) {
			if at.Begin > at.Now {
				early.Add(1)
			}
			return task.Next(at, b)
		})}
	}
	var l tallies
	s, err := Run(t.Context(), Options{Clients: given, Threads: 2, Recorder: l.recorder, Rate: 2000, Seed: 7, Transactions: each})
	if err != nil {
		t.Fatal(err)
	}
	if sum := l.sum(); s.Transactions != clients*each || early.Load() != 0 || sum.LagMax <= 0 || sum.LagMax > sum.LagSum {
		t.Errorf("%+v, %d early, %+v", s, early.Load(), sum)
	}
	// Two threads draw 60 starts each: the last cannot be before the schedule says so.
	th := newThrottle(&Options{Rate: 2000, Seed: 7}, 0, 2)
	for range clients / 2 * each {
		th.draw()
	}
	if s.Elapsed < th.next {
		t.Errorf("done after %v, the last start was scheduled for %v", s.Elapsed, th.next)
	}
}

func TestLateTransactionsAreSkipped(t *testing.T) {
	const clients, each = 3, 500
	conns := adopt(t, needServer(t).DSN(), clients, nil)
	given := make([]Client, clients)
	for i := range given {
		given[i] = Client{conns[i], endless("SELECT 1")}
	}
	var l tallies
	s, err := Run(t.Context(), Options{Clients: given, Recorder: l.recorder, Rate: 1e7, Transactions: each, LatencyLimit: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	sum := l.sum()
	if s.Skipped == 0 || s.Transactions+s.Skipped != clients*each || sum.Skipped != s.Skipped || s.Late != s.Transactions {
		t.Errorf("%+v, recorded %d skipped", s, sum.Skipped)
	}
}

// TestDurationFinishesWhatItBegan: transactions in flight at the end count.
func TestDurationFinishesWhatItBegan(t *testing.T) {
	const clients = 5
	conns := adopt(t, needServer(t).DSN(), clients, nil)
	given := make([]Client, clients)
	var asked atomic.Int64
	var lastAsked, end time.Duration = 0, 50 * time.Millisecond
	for i := range given {
		task := endless("SELECT pg_sleep(0.3)")
		given[i] = Client{conns[i], taskFunc(func(at Moment, b []byte) ([]byte, Action) {
			b, act := task.Next(at, b)
			if act.kind == send {
				asked.Add(1)
				lastAsked = max(lastAsked, at.Now)
			}
			return b, act
		})}
	}
	var l tallies
	s, err := Run(t.Context(), Options{Clients: given, Threads: 1, Recorder: l.recorder, Duration: end})
	if err != nil || s.Transactions != asked.Load() || s.Transactions == 0 || lastAsked >= end || s.Elapsed < end || s.Cancelled {
		t.Errorf("%v %+v, asked %d times until %v", err, s, asked.Load(), lastAsked)
	}
	execOn(t, conns[0])
}

// execOn shows that a connection is still good.
func execOn(t *testing.T, conn *Conn) {
	t.Helper()
	s := &steps{requests: []func([]byte) ([]byte, Action){queryRows("SELECT 42")}}
	if _, err := Run(t.Context(), Options{Clients: []Client{{conn, s}}, Recorder: (&tallies{}).recorder}); err != nil || fmt.Sprint(s.rows) != "[[42]]" {
		t.Errorf("%v %v", err, s.rows)
	}
}

func TestTaskThatNeverAsksDoesNotHoldOthersUp(t *testing.T) {
	conns := adopt(t, needServer(t).DSN(), 2, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	idle := taskFunc(func(_ Moment, b []byte) ([]byte, Action) { return b, Done() })
	var n int
	busy := taskFunc(func(at Moment, b []byte) ([]byte, Action) {
		if n++; n > 50 {
			cancel()
		}
		return AppendQuery(b, "SELECT 1"), Send(1)
	})
	s, err := Run(ctx, Options{Clients: []Client{{conns[0], idle}, {conns[1], busy}}, Threads: 1, Recorder: (&tallies{}).recorder})
	if err != nil || !s.Cancelled || n < 50 || s.Transactions == 0 {
		t.Errorf("%v %+v, %d", err, s, n)
	}
}

func TestFailuresAreCountedApart(t *testing.T) {
	var n int
	l := &tallies{}
	s, err := Run(t.Context(), Options{Recorder: l.recorder, Transactions: 10, Clients: []Client{{adopt(t, needServer(t).DSN(), 1, nil)[0],
		taskFunc(func(_ Moment, b []byte) ([]byte, Action) {
			n++
			if n%2 == 1 {
				return AppendQuery(b, "SELECT 1"), Send(1)
			}
			if n%4 == 0 {
				return b, Fail(State{'4', '0', '0', '0', '1'})
			}
			return b, Done()
		})}}})
	sum := l.sum()
	if err != nil || s.Transactions != 5 || s.Failed != 5 || sum.FailedBy[State{'4', '0', '0', '0', '1'}] != 5 || sum.Latency.Count() != 5 {
		t.Errorf("%v %+v %+v", err, s, sum)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	conn := adopt(t, needServer(t).DSN(), 1, nil)[0]
	good := []Client{{conn, endless("SELECT 1")}}
	recorder := (&tallies{}).recorder
	for name, o := range map[string]Options{
		"no clients":  {Recorder: recorder},
		"no recorder": {Clients: good},
		"no task":     {Clients: []Client{{Conn: conn}}, Recorder: recorder},
		"no conn":     {Clients: []Client{{Task: good[0].Task}}, Recorder: recorder},
		"negative":    {Clients: good, Recorder: recorder, Duration: -1},
	} {
		if _, err := Run(t.Context(), o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestAdoptLeavesWhatItCannotDrive: the connection can still be used through pgconn.
func TestAdoptLeavesWhatItCannotDrive(t *testing.T) {
	config, err := pgconn.ParseConfig(needServer(t).DSN())
	if err != nil {
		t.Fatal(err)
	}
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return struct{ net.Conn }{conn}, err
	}
	pc, err := pgconn.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pc.Close(context.Background()) }()
	var unsupported *UnsupportedError
	if _, err := Adopt(t.Context(), pc); !errors.As(err, &unsupported) {
		t.Fatalf("%v", err)
	}
	if _, err := pc.Exec(t.Context(), "SELECT 1").ReadAll(); err != nil {
		t.Error(err)
	}
	plain, err := pgconn.Connect(t.Context(), needServer(t).DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = plain.Close(context.Background()) }()
	if _, err := plain.Exec(t.Context(), "BEGIN").ReadAll(); err != nil {
		t.Fatal(err)
	}
	if _, err := Adopt(t.Context(), plain); err == nil {
		t.Error("a connection in a transaction was taken over")
	}
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(fds)
}

func TestNoDescriptorIsLeft(t *testing.T) {
	c := needServer(t)
	execAll(t, c.DSN(), "SELECT 1") // what the runtime opens once is open now
	before := openDescriptors(t)
	for range 3 {
		t.Run("", func(t *testing.T) {
			conns := adopt(t, c.DSN(), 5, nil)
			given := make([]Client, len(conns))
			for i := range given {
				given[i] = Client{conns[i], endless("SELECT 1")}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
			defer cancel()
			if s, err := Run(ctx, Options{Clients: given, Threads: 3, Recorder: (&tallies{}).recorder}); err != nil || !s.Cancelled {
				t.Errorf("%v %+v", err, s)
			}
		})
	}
	if after := openDescriptors(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

// TestNoAllocationPerTransaction compares a long and a longer run.
func TestNoAllocationPerTransaction(t *testing.T) {
	makeFinds(t)
	for _, mode := range []string{"prepared", "extended", "simple"} {
		conns := adopt(t, needServer(t).DSN(), 4, func(pc *pgconn.PgConn) {
			if _, err := pc.Prepare(t.Context(), statement, finds+"$1;", nil); err != nil {
				t.Fatal(err)
			}
		})
		given := make([]Client, len(conns))
		for i := range given {
			var n int64
			given[i] = Client{conns[i], &selectTask{mode: mode, sql: finds, next: func() (int64, bool) { n++; return n%3000 + 1, true }}}
		}
		mallocs := func(transactions int64) int64 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := Run(t.Context(), Options{Clients: given, Threads: 2, Transactions: transactions, Rate: 1e6, Recorder: func(int) Recorder { return NewTally() }}); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			return int64(after.Mallocs - before.Mallocs)
		}
		mallocs(100)
		few, many := mallocs(100), mallocs(2100)
		// The runtime itself allocates now and then.
		if more := many - few; more > 100 {
			t.Errorf("%s: %d allocations in 8000 transactions", mode, more)
		}
	}
}
