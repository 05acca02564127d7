package trial

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgtlb/probes"
)

// fakeProcess is process 41384 that started at that tick.
func fakeProcess(t *testing.T, start int) probes.Roots {
	t.Helper()
	roots := probes.Roots{Proc: t.TempDir(), Sys: t.TempDir()}
	dir := filepath.Join(roots.Proc, "41384")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"smaps_rollup": "55-7f ---p 0 00:00 0 [rollup]\nRss: 100 kB\nPss: 40 kB\nShared_Clean: 30 kB\nPrivate_Dirty: 70 kB\n",
		"stat":         fmt.Sprintf("41384 (postgres) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 %d 20\n", start),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return roots
}

func TestInspectedIsTheProcessThatWasMeant(t *testing.T) {
	roots := fakeProcess(t, 777)
	in, _ := inspected(roots, probes.Backend{Pid: 41384, StartTicks: 777})
	if in.Missing != "" || in.Pid != 41384 || in.Pss != 40 || in.Rss != 100 || in.Private != 70 || in.Shared != 30 {
		t.Errorf("%+v", in)
	}
	for name, b := range map[string]probes.Backend{
		"another one now": {Pid: 41384, StartTicks: 500},
		"not visible":     {Pid: 41384},
		"the process has": {Pid: 41385, StartTicks: 777},
	} {
		if in, _ := inspected(roots, b); !strings.Contains(in.Missing, name) || in.Pss != 0 || in.Rss != 0 {
			t.Errorf("%s: %+v", name, in)
		}
	}
}

func TestInspectLooksInTheNewestFrame(t *testing.T) {
	row := func(pid int, start uint64) probes.BackendRow {
		return probes.BackendRow{Backend: probes.Backend{Pid: pid, StartTicks: start}}
	}
	history := []probes.Frame{{Backends: []probes.BackendRow{row(1, 10), row(2, 20)}}, {Backends: []probes.BackendRow{row(2, 21), row(3, 30)}}}
	if b, ok := backendIn(history, 2); !ok || b.StartTicks != 21 {
		t.Errorf("%+v, %v", b, ok)
	}
	if b, ok := backendIn(history, 1); ok {
		t.Errorf("a backend that is gone gives %+v", b)
	}
	if b, ok := backendIn(nil, 1); ok {
		t.Errorf("before the first frame: %+v", b)
	}
}

func TestInspectSaysThatTheBackendIsGone(t *testing.T) {
	s := NewSession(Options{Roots: fakeProcess(t, 777)})
	s.inspect(41384)
	if in := s.st.Inspected; in == nil || in.Pid != 41384 || !strings.Contains(in.Missing, "ended") || in.Pss != 0 {
		t.Errorf("%+v", in)
	}
}
