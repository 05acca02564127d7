package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgtlb/probes"
)

const (
	mapFatal = "FATAL:  could not map anonymous shared memory: Cannot allocate memory"
	mapSize  = "HINT:  … (currently 1073741824 bytes), …"
	ready    = "LOG:  database system is ready to accept connections"
	stopped  = "LOG:  database system is shut down"
	locked   = "FATAL:  could not create lock file \"postmaster.pid\": No space left on device"
)

// TestStartThatFailedForAnotherReason: a log is in order only where its last start
// succeeded.
func TestStartThatFailedForAnotherReason(t *testing.T) {
	for name, c := range map[string]struct {
		lines  []string
		status Status
		found  string
	}{
		"another reason":         {[]string{"LOG:  starting PostgreSQL 15.18", locked, stopped}, Fail, "not for want of huge pages: FATAL:  could not create lock file"},
		"after a map failure":    {[]string{mapFatal, mapSize, stopped, locked}, Fail, "not for want of huge pages: FATAL:  could not create lock file"},
		"then a map failure":     {[]string{locked, mapFatal, mapSize, stopped}, Fail, "could not map 1,073,741,824 bytes"},
		"a later start":          {[]string{locked, "LOG:  starting PostgreSQL 15.18", ready}, OK, "no start that failed"},
		"a session's":            {[]string{ready, "FATAL:  relation cache is broken"}, OK, "no start that failed"},
		"a session's at the top": {[]string{"FATAL:  password authentication failed for user", "FATAL:  the database system is starting up"}, OK, "no start that failed"},
		"stopped":                {[]string{ready, "FATAL:  terminating connection due to administrator command", stopped}, OK, "no start that failed"},
		"startup process":        {[]string{"LOG:  starting PostgreSQL 15.18", "PANIC:  could not locate a valid checkpoint record", stopped}, Fail, "PANIC:  could not locate"},
	} {
		s := Snapshot{Pages: Pages{Start: parseStart("log", c.lines), Memory: PageMemory{DefaultPageKB: 2048}}, Host: probes.Host{Pools: []probes.Pool{{PageKB: 2048, Total: 100}}}}
		got := checkFailedStart(&s)
		if got.Status != c.status || !strings.Contains(got.Found, c.found) {
			t.Errorf("%s: %s %q", name, got.Status, got.Found)
		}
		if e := Examine(s); c.found[:3] == "not" && !strings.Contains(e.Verdict, "not for want of huge pages") {
			t.Errorf("%s: %s", name, e.Verdict)
		}
	}
}

// TestEnoughByNow: no verdict speaks of 0 pages that are short.
func TestEnoughByNow(t *testing.T) {
	s := Snapshot{Pages: Pages{Start: parseStart("log", []string{mapFatal, mapSize}), Memory: PageMemory{DefaultPageKB: 2048}},
		Host: probes.Host{Pools: []probes.Pool{{PageKB: 2048, Total: 600, Free: 600}}}}
	if v := Examine(s).Verdict; !strings.HasPrefix(v, "the server DID NOT START on huge pages; the pool has enough now, 512 needed: start it again") {
		t.Error(v)
	}
}

// TestPartOfALog: that only its end was read is said.
func TestPartOfALog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	for size, part := range map[int]bool{10: false, probes.MaxTail + 10: true} {
		if err := os.WriteFile(path, []byte(strings.Repeat("LOG:  x\n", size/8+1)), 0o600); err != nil {
			t.Fatal(err)
		}
		var s Snapshot
		s.Pages.Start = lookAtStart(files{&s, "/"}, path)
		if c := checkFailedStart(&s); strings.Contains(c.Found, "only the last 64 kB") != part {
			t.Errorf("%d bytes: %s", size, c.Found)
		}
	}
}
