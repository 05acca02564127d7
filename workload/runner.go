package workload

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Runner drives one load: a connection and a goroutine for each client.
type Runner struct{ meter *Meter }

// NewRunner returns a runner that records to meter, which serves one load only.
func NewRunner(meter *Meter) *Runner { return &Runner{meter: meter} }

// client is one client of a load.
type client struct {
	index    int
	conn     *pgx.Conn
	worker   Worker
	recorder *recorder
	returned atomic.Bool
	// row counts the failures in a row that have the SQLSTATE state.
	row   int
	state string
}

// run is a load under way.
type run struct {
	load    Load
	meter   *Meter
	clients []*client
	// stop tells clients to begin no transaction any more; what fails after it
	// is set has been cut short and does not count.
	stop atomic.Bool
}

// Run connects all clients, lets them prepare, calls load.Started and keeps them
// busy until the duration is over or ctx ends. It returns when every client has.
//
// At the end of the duration, transactions in flight are finished and counted.
// When ctx ends they are cancelled on the server and not counted; Run then
// returns within about a second, without an error if the load had started. A
// client that loses its connection, or whose every transaction fails alike, ends
// the load with an error. The result holds what was measured in every case.
func (r *Runner) Run(ctx context.Context, load Load) (Result, error) {
	values, err := load.Scenario.Resolve(load.Values)
	if err != nil {
		return Result{}, fmt.Errorf("running %s: %w", load.Scenario.Name, err)
	}
	if load.Clients < 1 {
		return Result{}, fmt.Errorf("running %s: clients must be at least 1", load.Scenario.Name)
	}
	load.Values = values
	u := &run{load: load, meter: r.meter}
	var res Result
	err = u.drive(ctx, &res)
	u.meter.tally(&res)
	if err != nil {
		return res, fmt.Errorf("running %s: %w", load.Scenario.Name, err)
	}
	return res, nil
}

func (u *run) drive(ctx context.Context, res *Result) error {
	start := time.Now()
	conns, err := connectAll(ctx, u.load.Connect, u.load.Clients)
	defer closeAll(ctx, conns)
	if err != nil {
		return err
	}
	res.InitialConnect = time.Since(start)
	if err := u.prepare(ctx, conns); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if u.load.Started != nil {
		u.load.Started()
	}
	start = time.Now()
	if err = ctx.Err(); err == nil { // Started may have taken a while
		err = u.work(ctx, start)
		res.Elapsed = time.Since(start)
	}
	if u.load.Stopped != nil {
		u.load.Stopped(err)
	}
	res.Cancelled = err == nil && ctx.Err() != nil
	return err
}

// prepare makes a worker for each connection.
func (u *run) prepare(ctx context.Context, conns []*pgx.Conn) error {
	u.clients = make([]*client, len(conns))
	return inParallel(len(conns), func(i int) error {
		env := WorkerEnv{Index: i, Seed: u.load.Seed, Values: u.load.Values}
		w, err := u.load.Scenario.Worker(ctx, conns[i].PgConn(), env)
		if err != nil {
			return fmt.Errorf("preparing client %d of %d: %w", i+1, len(conns), err)
		}
		u.clients[i] = &client{index: i, conn: conns[i], worker: w, recorder: u.meter.recorder(i)}
		return nil
	})
}

// work runs all clients until the time is over, ctx ends or one of them fails,
// whose error it returns.
func (u *run) work(ctx context.Context, start time.Time) error {
	var deadline time.Time
	if u.load.Duration > 0 {
		deadline = start.Add(u.load.Duration)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var clients, watch sync.WaitGroup
	all := make(chan struct{})
	watch.Go(func() {
		select {
		case <-all:
		case <-ctx.Done():
			u.abort(all)
		}
	})
	for _, c := range u.clients {
		clients.Go(func() {
			defer c.returned.Store(true)
			if err := u.keepBusy(ctx, c, deadline); err != nil {
				cancel(err)
			}
		})
	}
	clients.Wait()
	close(all)
	watch.Wait()

	cause := context.Cause(ctx)
	var lost *lostError
	switch {
	case errors.As(cause, &lost):
		return u.explain(ctx, lost)
	case errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded):
		return nil
	default:
		return cause
	}
}

// keepBusy runs one client's transactions one after the other.
func (u *run) keepBusy(ctx context.Context, c *client, deadline time.Time) error {
	for !u.stop.Load() {
		start := time.Now()
		if !deadline.IsZero() && !start.Before(deadline) {
			return nil
		}
		err := c.worker.Do(ctx)
		if err == nil {
			c.recorder.done(time.Since(start))
			c.row = 0
			continue
		}
		if u.stop.Load() || ctx.Err() != nil {
			return nil
		}
		if err := u.failed(c, err); err != nil {
			return err
		}
	}
	return nil
}

// failed counts a failed transaction, or returns why the client cannot go on.
func (u *run) failed(c *client, err error) error {
	if c.conn.IsClosed() {
		return &lostError{client: c.index, err: err}
	}
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return fmt.Errorf("client %d of %d: %w", c.index+1, len(u.clients), err)
	}
	u.meter.fail(c.recorder, refused.Code)
	return c.storm(refused, len(u.clients))
}

// stormLength is how many transactions of one client in a row may fail alike.
const stormLength = 100

// storm returns an error when a client does nothing but fail for one reason.
// Class 40 (serialization failure, deadlock) is what a contended load can bring
// and goes away by itself.
func (c *client) storm(err *pgconn.PgError, clients int) error {
	if err.Code != c.state {
		c.state, c.row = err.Code, 0
	}
	c.row++
	if c.row < stormLength || err.Code[:min(2, len(err.Code))] == "40" {
		return nil
	}
	return fmt.Errorf("client %d of %d failed %d times in a row for the same reason: %w", c.index+1, clients, c.row, err)
}
