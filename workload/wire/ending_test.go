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
	c := needServer(t)
	for _, over := range []string{"unix", "tcp"} {
		t.Run(over, func(t *testing.T) {
			dsn := c.DSN()
			if over == "tcp" {
				dsn = newProxy(t, dsn).dsn
			}
			const clients = 40
			conns := adopt(t, dsn, clients, nil)
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
}

// TestCancelOfAServerThatHangs: what cannot be cancelled is shut down.
func TestCancelOfAServerThatHangs(t *testing.T) {
	p := newProxy(t, needServer(t).DSN())
	conns := adopt(t, p.dsn, 3, nil)
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
}

func TestLostConnections(t *testing.T) {
	c := ownServer(t)
	conns := adopt(t, c.DSN(), 4, nil)
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

	// A backend is killed: it cannot say a word, and the postmaster ends the others.
	alive := adopt(t, c.DSN(), 2, nil)
	killer := taskFunc(func(at Moment, b []byte) ([]byte, Action) {
		if err := syscall.Kill(alive[1].PID(), syscall.SIGKILL); err != nil {
			return b, Abort(err)
		}
		return AppendQuery(b, "SELECT pg_sleep(600)"), Send(1)
	})
	_, err = Run(t.Context(), Options{Clients: []Client{{alive[0], killer}, {alive[1], endless("SELECT pg_sleep(600)")}}, Threads: 1, Recorder: (&tallies{}).recorder})
	if !errors.As(err, &lost) || lost.Clients != 2 {
		t.Fatalf("%v", err)
	}
	if lost.Client == 1 && !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Errorf("cause %v", lost.Cause)
	}
}

func TestAbortEndsTheRun(t *testing.T) {
	conns := adopt(t, needServer(t).DSN(), 2, nil)
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
}
