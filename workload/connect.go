package workload

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// atOnce is how many connections are opened, prepared or cancelled at a time:
// the server starts a process for each.
const atOnce = 16

// tooManyConnections is SQLSTATE too_many_connections.
const tooManyConnections = "53300"

// connectAll opens n connections. With an error the connections opened until
// then are returned too; those missing are nil.
func connectAll(ctx context.Context, connect Connect, n int) ([]*pgx.Conn, error) {
	conns := make([]*pgx.Conn, n)
	err := inParallel(n, func(i int) (err error) {
		conns[i], err = connect(ctx)
		return err
	})
	if err == nil {
		return conns, nil
	}
	var open int
	for _, c := range conns {
		if c != nil {
			open++
		}
	}
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == tooManyConnections {
		return conns, fmt.Errorf("only %d of %d clients could connect, raise max_connections or use fewer clients: %w", open, n, refused)
	}
	return conns, fmt.Errorf("connecting client %d of %d: %w", open+1, n, err)
}

// inParallel calls do for 0 … n-1, a few at a time, and returns the first error.
// After an error it begins no more calls, but waits for those under way.
func inParallel(n int, do func(i int) error) error {
	var (
		wg    sync.WaitGroup
		next  atomic.Int64
		once  sync.Once
		first error
		over  atomic.Bool
	)
	for range min(n, atOnce) {
		wg.Go(func() {
			for !over.Load() {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := do(i); err != nil {
					once.Do(func() { first = err })
					over.Store(true)
				}
			}
		})
	}
	wg.Wait()
	return first
}
