package probes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestProcessesStayWhenTheServerDoesNotAnswer: their figures need no SQL, and the
// last rows say who they were.
func TestProcessesStayWhenTheServerDoesNotAnswer(t *testing.T) {
	tr := newTree(t, 3)
	cfg, err := pgx.ParseConfig("host=" + t.TempDir() + " user=nobody dbname=none")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{cfg: cfg, roots: tr.roots, turn: make(chan struct{}, 1)}
	s.state.Store(&Contact{})
	b := &backends{server: s, roots: tr.roots, gen: 1, pm: tr.postmaster(), procs: newProcessTable(tr.roots), rows: newActivityTable(),
		told: time.Date(2026, 3, 1, 12, 0, 7, 0, time.UTC)}
	defer b.procs.close()
	b.rows.put([]activity{{pid: 1001, backendType: "client backend", state: "active", app: "shop"}, {pid: 1009, state: "gone"}}, 0)
	out, err := b.Read(t.Context())
	if err != nil || len(out.Backends) != 4 {
		t.Fatalf("%d rows, %v", len(out.Backends), err)
	}
	if r := out.Backends[1]; r.App != "shop" || r.Mem == nil || r.Use == nil {
		t.Errorf("the row that was known: %+v", r)
	}
	if !hasReading(out.Readings, PageTableBackendsSum) || hasReading(out.Readings, Backends) {
		t.Errorf("readings %+v", out.Readings)
	}
	if m := out.Misses; len(m) != 1 || m[0].ID != Backends || !strings.Contains(m[0].Reason, "as of 12:00:07: ") {
		t.Errorf("misses %+v", m)
	}
	// Once the postmaster has ended there is nothing to show.
	tr.end(t, treePostmaster)
	if out, err = b.Read(t.Context()); err == nil || len(out.Backends) != 0 {
		t.Errorf("after its end %d rows, %v", len(out.Backends), err)
	}
}

// TestADeadlineIsNoLoss: a read that was too slow says that the server is silent,
// not that it is gone, and in one plain sentence.
func TestADeadlineIsNoLoss(t *testing.T) {
	s := &Server{}
	s.state.Store(&Contact{})
	s.touch(nil)
	answered := s.Contact().Answered
	slow := &serverError{fmt.Errorf("timeout: context already done: %w", context.DeadlineExceeded)}
	s.touch(slow)
	if c := s.Contact(); !c.Lost.IsZero() || !c.Silent || answered.IsZero() || !c.Answered.Equal(answered) {
		t.Errorf("after a deadline: %+v", c)
	}
	if text := slow.Error(); text != "the server did not answer in time" {
		t.Error(text)
	}
	s.touch(errors.New("connection refused"))
	lost := s.Contact()
	if lost.Lost.IsZero() || lost.Silent {
		t.Errorf("after a refusal: %+v", lost)
	}
	s.touch(slow)
	if c := s.Contact(); !c.Lost.Equal(lost.Lost) || c.Silent {
		t.Errorf("a deadline after a loss: %+v", c)
	}
	s.touch(nil)
	if c := s.Contact(); !c.Lost.IsZero() || c.Silent {
		t.Errorf("after an answer: %+v", c)
	}
}
