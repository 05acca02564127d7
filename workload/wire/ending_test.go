//go:build linux

package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestCancelEndsLongQueries: the queries end on the server too.
func TestCancelEndsLongQueries(t *testing.T) {
	onBoth(t, func(t *testing.T, with connector) {
		c := needServer(t)
		for _, over := range []string{"unix", "tcp"} {
			t.Run(over, func(t *testing.T) {
				dsn := c.DSN()
				if over == "tcp" {
					dsn = newProxy(t, dsn).dsn
				}
				const clients = 20 // more than there are cancel requests at a time
				conns := with.adopt(t, dsn, clients, nil)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var asked atomic.Int64
				given := make([]Client, clients)
				for i := range given {
					var n int
					given[i] = Client{conns[i], taskFunc(func(_ Moment, b []byte) ([]byte, Action) {
						switch n++; {
						case i == 0: // measured before the end
							if n > 20 && asked.Load() == clients-1 {
								cancel()
							}
							if n%2 == 0 {
								return b, Done()
							}
							return AppendQuery(b, "SELECT 1"), Send(1)
						}
						asked.Add(1)
						return AppendQuery(b, "SELECT pg_sleep(600)"), Send(1)
					})}
				}
				var l tallies
				s, err := Run(ctx, Options{Clients: given, Threads: 2, Recorder: l.recorder})
				if sum := l.sum(); err != nil || !s.Cancelled || s.Transactions == 0 || s.Transactions != sum.Transactions || s.Failed != 0 {
					t.Errorf("%v %+v", err, s)
				}
				// A loaded machine may not start a process for every cancel request in time.
				good := slices.IndexFunc(conns[1:], func(c *Conn) bool { return !c.broken })
				if good < 0 {
					t.Fatal("every client was cut off instead of cancelled")
				}
				execOn(t, conns[1+good])
			})
		}
	})
}

// TestCancelOfAServerThatHangs: what cannot be cancelled is shut down.
func TestCancelOfAServerThatHangs(t *testing.T) {
	onBoth(t, func(t *testing.T, with connector) {
		p := newProxy(t, needServer(t).DSN())
		conns := with.adopt(t, p.dsn, 3, nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		p.deaf.Store(true)
		var asked atomic.Int64
		given := make([]Client, len(conns))
		for i := range given {
			given[i] = Client{conns[i], taskFunc(func(_ Moment, b []byte) ([]byte, Action) {
				if asked.Add(1) == int64(len(conns)) {
					cancel()
				}
				return AppendQuery(b, "SELECT 1"), Send(1)
			})}
		}
		s, err := Run(ctx, Options{Clients: given, Recorder: (&tallies{}).recorder})
		if err != nil || !s.Cancelled || s.Transactions != 0 {
			t.Errorf("%v %+v", err, s)
		}
		for i, conn := range conns {
			if !conn.broken {
				t.Errorf("connection %d counts as good", i)
			}
		}
	})
}

func TestLostConnections(t *testing.T) {
	onBoth(t, func(t *testing.T, with connector) {
		conns := with.adopt(t, needServer(t).DSN(), 4, nil)
		given := make([]Client, len(conns))
		for i := range given {
			given[i] = Client{conns[i], endless("SELECT 1")}
		}
		given[2].Task = endless(fmt.Sprintf("SELECT pg_sleep(0.05), pg_terminate_backend(%d)", conns[1].PID()))
		s, err := Run(t.Context(), Options{Clients: given, Recorder: (&tallies{}).recorder})
		var lost *LostError
		var said *pgconn.PgError
		if !errors.As(err, &lost) || !errors.As(err, &said) || lost.Client != 1 || said.Code != "57P01" || s.Transactions == 0 || s.Cancelled {
			t.Fatalf("%v %+v", err, s)
		}
		if want := "client 1 (of 4, from 0) lost its connection: FATAL: terminating connection due to administrator command (SQLSTATE 57P01)"; !strings.Contains(err.Error(), want) {
			t.Errorf("%q", err)
		}
	})
}

// loner is a task that ends alone, with what it was told.
type loner struct {
	Task
	told []error
}

func (l *loner) Lost(err error) bool { l.told = append(l.told, err); return true }

// TestLossOfALonerEndsItAlone: the others do all of their transactions.
func TestLossOfALonerEndsItAlone(t *testing.T) {
	onBoth(t, func(t *testing.T, with connector) {
		conns := with.adopt(t, needServer(t).DSN(), 5, nil)
		asks := func(sql string) *loner { return &loner{Task: endless(sql)} }
		sleeper := &loner{Task: taskFunc(func(_ Moment, b []byte) ([]byte, Action) { return b, Sleep(time.Hour) })}
		tasks := []*loner{
			asks("SELECT pg_sleep(0.01)"), asks("SELECT pg_terminate_backend(pg_backend_pid())"), asks("COPY pg_class FROM STDIN"), sleeper,
			asks(fmt.Sprintf("SELECT pg_terminate_backend(%d)", conns[3].PID())),
		}
		given := make([]Client, len(conns))
		for i := range given {
			given[i] = Client{conns[i], tasks[i]}
		}
		s, err := Run(t.Context(), Options{Clients: given, Threads: 1, Transactions: 3, Recorder: (&tallies{}).recorder})
		if err != nil || s.Transactions != 6 || s.Cancelled {
			t.Errorf("%v %+v", err, s)
		}
		for i, code := range map[int]string{1: "57P01", 3: "57P01"} {
			var said *pgconn.PgError
			if told := tasks[i].told; len(told) != 1 || !errors.As(told[0], &said) || said.Code != code {
				t.Errorf("client %d was told %v", i, told)
			}
		}
		if told := tasks[2].told; len(told) != 1 || !errors.Is(told[0], errCopy) || len(tasks[0].told)+len(tasks[4].told) > 0 {
			t.Errorf("told %v, others %v %v", told, tasks[0].told, tasks[4].told)
		}
	})
}

// TestWordsOfAnyFatalError: not only of an administrator's command.
func TestWordsOfAnyFatalError(t *testing.T) {
	onBoth(t, func(t *testing.T, with connector) {
		conns := with.adopt(t, needServer(t).DSN(), 1, func(c *pgconn.PgConn) {
			if err := c.Exec(t.Context(), "SET idle_in_transaction_session_timeout = 20").Close(); err != nil {
				t.Error(err)
			}
		})
		asked := false
		_, err := Run(t.Context(), Options{Recorder: (&tallies{}).recorder, Clients: []Client{{conns[0], taskFunc(func(_ Moment, b []byte) ([]byte, Action) {
			if asked {
				return b, Sleep(time.Hour)
			}
			asked = true
			return AppendQuery(b, "BEGIN"), Send(1)
		})}}})
		var lost *LostError
		if !errors.As(err, &lost) || lost.Said == nil || lost.Said.Code != "25P03" {
			t.Errorf("%v", err)
		}
	})
}

// TestBackendIsKilled: it cannot say a word, and the postmaster ends the others.
func TestBackendIsKilled(t *testing.T) {
	conns := direct.adopt(t, ownServer(t).DSN(), 2, nil)
	killer := taskFunc(func(at Moment, b []byte) ([]byte, Action) {
		if err := syscall.Kill(conns[1].PID(), syscall.SIGKILL); err != nil {
			return b, Abort(err)
		}
		return AppendQuery(b, "SELECT pg_sleep(600)"), Send(1)
	})
	_, err := Run(t.Context(), Options{Clients: []Client{{conns[0], killer}, {conns[1], endless("SELECT pg_sleep(600)")}}, Threads: 1, Recorder: (&tallies{}).recorder})
	var lost *LostError
	if !errors.As(err, &lost) || lost.Clients != 2 {
		t.Fatalf("%v", err)
	}
	if lost.Client == 1 && !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Errorf("cause %v", lost.Cause)
	}
}

func TestAbortEndsTheRun(t *testing.T) {
	onBoth(t, func(t *testing.T, with connector) {
		conns := with.adopt(t, needServer(t).DSN(), 2, nil)
		why := errors.New("the data is not what was set up")
		var n int
		_, err := Run(t.Context(), Options{Recorder: (&tallies{}).recorder, Clients: []Client{
			{conns[0], endless("SELECT pg_sleep(600)")},
			{conns[1], taskFunc(func(_ Moment, b []byte) ([]byte, Action) {
				if n++; n > 3 {
					return b, Abort(why)
				}
				return AppendQuery(b, "SELECT 1"), Send(1)
			})},
		}})
		if !errors.Is(err, why) || !strings.Contains(err.Error(), "client 1 (of 2, from 0)") {
			t.Errorf("%v", err)
		}
	})
}

// TestLossIsSeenInASleep: not only when the client has something to send.
func TestLossIsSeenInASleep(t *testing.T) {
	onBoth(t, func(t *testing.T, with connector) {
		conns := with.adopt(t, needServer(t).DSN(), 2, nil)
		sleeper := taskFunc(func(_ Moment, b []byte) ([]byte, Action) { return b, Sleep(time.Hour) })
		_, err := Run(t.Context(), Options{Recorder: (&tallies{}).recorder, Clients: []Client{
			{conns[0], endless(fmt.Sprintf("SELECT pg_sleep(0.02), pg_terminate_backend(%d)", conns[1].PID()))}, {conns[1], sleeper}}})
		var lost *LostError
		if !errors.As(err, &lost) || lost.Client != 1 || lost.Said == nil || lost.Said.Code != "57P01" {
			t.Errorf("%v", err)
		}
	})
}

// TestSleepersWakeWhenTheRunEnds: and their connections are as good as before.
func TestSleepersWakeWhenTheRunEnds(t *testing.T) {
	onBoth(t, func(t *testing.T, with connector) {
		conns := with.adopt(t, needServer(t).DSN(), 3, nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var asleep atomic.Int64
		given := make([]Client, len(conns))
		for i := range given {
			given[i] = Client{conns[i], taskFunc(func(_ Moment, b []byte) ([]byte, Action) {
				if asleep.Add(1) == int64(len(conns)) {
					cancel()
				}
				return b, Sleep(time.Hour)
			})}
		}
		if s, err := Run(ctx, Options{Clients: given, Recorder: (&tallies{}).recorder}); err != nil || !s.Cancelled {
			t.Errorf("%v %+v", err, s)
		}
		for _, conn := range conns {
			execOn(t, conn)
		}
	})
}
