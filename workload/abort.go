package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// grace is given to transactions in flight to end by themselves.
	grace = 20 * time.Millisecond
	// again is the time after which queries still running are cancelled once
	// more: a cancel request that arrives between two queries cancels nothing.
	again = 200 * time.Millisecond
	// enough is the time after which a connection whose query cannot be
	// cancelled is closed under it.
	enough = 300 * time.Millisecond
)

// abort makes all clients return: those whose query goes on are cancelled on
// the server, twice, then their sockets are closed. all closes when every client
// has returned.
func (u *run) abort(all <-chan struct{}) {
	u.stop.Store(true)
	if waitFor(all, grace) {
		return
	}
	u.cancelQueries(again)
	if waitFor(all, again) {
		return
	}
	u.cancelQueries(again)
	if waitFor(all, enough) {
		return
	}
	for _, c := range u.clients {
		if !c.returned.Load() {
			_ = c.conn.PgConn().Conn().Close() // it only has to wake the client
		}
	}
}

// waitFor tells whether done closes within d.
func waitFor(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// cancelQueries sends a cancel request for every client that has not returned.
func (u *run) cancelQueries(within time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	_ = inParallel(len(u.clients), func(i int) error {
		if c := u.clients[i]; !c.returned.Load() && ctx.Err() == nil {
			// What could not be cancelled is closed in the end.
			_ = c.conn.PgConn().CancelRequest(ctx)
		}
		return nil
	})
}

// lostError is a client's loss of its connection.
type lostError struct {
	client int
	err    error
}

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

// explainTimeout bounds the attempt to learn why a connection was lost.
const explainTimeout = time.Second

// explain turns a lost connection into a sentence. A server that ends a session
// in order says why; for one that does not, a new connection tells what has
// become of the server.
func (u *run) explain(ctx context.Context, lost *lostError) error {
	what := fmt.Sprintf("client %d of %d lost its connection", lost.client+1, len(u.clients))
	var said *pgconn.PgError
	if errors.As(lost.err, &said) {
		return fmt.Errorf("%s: %w", what, lost.err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), explainTimeout)
	defer cancel()
	conn, err := u.load.Connect(ctx)
	if err == nil {
		closeConn(ctx, conn)
		return fmt.Errorf("%s without a word from the server, which answers again: it was restarted or the session was killed (%w)", what, lost.err)
	}
	if errors.As(err, &said) {
		return fmt.Errorf("%s, and the server says: %s (%w)", what, said.Message, lost.err)
	}
	return fmt.Errorf("%s, and the server does not answer any more (%w)", what, lost.err)
}
