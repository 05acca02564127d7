package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"pgtlb/workload/trial"
)

const hostile = "x\x1b]0;title\x07\x1b[2J\u009b31m"

func harmless(t *testing.T, what, text string) {
	t.Helper()
	if strings.ContainsAny(text, "\x1b\x07\u009b") || text == "" {
		t.Errorf("%s reaches the terminal as %q", what, text)
	}
}

// TestListOfHostileRuns: a run file may come from anywhere.
func TestListOfHostileRuns(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir, err := trial.DefaultDir()
	if err != nil {
		t.Fatal(err)
	}
	r, err := trial.Create(dir, trial.Meta{Name: "run", Pages: hostile, Loads: []trial.LoadMeta{{Scenario: hostile}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(trial.End{Reason: hostile}); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if code := run(t.Context(), &app{out: &out, err: &errs, args: []string{"runs"}}); code != exitDone {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	harmless(t, "the list", out.String())
}

// TestHostileProgress: steps, notices, the server's log and errors hold text of
// the server.
func TestHostileProgress(t *testing.T) {
	var out, errs bytes.Buffer
	f := &follower{progress: &out, steps: map[string]trial.StepState{}}
	f.show(&trial.State{
		Steps:   []trial.Step{{Name: "start", State: trial.StepDone, Detail: hostile}},
		Notices: []trial.Notice{{At: time.Now(), Text: hostile}},
	})
	if n := strings.Count(out.String(), "\n"); n != 2 {
		t.Errorf("%d lines, want the step and the notice: %q", n, out.String())
	}
	harmless(t, "progress", out.String())
	(&app{err: &errs}).complain(errors.Join(errors.New(hostile), errors.New("second")))
	if n := strings.Count(errs.String(), "\n"); n != 2 {
		t.Errorf("%d lines, want one for each error: %q", n, errs.String())
	}
	harmless(t, "an error", errs.String())
}

// TestSizeLine: the size of the data is told once.
func TestSizeLine(t *testing.T) {
	var out bytes.Buffer
	f := &follower{progress: &out, steps: map[string]trial.StepState{}}
	st := trial.State{Dataset: &trial.Dataset{Rows: 1_000_000, TableBytes: 120 << 20, IndexBytes: 21 << 20}}
	st.Server.SharedBuffersKB = 2 << 20
	f.show(&st)
	f.show(&st)
	const want = "1,000,000 rows: 0.12 GB table + 0.02 GB index, fits shared_buffers 2 GB\n"
	if !strings.HasSuffix(out.String(), want) || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("progress %q, want one line that ends with %q", out.String(), want)
	}
}
