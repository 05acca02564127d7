package tui

import (
	"slices"
	"strings"
	"testing"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

func TestHolderLines(t *testing.T) {
	u := &demoHolders().Use
	got := holderLines(u, 900)
	want := []string{
		"3 GB in pages of 2 MB: this server (postmaster 900, 2 processes)",
		"2 GB in pages of 2 MB: dpdk-testpmd (pid 1200, uid 1004)",
		"128 MB in pages of 2 MB, 64 MB touched, /dev/hugepages/left-over: mapped by no process that can be seen",
		"512 MB touched: qemu-system-x86 (pid 1300, user root)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	// Without the right to read memory maps a server's processes are not added up.
	bare := &probes.HugetlbUse{Processes: u.Processes[:2]}
	if got := holderLines(bare, 1); len(got) != 1 || !strings.HasPrefix(got[0], "1 GB touched by the one with most: PostgreSQL in /srv/old/data") {
		t.Errorf("%q", got)
	}
}

func TestHoldersSayWhereTheyStand(t *testing.T) {
	st := demo{seconds: 20}.state()
	say := func() string { return strings.Join(newScene(&st, 60, false).holders(), "\n") }
	if s := say(); !strings.Contains(s, "being looked at") {
		t.Error(s)
	}
	st.Holders = &trial.Holders{At: epoch}
	if s := say(); !strings.HasPrefix(s, "no process that can be seen") {
		t.Error(s)
	}
	st.Holders = &trial.Holders{At: epoch, Missing: "permission denied on /proc"}
	if s := say(); s != "n/a: permission denied on /proc" {
		t.Error(s)
	}
	st.Mode = trial.Replaying
	if s := say(); !strings.Contains(s, "recording") {
		t.Error(s)
	}
}

// Another process that has got the pid since shows nothing of the one before.
func TestExactMemoryIsOfThatProcess(t *testing.T) {
	st := demo{seconds: 20}.state()
	st.Pass = demoPass(st, 12)
	later := st.Last().Backends[0]
	later.StartTicks++
	v := tableView{pass: st.Pass}
	c := newCanvas(8, 1)
	drawPss(c, 0, 0, 8, &later, &v)
	if text := strings.TrimSpace(c.render(newTheme(0, 0, true))); strings.Contains(text, "B") || !strings.Contains(text, "-") {
		t.Errorf("a later process has %q", text)
	}
	st.Inspected = &trial.Inspected{Pid: later.Pid, Start: later.StartTicks - 1, Pss: 5000}
	m := screenOf(&fakeEngine{}, Options{width: 80, height: 24})
	if p := m.exact(newScene(&st, 60, false), &later); strings.Contains(p[0].text, "Pss") {
		t.Errorf("%+v", p)
	}
}

func TestCardSaysWhyNot(t *testing.T) {
	st := demo{seconds: 20}.state()
	st.Server.SharedMemoryKB, st.Server.Version, st.Server.VersionNum = 0, "14.3", 140003
	text := ""
	for _, l := range cardLines(&st, 70) {
		text += l.text + "\n"
	}
	if !strings.Contains(text, "PostgreSQL 15, this is 14.3") || !strings.Contains(text, "size not known") || !strings.Contains(text, "together") {
		t.Error(text)
	}
	empty := trial.State{}
	if lines := cardLines(&empty, 70); !strings.Contains(lines[1].text, "no client is connected") {
		t.Errorf("%+v", lines)
	}
}
