//go:build linux

package wire

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

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
func runSteps(t *testing.T, with connector, requests ...func([]byte) ([]byte, Action)) (*steps, error) {
	t.Helper()
	s := &steps{requests: requests}
	var l tallies
	stats, err := Run(t.Context(), Options{Clients: []Client{{with.adopt(t, needServer(t).DSN(), 1, nil)[0], s}}, Recorder: l.recorder})
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
	onBoth(t, func(t *testing.T, with connector) {
		makeFinds(t)
		c := needServer(t)
		for _, mode := range []string{"prepared", "extended", "simple"} {
			t.Run(mode, func(t *testing.T) { findAll(t, with, c.DSN(), mode) })
		}
		t.Run("tcp", func(t *testing.T) { findAll(t, with, newProxy(t, c.DSN()).dsn, "prepared") })
	})
}

func findAll(t *testing.T, with connector, dsn, mode string) {
	const ids, clients, threads = 1000, 7, 3
	conns := with.adopt(t, dsn, clients, func(pc *pgconn.PgConn) {
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
	if stats.Transactions != ids || sum.Transactions != ids || sum.Latency.Count() != ids || stats.Threads != map[bool]int{false: threads}[with.wrap] || (stats.Indirect != "") != with.wrap || stats.Failed != 0 || stats.Cancelled {
		t.Errorf("%+v, recorded %d", stats, sum.Transactions)
	}
	for id := int64(1); id <= ids; id++ {
		if found[id] != 1 {
			t.Errorf("id %d found %d times", id, found[id])
		}
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

// execOn shows that a connection is still good.
func execOn(t *testing.T, conn *Conn) {
	t.Helper()
	s := &steps{requests: []func([]byte) ([]byte, Action){queryRows("SELECT 42")}}
	if _, err := Run(t.Context(), Options{Clients: []Client{{conn, s}}, Recorder: (&tallies{}).recorder}); err != nil || fmt.Sprint(s.rows) != "[[42]]" {
		t.Errorf("%v %v", err, s.rows)
	}
}

func TestTaskThatNeverAsksDoesNotHoldOthersUp(t *testing.T) {
	onBoth(t, func(t *testing.T, with connector) {
		conns := with.adopt(t, needServer(t).DSN(), 2, nil)
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
	})
}

func TestFailuresAreCountedApart(t *testing.T) {
	onBoth(t, func(t *testing.T, with connector) {
		var n int
		l := &tallies{}
		s, err := Run(t.Context(), Options{Recorder: l.recorder, Transactions: 10, Clients: []Client{{with.adopt(t, needServer(t).DSN(), 1, nil)[0],
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
	})
}

func TestOptionsAreChecked(t *testing.T) {
	conn := direct.adopt(t, needServer(t).DSN(), 1, nil)[0]
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
