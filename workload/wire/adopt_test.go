//go:build linux

package wire

import (
	"context"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestIndirect: the connection is driven all the same, and says why not directly.
func TestIndirect(t *testing.T) {
	dsn := needServer(t).DSN()
	conn := wrapped.adopt(t, dsn, 1, nil)[0]
	if why := conn.Indirect(); why != "is no plain TCP or Unix socket but a struct { net.Conn }" {
		t.Errorf("%q", why)
	}
	mixed := append(direct.adopt(t, dsn, 1, nil), conn)
	for range 2 { // the direct one is driven like the other, again and again
		var l tallies
		s, err := Run(t.Context(), Options{Transactions: 5, Recorder: l.recorder, Clients: []Client{{mixed[0], endless("SELECT 1")}, {mixed[1], endless("SELECT 1")}}})
		if err != nil || s.Transactions != 10 || !strings.Contains(s.Indirect, "client ") || l.sum().Transactions != 10 {
			t.Errorf("%v %+v", err, s)
		}
	}
	if mixed[0].Indirect() == "" {
		t.Error("a connection driven with an indirect one still counts as direct")
	}
}

func TestAdoptRefusesATransaction(t *testing.T) {
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
	onBoth(t, func(t *testing.T, with connector) {
		c := needServer(t)
		execAll(t, c.DSN(), "SELECT 1") // what the runtime opens once is open now
		before := openDescriptors(t)
		for range 3 {
			t.Run("", func(t *testing.T) {
				conns := with.adopt(t, c.DSN(), 5, nil)
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
	})
}

// TestNoAllocationPerTransaction compares a long and a longer run.
func TestNoAllocationPerTransaction(t *testing.T) {
	if testing.Short() {
		t.Skip("need: more time than -short leaves")
	}
	makeFinds(t)
	onBoth(t, noAllocationPerTransaction)
}

func noAllocationPerTransaction(t *testing.T, with connector) {
	for _, mode := range []string{"prepared", "extended", "simple"} {
		conns := with.adopt(t, needServer(t).DSN(), 4, func(pc *pgconn.PgConn) {
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
		few, many := mallocs(100), mallocs(1100)
		// The runtime itself allocates now and then.
		if more := many - few; more > 100 {
			t.Errorf("%s: %d allocations in 4000 transactions", mode, more)
		}
	}
}
