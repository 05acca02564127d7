package workload

import (
	"context"

	"github.com/jackc/pgx/v5"

	"pgtlb/workload/script"
)

// Scenario is one kind of load. Adding one is one file and one line in List.
type Scenario struct {
	Name string // as typed: "point-select"
	// Version changes when the scenario's work changes, so that runs of
	// different meaning are not compared.
	Version int
	Summary string // one line: what it does
	Shows   string // what it should show, and why
	Clients int    // default number of clients
	// Flushes tells that the flush of the WAL is what the scenario shows: without it, as
	// in a lab that nobody tells otherwise, there is nothing to see.
	Flushes bool
	Params  []Param
	// Data is what the scenario works on, made in this order. v is complete, as
	// from Resolve. A nil Data needs none.
	Data func(v Values) []Data
	// Work is what its clients do, with v as for Data. It has no side effects.
	Work func(v Values) (Work, error)
}

// Param is a number that a scenario can be tuned with. In the scenario's scripts
// it is the variable of the same name.
type Param struct {
	Name     string
	Default  int64
	Min, Max int64
	Meaning  string
}

// Values holds the parameters of one load by name; Param defaults are filled in
// by Scenario.Resolve.
type Values map[string]int64

// Work is what the clients of a load do over and over: one of the scripts, drawn
// by weight for each transaction.
type Work struct {
	Scripts []Script
	Mode    script.Mode
	// Session is SQL that each session runs once, before its first transaction.
	Session []string
	// Reconnect gives each transaction a connection of its own.
	Reconnect bool
	// Strict has a client end at the first error that is no serialization
	// failure and no deadlock, as pgbench does; else such a transaction is counted as failed
	// and the client goes on.
	Strict bool
	// PerCommand measures each command of the scripts.
	PerCommand bool
}

// Script is one script of a Work, in pgbench's language.
type Script struct {
	Name   string // of the file, or what the script is
	Text   string
	Weight int
}

// oneScript is the Work of a scenario with one script over pgtlb's own schema.
func oneScript(name, text string) Work {
	return Work{Scripts: []Script{{Name: name, Text: text, Weight: 1}}, Mode: script.Prepared, Session: []string{useSchema}}
}

// Data is something that scenarios read or write, in the database under load.
type Data interface {
	// Setup makes it, or finds it made already with the same definition and
	// parameters and changes nothing. What pgtlb did not make is never replaced and is an
	// error. One that is cancelled or fails leaves the database as it was.
	// progress may be nil; it is called by the calling goroutine.
	Setup(ctx context.Context, conns Connect, progress func(Progress)) error
	// Fingerprint reads what the database holds: it is equal for equal content.
	// What a load has written to is left out of it.
	Fingerprint(ctx context.Context, conn *pgx.Conn) (string, error)
	// Relations are the tables and indexes to prewarm, schema-qualified and
	// quoted as in SQL: what may not fit into shared buffers first. It is called after Setup.
	Relations(ctx context.Context, conn *pgx.Conn) ([]string, error)
	// Estimate is about how many bytes tables and indexes take that Setup would
	// make in an empty database.
	Estimate() int64
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

// Setup makes all the scenario's data.
func (s Scenario) Setup(ctx context.Context, conns Connect, v Values, progress func(Progress)) error {
	for _, d := range s.Needs(v) {
		if err := d.Setup(ctx, conns, progress); err != nil {
			return err
		}
	}
	return nil
}

// Needs is the scenario's data, nil for one without.
func (s Scenario) Needs(v Values) []Data {
	if s.Data == nil {
		return nil
	}
	return s.Data(v)
}

// Estimate is about how many bytes the scenario's data takes.
func (s Scenario) Estimate(v Values) int64 {
	var n int64
	for _, d := range s.Needs(v) {
		n += d.Estimate()
	}
	return n
}

// Fingerprint stands for all the data that the scenario reads; it is empty for a
// scenario without data.
func (s Scenario) Fingerprint(ctx context.Context, conns Connect, v Values) (string, error) {
	all := s.Needs(v)
	if len(all) == 0 {
		return "", nil
	}
	conn, err := conns(ctx)
	if err != nil {
		return "", err
	}
	defer closeConn(ctx, conn)
	text := ""
	for _, d := range all {
		is, err := d.Fingerprint(ctx, conn)
		if err != nil {
			return "", err
		}
		if text != "" {
			text += "+"
		}
		text += is
	}
	return text, nil
}
