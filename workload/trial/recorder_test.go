package trial

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pgtlb/probes"
)

// record writes a built run and returns its path.
func record(t *testing.T, dir string, b builder) string {
	t.Helper()
	r, err := Create(dir, b.meta)
	if err != nil {
		t.Fatal(err)
	}
	run := b.run()
	for i := range run.Samples {
		if err := r.Append(&run.Samples[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(*run.End); err != nil {
		t.Fatal(err)
	}
	return r.Path()
}

func TestRecordedRunReadsBack(t *testing.T) {
	b := published4kB()
	run, err := Read(record(t, t.TempDir(), b))
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Warnings) > 0 || run.End == nil || run.End.Reason != "finished" {
		t.Errorf("warnings %q, end %v; want a complete run", run.Warnings, run.End)
	}
	if got, want := len(run.Samples), lead+25+1; got != want {
		t.Errorf("%d samples, want %d", got, want)
	}
	live, read := Summarize(Frames(b.run())), Summarize(Frames(run))
	for k, f := range live.Figures {
		if read.Figures[k] != f {
			t.Errorf("%v: read back %+v, was %+v", k, read.Figures[k], f)
		}
	}
}

func TestRecordingHoldsNoSecrets(t *testing.T) {
	b := published4kB()
	b.meta.Command = "pgtlb bench point-select 'postgresql://app:hunter2@db1/bench' password=hunter2"
	b.meta.Note = "conninfo password = 'hunter2 hunter2' host=db1"
	b.meta.Server.Settings = append(b.meta.Server.Settings, probes.Setting{Name: "primary_conninfo", Value: "user=x password=hunter2"})
	text, err := os.ReadFile(record(t, t.TempDir(), b))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"hunter2", "ALTER ROLE"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("the run file holds %q", secret)
		}
	}
	if q := b.run().Samples[5].Batches[1].Backends[1].Query; q == "" {
		t.Error("recording took the query out of the live sample")
	}
}

func TestRunFilesArePrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "runs")
	path := record(t, dir, published4kB())
	for p, want := range map[string]os.FileMode{path: 0o600, dir: 0o700, filepath.Dir(dir): 0o700} {
		st, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if st.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", p, st.Mode().Perm(), want)
		}
	}
}

func TestRunsOfOneMomentGetDifferentNames(t *testing.T) {
	dir := t.TempDir()
	const n = 8
	paths := make([]string, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			meta := published4kB().meta
			meta.Name = ""
			r, err := Create(dir, meta)
			if err != nil {
				t.Error(err)
				return
			}
			paths[i] = r.Path()
			if err := r.Close(End{Reason: "finished"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for _, p := range paths {
		if seen[p] {
			t.Errorf("%s was given twice", p)
		}
		seen[p] = true
		run, err := Read(p)
		if err != nil {
			t.Fatal(err)
		}
		if run.Meta.Name+Extension != filepath.Base(p) {
			t.Errorf("header names %s, file is %s", run.Meta.Name, filepath.Base(p))
		}
	}
}

// smallDisk is a file that takes room bytes and then is full.
type smallDisk struct {
	*os.File
	room int
}

func (d *smallDisk) Write(p []byte) (int, error) {
	if len(p) <= d.room {
		d.room -= len(p)
		return d.File.Write(p)
	}
	n, err := d.File.Write(p[:d.room])
	d.room = 0
	return n, errors.Join(err, syscall.ENOSPC)
}

func (d *smallDisk) Truncate(size int64) error {
	st, err := d.Stat()
	if err != nil {
		return err
	}
	d.room += int(st.Size() - size)
	return d.File.Truncate(size)
}

func TestFullDiskStopsRecordingOnce(t *testing.T) {
	b := published4kB()
	r, err := Create(t.TempDir(), b.meta)
	if err != nil {
		t.Fatal(err)
	}
	r.f = &smallDisk{File: r.f.(*os.File), room: 6_000}
	failures, written := 0, 0
	samples := b.samples()
	for i := range samples {
		switch err := r.Append(&samples[i]); {
		case err == nil && failures == 0:
			written++
		case err != nil:
			failures++
			if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "recording stopped") {
				t.Errorf("error is %v", err)
			}
		}
	}
	if failures != 1 || written == 0 {
		t.Fatalf("%d errors after %d samples, want one error after some", failures, written)
	}
	if err := r.Close(End{At: time.Now(), Reason: "finished"}); err != nil {
		t.Errorf("closing: %v", err)
	}
	run, err := Read(r.Path())
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Samples) != written || len(run.Warnings) != 0 {
		t.Errorf("%d samples read, %d written, warnings %q", len(run.Samples), written, run.Warnings)
	}
	if run.End == nil || !strings.Contains(run.End.Note, "could not be written") {
		t.Errorf("footer %+v does not tell of the samples that are missing", run.End)
	}
}

func TestCreateWhereNothingCanBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(filepath.Join(file, "runs"), Meta{}); err == nil {
		t.Error("creating a run below a file succeeded")
	}
}

func TestRunNames(t *testing.T) {
	at := time.Date(2026, 11, 30, 13, 45, 12, 0, time.Local)
	for want, m := range map[string]Meta{
		"20261130-134512-point-select-4kB":                {Created: at, Loads: []LoadMeta{{Scenario: "point-select"}}, Pages: "4kB"},
		"20261130-134512-point-select+join-aggregate-2MB": {Created: at, Loads: []LoadMeta{{Scenario: "point-select"}, {Scenario: "join-aggregate"}}, Pages: "2MB"},
		"20261130-134512-watch":                           {Created: at},
		"20261130-134512----etc-passwd":                   {Created: at, Loads: []LoadMeta{{Scenario: "//\x1betc/passwd"}}},
	} {
		if got := RunName(m); got != want {
			t.Errorf("RunName = %s, want %s", got, want)
		}
	}
}
