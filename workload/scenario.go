package workload

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Scenario is one kind of load. Adding one is one file and one line in List.
type Scenario struct {
	Name string // as typed: "point-select"
	// Version changes when the scenario's work changes, so that runs of
	// different meaning are not compared.
	Version int
	Summary string // one line: what it does
	Shows   string // what it should show about memory pages, and why
	Clients int    // default number of clients
	Params  []Param
	// Script is what one client runs over and over, in pgbench's language, for
	// people to read.
	Script string
	// Setup makes the scenario's data, or finds it made already, and reports
	// what happens. It is idempotent and seeded; conns opens connections to the
	// database that the data goes to.
	Setup func(ctx context.Context, conns Connect, v Values, progress func(Progress)) error
	// Worker prepares one client on its own connection.
	Worker func(ctx context.Context, conn *pgconn.PgConn, w WorkerEnv) (Worker, error)
}

// Param is a number that a scenario can be tuned with.
type Param struct {
	Name     string
	Default  int64
	Min, Max int64
	Meaning  string
}

// Values holds the parameters of one load by name; Param defaults are filled in
// by Scenario.Resolve.
type Values map[string]int64

// WorkerEnv is what a worker knows of itself.
type WorkerEnv struct {
	Index  int // 0 … clients-1
	Seed   int64
	Values Values
}

// Worker is one client. Do runs one transaction and returns when its answer has
// arrived to the last byte. A *pgconn.PgError is a failed transaction, after
// which the worker goes on; any other error ends it.
//
// ctx ends when the load is cancelled. A worker needs it only for what it does
// beside the server, such as sleeping: a query in flight is ended by the Runner
// with a cancel request, so Do hands context.Background to the connection and
// spares itself a context watch for each transaction.
type Worker interface {
	Do(ctx context.Context) error
}

// Connect opens a connection to the server under load. It is called by several
// goroutines at a time.
type Connect func(ctx context.Context) (*pgx.Conn, error)

// Progress tells how far a long step is.
type Progress struct {
	Phase  string // "load", "index", "analyze", "prewarm"
	Detail string // what exactly, with sizes
	Done   int64
	Total  int64 // 0 where the end is not known
	Unit   string
}
