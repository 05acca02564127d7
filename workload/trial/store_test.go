package trial

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgtlb/workload/experiment"
)

func store(t *testing.T) *Store {
	t.Helper()
	s, err := OpenStore(filepath.Join(t.TempDir(), "runs"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestListIsNewestFirstAndSaysWhatIsWrong(t *testing.T) {
	s := store(t)
	older, newer := published4kB(), published2MB()
	newer.meta.Created = older.meta.Created.Add(time.Hour)
	newer.meta.Name = "20261130-144512-point-select-2MB"
	newer.noStop = true
	record(t, s.Dir(), older)
	path := record(t, s.Dir(), newer)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content[:len(content)-200], 0o600); err != nil { // no footer, half a line
		t.Fatal(err)
	}
	foreign := filepath.Join(s.Dir(), "foreign.ndjson")
	if err := os.WriteFile(foreign, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(foreign, time.Time{}, newer.meta.Created.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := s.SetBaseline(older.meta.Name); err != nil {
		t.Fatal(err)
	}
	runs, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) != 3 {
		t.Fatalf("%d runs listed, want 3: %+v", len(runs), runs)
	}
	by := map[string]RunInfo{}
	for _, r := range runs {
		by[r.Name] = r
	}
	a, b := by[older.meta.Name], by[newer.meta.Name]
	if !a.Complete || !a.Baseline || a.Pages != "4kB" || a.Scenario != "point-select" || a.Server != "17.6" {
		t.Errorf("complete run is listed as %+v", a)
	}
	if math.Abs(a.Seconds-25) > 0.01 || math.Abs(a.TPS-54263) > 1 {
		t.Errorf("listed with %.2f s and %.0f TPS, want 25 and 54263", a.Seconds, a.TPS)
	}
	if b.Complete || b.Baseline || b.Problem != "" || b.Seconds < 20 {
		t.Errorf("interrupted run is listed as %+v", b)
	}
	if p := by["foreign"].Problem; !strings.Contains(p, "not a pgtlb run") {
		t.Errorf("foreign file's problem is %q", p)
	}
	if runs[1].Name != newer.meta.Name || runs[2].Name != older.meta.Name {
		t.Errorf("order is %s, %s, %s", runs[0].Name, runs[1].Name, runs[2].Name)
	}
}

// Looking at runs leaves no trace, so that it works where nothing can be written.
func TestReadingMakesNothing(t *testing.T) {
	s := store(t)
	if runs, err := s.List(); err != nil || len(runs) != 0 {
		t.Errorf("listing: %v, %v", runs, err)
	}
	for what, want := range map[string]string{"last": "no runs", "x": "no run named x", "baseline": "no baseline"} {
		if _, err := s.Load(what); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("loading %s: %v, want %q", what, err, want)
		}
	}
	if _, err := os.Stat(s.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("reading made the directory: %v", err)
	}
	if err := s.MakeWritable(); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(s.Dir())
	if err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("directory for writing: %v, %v", st, err)
	}
}

func TestResolve(t *testing.T) {
	s := store(t)
	a, b := published4kB(), published2MB()
	b.meta.Created = a.meta.Created.Add(time.Second)
	pathA, pathB := record(t, s.Dir(), a), record(t, s.Dir(), b)
	if err := s.SetBaseline(a.meta.Name); err != nil {
		t.Fatal(err)
	}
	for what, want := range map[string]string{
		a.meta.Name: pathA, b.meta.Name + Extension: pathB, pathA: pathA,
		"last": pathB, "baseline": pathA, b.meta.Name[:len(b.meta.Name)-2]: pathB,
	} {
		if got, err := s.Resolve(what); err != nil || got != want {
			t.Errorf("Resolve(%q) = %q, %v; want %q", what, got, err, want)
		}
	}
	for what, want := range map[string]string{
		"2026": "could be any of 2 runs", "nothing": "no run named nothing", "": "no run is named",
		"/no/such/file.ndjson": "no run file", "../runs": "no run file",
	} {
		if _, err := s.Resolve(what); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Resolve(%q): error %v, want %q", what, err, want)
		}
	}
}

func TestBaseline(t *testing.T) {
	s := store(t)
	if _, err := s.Baseline(); !errors.Is(err, ErrNoBaseline) {
		t.Errorf("fresh store: %v", err)
	}
	if err := s.SetBaseline("../../etc/passwd"); err == nil {
		t.Error("a name with a path was taken as baseline")
	}
	path := record(t, s.Dir(), published4kB())
	name := published4kB().meta.Name
	if err := s.SetBaseline(name); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Baseline(); err != nil || got != name {
		t.Errorf("Baseline = %q, %v", got, err)
	}
	st, err := os.Stat(filepath.Join(s.Dir(), baselineFile))
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("pointer has mode %v, %v", st.Mode(), err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Baseline(); !errors.Is(err, ErrNoBaseline) || !strings.Contains(err.Error(), "no longer there") {
		t.Errorf("baseline was removed: %v", err)
	}
	if err := s.SetBaseline(""); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(s.Dir())
	if err != nil || len(entries) != 0 {
		t.Errorf("files left in the store: %v, %v", entries, err)
	}
}

func TestWhereRunsAreKept(t *testing.T) {
	t.Setenv("HOME", "/home/dba")
	for xdg, want := range map[string]string{
		"/var/state": "/var/state/pgtlb/runs",
		"":           "/home/dba/.local/state/pgtlb/runs",
		"relative":   "/home/dba/.local/state/pgtlb/runs", // the standard says to ignore it
	} {
		t.Setenv("XDG_STATE_HOME", xdg)
		if got, err := DefaultDir(); err != nil || got != want {
			t.Errorf("XDG_STATE_HOME=%q: %q, %v; want %q", xdg, got, err, want)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := OpenStore(filepath.Join(file, "runs"))
	if err != nil {
		t.Fatal(err)
	}
	err = s.MakeWritable()
	if err == nil || !strings.HasPrefix(err.Error(), "runs cannot be kept in "+file) || strings.Count(err.Error(), file) != 1 {
		t.Errorf("store below a file: %v", err)
	}
}

// Who names an experiment where a run is meant is told so.
func TestAnExperimentIsNoRun(t *testing.T) {
	s := store(t)
	p := experiment.Plan{Name: "march", Factor: "jit", Values: []string{"on", "off"}, Pairs: 1, Order: experiment.ABBA, Detect: 0.03, Margin: 0.01, Limit: time.Minute}
	j, err := experiment.Create(s.dir, p)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close("ended"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"march": "march is an experiment and no run: pgtlb compare march", "april": "there is no run named april"} {
		if _, err := s.Resolve(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
