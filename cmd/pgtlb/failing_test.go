package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestFailedTransactionsAreANo: a load some of whose queries were cancelled ends
// with 1, as text and as JSON.
func TestFailedTransactionsAreANo(t *testing.T) {
	for _, how := range []string{"--plain", "--json"} {
		t.Run(how, func(t *testing.T) {
			box := newSandbox(t)
			cancelled := make(chan error, 1)
			ctx, stop := context.WithCancel(t.Context())
			go func() { cancelled <- cancelQueries(ctx, box) }()
			r := box.run(smallLab(t, how, "--scenario", "join-aggregate", "-c", "2", "-T", "4")...)
			stop()
			if err := <-cancelled; err != nil {
				t.Fatalf("%v\n%s", err, r.err)
			}
			if r.code != exitNo || !strings.Contains(lastLine(r.err), "transactions failed") {
				t.Errorf("exit code %d, want %d\n%s", r.code, exitNo, r.err)
			}
			if !strings.Contains(r.err, "20,000 rows: ") || !strings.Contains(r.err, "fits shared_buffers") {
				t.Errorf("no size line in the progress:\n%s", r.err)
			}
			if run := box.theRun(); run.End == nil || run.End.Reason != "finished" {
				t.Errorf("the run's end: %+v", run.End)
			}
			box.nothingLeft()
		})
	}
}

// cancelQueries cancels queries of the load's clients, some for certain.
func cancelQueries(ctx context.Context, box *sandbox) error {
	for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		sockets, _ := filepath.Glob(filepath.Join(box.tmp, "*", ".s.PGSQL.*"))
		for _, s := range sockets {
			if port, ok := strings.CutPrefix(filepath.Ext(s), "."); ok && cancelSome(ctx, filepath.Dir(s), port) {
				return nil
			}
		}
	}
	return fmt.Errorf("waiting for the load's clients: %w", ctx.Err())
}

// cancelSome tells whether queries of the load were there to be cancelled.
func cancelSome(ctx context.Context, dir, port string) bool {
	conn, err := pgx.Connect(ctx, fmt.Sprintf("host=%s port=%s user=postgres dbname=postgres", dir, port))
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close(ctx) }()
	const enough = 10 // a cancel request between two queries cancels nothing
	hit := 0
	for range 2 * enough {
		var n int
		err := conn.QueryRow(ctx, `SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity
			WHERE application_name = 'pgtlb join-aggregate' AND state = 'active' AND backend_start < now() - interval '1 s'`).Scan(&n)
		if err != nil {
			return false
		}
		hit += n
		time.Sleep(5 * time.Millisecond) // or one client might fail too often in a row
	}
	return hit >= enough
}
