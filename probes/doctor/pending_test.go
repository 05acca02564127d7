package doctor

import (
	"strings"
	"testing"

	"pgtlb/probes"
)

// waitFor makes a value wait for a restart, as a line of the file does.
func waitFor(s *Snapshot, name, value, unit string) {
	e := &s.Server.Exam
	for i := range e.Settings {
		if e.Settings[i].Name == name {
			e.Settings[i].Pending, unit = true, ""
		}
	}
	if unit != "" {
		e.Settings = append(e.Settings, probes.ExamSetting{Name: name, Unit: unit, Context: "postmaster", Pending: true})
	}
	e.Files = append(e.Files, probes.FileSetting{File: "/etc/postgresql.conf", Line: 3, Name: name, Value: value,
		Error: "setting could not be applied", NeedsRestart: true})
}

// TestSettingsThatWait: numbers are those of the running values and say so, with no
// command that would be wrong after the restart.
func TestSettingsThatWait(t *testing.T) {
	s := look(t, "short-pool") // 556 pages with shared_buffers of 1 GB
	waitFor(&s, "shared_buffers", "2GB", "8kB")
	e := Examine(s)
	c := e.check("pool_size")
	for _, words := range []string{"for the running values: shared_buffers waits for a restart", "it needs more, at least 1,068 pages of 2 MB",
		"/usr/lib/postgresql/15/bin/postgres -C shared_memory_size_in_huge_pages -D /var/lib/postgresql/15/main"} {
		if !strings.Contains(c.Found, words) {
			t.Errorf("%q is not in %q", words, c.Found)
		}
	}
	for _, id := range []string{"pool_size", "huge_pages", "pool_idle", "ram_floor", "pool_other_sizes"} {
		if c := e.check(id); len(c.Fix) > 0 || c.Takes != "" {
			t.Errorf("%s has commands for the running values: %q %s", id, c.Fix, c.Takes)
		}
	}
	if !strings.Contains(e.Verdict, "for the running values (shared_buffers will change with a restart)") {
		t.Error(e.Verdict)
	}
	if text, err := Snippet(e, "sysctl"); err != nil || !strings.Contains(text, "# For the running values only: shared_buffers") {
		t.Errorf("%v %s", err, text)
	}

	s = look(t, "metal-good") // 34,000 pages, 33,794 of them needed
	waitFor(&s, "shared_buffers", "80GB", "8kB")
	e = Examine(s)
	if c := e.check("pool_size"); c.Status != Warn || !strings.Contains(c.Found, "the pool lacks 7,986 for that") {
		t.Errorf("%s: %s", c.Status, c.Found)
	}
	if !strings.Contains(e.check("huge_pages").Found, "for the running values") {
		t.Error(e.check("huge_pages").Found)
	}

	s = look(t, "short-pool")
	waitFor(&s, "huge_pages", "off", "")
	e = Examine(s)
	if c := e.check("pool_size"); c.Status != OK || len(c.Fix) > 0 || !strings.Contains(c.Found, "asks for no huge pages") {
		t.Errorf("%s: %s %q", c.Status, c.Found, c.Fix)
	}
	if c := e.check("huge_pages"); len(c.Fix) > 0 || !strings.Contains(c.Found, "huge_pages = off waits") {
		t.Errorf("%s: %s %q", c.Status, c.Found, c.Fix)
	}
	if c := e.check("huge_pages_mode"); len(c.Fix) > 0 {
		t.Errorf("%s: %s %q", c.Status, c.Found, c.Fix)
	}

	s = look(t, "short-pool")
	waitFor(&s, "max_connections", "2000", "")
	if c := Examine(s); !strings.Contains(c.check("pool_size").Found, "it needs another number") {
		t.Error(c.check("pool_size").Found)
	}
}

// TestNoPoolIsTakenFromAStoppedServer: without a server nobody knows who waits for
// the pages of a pool.
func TestNoPoolIsTakenFromAStoppedServer(t *testing.T) {
	for _, machine := range []string{"idle-pool", "wrong-size", "boot-1g", "two-good"} {
		for _, plannedKB := range []uint64{0, 256 << 10} {
			s := look(t, machine)
			s.Server, s.ServerUnknown, s.PlannedKB = nil, "no server was asked", plannedKB
			e := Examine(s)
			for _, id := range []string{"pool_idle", "pool_other_sizes", "ram_floor"} {
				if c := e.check(id); len(c.Fix) > 0 {
					t.Errorf("%s, %d kB planned: %s takes pages: %q", machine, plannedKB, id, c.Fix)
				}
			}
			if c := e.check("pool_idle"); c.Status == Warn || strings.Contains(c.Found, "nobody") {
				t.Errorf("%s: %s", machine, c.Found)
			}
		}
	}
}

// TestOneJudgement: where huge pages hardly pay, being without them is no failure,
// whoever has a pool.
func TestOneJudgement(t *testing.T) {
	s := look(t, "tiny-vm")
	if len(s.Host.Pools) == 0 {
		t.Fatal("tiny-vm has no pool")
	}
	p := s.pool(2048)
	for name, c := range map[string]struct {
		total, free int
		want        Status
	}{"no pool": {0, 0, OK}, "another's": {50, 0, OK}, "one too small": {50, 50, Warn}} {
		p.Total, p.Free, p.Reserved, p.Surplus = c.total, c.free, 0, 0
		e := Examine(s)
		for _, id := range []string{"pool_size", "huge_pages"} {
			if got := e.check(id); got.Status != c.want {
				t.Errorf("%s: %s is %s: %s", name, id, got.Status, got.Found)
			}
		}
		for _, got := range e.Checks[:15] {
			if got.Status == Fail {
				t.Errorf("%s: %s fails: %s", name, got.ID, got.Found)
			}
		}
		if !strings.Contains(e.Verdict, "would hardly pay here") {
			t.Errorf("%s: %s", name, e.Verdict)
		}
	}
}
