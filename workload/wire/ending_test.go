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
		given := make([]Client, len(conns))
		for i := range given {
			given[i] = Client{conns[i], endless("SELECT 1")}
		}
		time.AfterFunc(20*time.Millisecond, cancel)
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
		if want := "client 2 of 4 lost its connection: FATAL: terminating connection due to administrator command (SQLSTATE 57P01)"; !strings.Contains(err.Error(), want) {
			t.Errorf("%q", err)
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
		if !errors.Is(err, why) || !strings.Contains(err.Error(), "client 2 of 2") {
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
