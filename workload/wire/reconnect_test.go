//go:build linux

package wire

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// reconnector opens connections to a server and keeps them, to see that they are
// closed.
type reconnector struct {
	with connector
	dsn  string
	mu   sync.Mutex
	all  []*Conn
}

func (r *reconnector) connect(ctx context.Context, _ int) (*Conn, error) {
	pc, err := r.with.connect(ctx, r.dsn)
	if err != nil {
		return nil, err
	}
	conn, err := Adopt(ctx, pc)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, conn)
	return conn, nil
}

func (r *reconnector) checkClosed(t *testing.T) {
	t.Helper()
	pids := map[int]bool{}
	for _, conn := range r.all {
		if !conn.closed {
			t.Error("a connection is still open")
		}
		pids[conn.PID()] = true
	}
	if len(pids) < len(r.all) {
		t.Errorf("%d sessions in %d connections", len(pids), len(r.all))
	}
}

// sessionTask prepares a statement in each session, which fails in one that has it,
// and executes it twice.
type sessionTask struct {
	asked, told int
	begin       []time.Duration
	errs        []error
}

func (s *sessionTask) Reconnected() { s.told++ }

func (s *sessionTask) Next(at Moment, b []byte) ([]byte, Action) {
	switch s.asked++; s.asked {
	case 1:
		s.begin = append(s.begin, at.Now-at.Begin)
		return AppendSync(AppendParse(b, statement, "SELECT 1")), Send(1)
	case 2, 3:
		b, mark := BeginBind(b, statement, 0)
		return appendExecuteSync(EndBind(b, mark)), Send(1)
	}
	s.asked = 0
	return b, Done()
}

func (s *sessionTask) Result(_ Moment, r *Result) {
	if err := r.Err(); err != nil {
		s.errs = append(s.errs, err)
	}
}

func TestEachTransactionHasItsConnection(t *testing.T) {
	onBoth(t, func(t *testing.T, with connector) {
		for _, rate := range []float64{0, 500} {
			const clients, each = 3, 4
			r := &reconnector{with: with, dsn: needServer(t).DSN()}
			tasks := make([]*sessionTask, clients)
			given := make([]Client, clients)
			for i := range given {
				tasks[i] = &sessionTask{}
				given[i].Task = tasks[i]
			}
			var l tallies
			s, err := Run(t.Context(), Options{Clients: given, Threads: 2, Transactions: each, Rate: rate, Recorder: l.recorder, Reconnect: r.connect})
			if err != nil || s.Transactions != clients*each || s.Failed != 0 || s.Indirect != "each transaction has a connection of its own" {
				t.Fatalf("%v %+v", err, s)
			}
			sum := l.sum()
			if sum.Connections != clients*each || len(r.all) != clients*each || sum.Connect.Count() != clients*each ||
				sum.ConnectSum <= 0 || len(l.all) != 2 {
				t.Errorf("%+v, %d connections", sum, len(r.all))
			}
			r.checkClosed(t)
			for i, task := range tasks {
				if task.told != each || len(task.errs) > 0 {
					t.Errorf("client %d was told of %d sessions, errors %v", i, task.told, task.errs)
				}
				for _, late := range task.begin {
					// Without a rate, a transaction begins when its connection is there.
					if rate == 0 && late != 0 || rate > 0 && late <= 0 {
						t.Errorf("rate %g: a transaction was %v late", rate, late)
					}
				}
			}
			if rate > 0 && sum.LagSum < sum.ConnectSum {
				t.Errorf("lag %v does not contain the time to connect, %v", sum.LagSum, sum.ConnectSum)
			}
		}
	})
}

func TestConnectionThatCannotBeOpened(t *testing.T) {
	why := errors.New("too many")
	good := &reconnector{dsn: needServer(t).DSN()}
	var opened atomic.Int64
	s, err := Run(t.Context(), Options{
		Clients:  []Client{{Task: endless("SELECT 1")}, {Task: endless("SELECT 1")}},
		Recorder: (&tallies{}).recorder,
		Reconnect: func(ctx context.Context, client int) (*Conn, error) {
			if client == 1 && opened.Add(1) == 3 {
				return nil, why
			}
			return good.connect(ctx, client)
		},
	})
	if !errors.Is(err, why) || !strings.Contains(err.Error(), "client 1 (of 2, from 0): opening a connection: too many") || s.Transactions < 2 {
		t.Errorf("%v %+v", err, s)
	}
	good.checkClosed(t)
}

// TestCancelWhileReconnecting: clients that connect, wait for a start, sleep and
// query all end.
func TestCancelWhileReconnecting(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := &reconnector{dsn: needServer(t).DSN()}
	var ready sync.WaitGroup
	ready.Add(3)
	go func() { ready.Wait(); cancel() }()
	once := func(act func(b []byte) ([]byte, Action)) Task {
		return taskFunc(func(_ Moment, b []byte) ([]byte, Action) {
			ready.Done()
			return act(b)
		})
	}
	s, err := Run(ctx, Options{
		Recorder: (&tallies{}).recorder,
		Clients: []Client{
			{Task: once(query("SELECT pg_sleep(600)"))},
			{Task: once(func(b []byte) ([]byte, Action) { return b, Sleep(time.Hour) })},
			{Task: endless("SELECT 1")},
		},
		Reconnect: func(ctx context.Context, client int) (*Conn, error) {
			if client == 2 {
				ready.Done()
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return r.connect(ctx, client)
		},
	})
	if err != nil || !s.Cancelled || s.Transactions != 0 {
		t.Errorf("%v %+v", err, s)
	}
	r.checkClosed(t)

	// One in an hour: nobody gets as far as to connect.
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	s, err = Run(ctx, Options{Clients: []Client{{Task: endless("SELECT 1")}}, Recorder: (&tallies{}).recorder, Rate: 1. / 3600, Seed: 1, Reconnect: r.connect})
	if err != nil || !s.Cancelled || s.Transactions != 0 || len(r.all) != 2 {
		t.Errorf("%v %+v", err, s)
	}
}

// TestEndOfATransactionsConnection: what the server said is told in this mode too.
func TestEndOfATransactionsConnection(t *testing.T) {
	r := &reconnector{dsn: needServer(t).DSN()}
	_, err := Run(t.Context(), Options{Clients: []Client{{Task: endless("SELECT pg_terminate_backend(pg_backend_pid())")}}, Recorder: (&tallies{}).recorder, Reconnect: r.connect})
	var lost *LostError
	if !errors.As(err, &lost) || lost.Said == nil || lost.Said.Code != "57P01" {
		t.Errorf("%v", err)
	}
	r.checkClosed(t)
}

func TestReconnectTakesNoConnection(t *testing.T) {
	conn := direct.adopt(t, needServer(t).DSN(), 1, nil)[0]
	r := &reconnector{}
	if _, err := Run(t.Context(), Options{Clients: []Client{{conn, endless("SELECT 1")}}, Recorder: (&tallies{}).recorder, Reconnect: r.connect}); err == nil {
		t.Error("no error")
	}
}
