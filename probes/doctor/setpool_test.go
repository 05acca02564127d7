package doctor

import (
	"slices"
	"strings"
	"testing"

	"pgtlb/probes"
)

// TestOnlyFilesInEtcAreEdited: what packages and the running system bring is
// overridden by a copy of the same name in /etc.
func TestOnlyFilesInEtcAreEdited(t *testing.T) {
	for _, c := range []struct {
		kind SettingKind
		file string
		do   []string
		undo string
	}{
		{sysctl, "/etc/sysctl.d/a b.conf", []string{`sed -i '2s/\b5\b/9/' '/etc/sysctl.d/a b.conf'`}, `sed -i '2s/\b9\b/5/' '/etc/sysctl.d/a b.conf'`},
		{sysctl, "/lib/sysctl.d/50-pg.conf", []string{"cp /lib/sysctl.d/50-pg.conf /etc/sysctl.d/50-pg.conf", `sed -i '2s/\b5\b/9/' /etc/sysctl.d/50-pg.conf`}, "rm /etc/sysctl.d/50-pg.conf"},
		{tmpfiles, "/run/tmpfiles.d/pg.conf", []string{"cp /run/tmpfiles.d/pg.conf /etc/tmpfiles.d/pg.conf", `sed -i '2s/\b5\b/9/' /etc/tmpfiles.d/pg.conf`}, "rm /etc/tmpfiles.d/pg.conf"},
		{service, "/usr/lib/systemd/system/huge.service", []string{"cp /usr/lib/systemd/system/huge.service /etc/systemd/system/huge.service", `sed -i '2s/\b5\b/9/' /etc/systemd/system/huge.service`}, "rm /etc/systemd/system/huge.service"},
		{tuned, "/usr/lib/tuned/pg/tuned.conf", []string{"mkdir -p /etc/tuned/pg", "cp /usr/lib/tuned/pg/tuned.conf /etc/tuned/pg/tuned.conf", `sed -i '2s/\b5\b/9/' /etc/tuned/pg/tuned.conf`}, "rm /etc/tuned/pg/tuned.conf"},
	} {
		s := &Snapshot{Pages: Pages{Boot: []PoolSetting{{Kind: c.kind, File: c.file, Line: 2, PageKB: 2048, Pages: 5}}}}
		do, undo := keepPool(s, 2048, 9)
		if !slices.Equal(do, c.do) || !slices.Equal(undo, []string{c.undo}) {
			t.Errorf("%s: %q, undo %q", c.file, do, undo)
		}
	}
}

// TestCachesAreNotDropped: no fix that is pasted drops the caches of a live server.
func TestCachesAreNotDropped(t *testing.T) {
	s := look(t, "fragmented")
	said := 0
	for _, c := range Examine(s).Checks {
		for _, line := range c.Fix {
			if strings.Contains(line, "drop_caches") {
				said++
				if !strings.HasPrefix(line, "#") {
					t.Errorf("%s: %q", c.ID, line)
				}
			}
		}
	}
	if said == 0 {
		t.Error("the second step is not told")
	}
}

// TestFixComesFirst: an undo stands before its fix only where that takes memory,
// and says so.
func TestFixComesFirst(t *testing.T) {
	names := func(c Check) (out []string) {
		for _, p := range c.Parts() {
			if p.Code {
				out = append(out, p.Name+": "+p.Lines[0])
			}
		}
		return out
	}
	e := Examine(look(t, "short-pool"))
	if got := names(*e.check("huge_pages")); len(got) != 2 || got[0] != "undo: "+readFirst {
		t.Errorf("%q", got)
	}
	e = Examine(look(t, "wrong-size"))
	if got := names(*e.check("pool_other_sizes")); len(got) != 2 || !strings.HasPrefix(got[0], "fix: echo 0") || strings.Contains(got[1], readFirst) {
		t.Errorf("%q", got)
	}
}

// TestOneFileForOnePool: the fix and the snippets write the same file, which the
// undo takes away again.
func TestOneFileForOnePool(t *testing.T) {
	e := Examine(look(t, "by-hand"))
	if fix := e.check("pool_persistence").Fix; !strings.HasSuffix(fix[0], "> "+poolSysctl) {
		t.Errorf("%q", fix)
	}
	for _, kind := range []string{"sysctl", "ansible"} {
		text, err := Snippet(e, kind)
		if err != nil || !strings.Contains(text, "To undo it: rm "+poolSysctl+"; sysctl -w vm.nr_hugepages=2") {
			t.Errorf("%s: %v\n%s", kind, err, text)
		}
	}
}

// TestSystemdSnippetOrder: before the unit that runs the server, or from its side
// where its name is not known.
func TestSystemdSnippetOrder(t *testing.T) {
	s := look(t, "by-hand")
	text, err := Snippet(Examine(s), "systemd")
	if err != nil || !strings.Contains(text, "\nBefore=postgresql@15-main.service\n") || !strings.Contains(text, "\nWantedBy=postgresql@15-main.service\n") {
		t.Errorf("%v\n%s", err, text)
	}
	s.Pages.Unit = &Service{Name: "user@0.service"}
	text, err = Snippet(Examine(s), "systemd")
	if err != nil || strings.Contains(text, "Before=") || !strings.Contains(text, "/UNIT.d/hugepages.conf") ||
		!strings.Contains(text, "\nAfter=postgresql-hugepages.service\n") || !strings.Contains(text, "\nWantedBy=multi-user.target\n") {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestMemoryLimitOfTheTightestLevel: each level that is too tight is raised, through
// its own unit, and never beyond the machine.
func TestMemoryLimitOfTheTightestLevel(t *testing.T) {
	const gb = int64(1) << 30
	exam := func(totalGB uint64, limits ...CgroupLimit) Check {
		s := look(t, "short-pool") // 1.09 GB of shared memory, 800 connections
		s.Pages.Memory.TotalKB = totalGB << 20
		s.Pages.Cgroup.Path, s.Pages.Cgroup.Server, s.Pages.Cgroup.Limits = "/system.slice/pg.service", true, limits
		e := Examine(s)
		return *e.check("cgroup_memory")
	}
	service := CgroupLimit{File: "/sys/fs/cgroup/system.slice/pg.service/memory.max", Level: "/system.slice/pg.service", Max: 64 * gb}
	slice := CgroupLimit{File: "/sys/fs/cgroup/system.slice/memory.max", Level: "/system.slice", Max: gb}
	c := exam(64, service, slice)
	if c.Status != Fail || len(c.Fix) != 2 || !strings.HasPrefix(c.Fix[1], "systemctl set-property system.slice MemoryMax=") ||
		!slices.Equal(c.Undo, []string{"systemctl set-property system.slice MemoryMax=1073741824"}) {
		t.Errorf("%s %q %q: %s", c.Status, c.Fix, c.Undo, c.Found)
	}
	service.Max = gb / 2
	if c := exam(64, service, slice); len(c.Fix) != 3 || !strings.Contains(c.Fix[1], "pg.service") || !strings.Contains(c.Fix[2], "system.slice") {
		t.Errorf("%q", c.Fix)
	}
	if c := exam(2, service); len(c.Fix) > 0 || c.Takes != "" || !strings.Contains(c.Found, "the machine has 2 GB in all") {
		t.Errorf("%q: %s", c.Fix, c.Found)
	}
}

// TestNamesAreQuoted: what comes from the machine is one word for the shell.
func TestNamesAreQuoted(t *testing.T) {
	l := CgroupLimit{File: "/sys/fs/cgroup/a b;c/memory.max", Level: "/a b;c.service"}
	if got := setMemory(l, 5); got != "systemctl set-property 'a b;c.service' MemoryMax=5" {
		t.Error(got)
	}
	s := &Snapshot{Pages: Pages{Cgroup: Cgroup{Limits: []CgroupLimit{{File: "/sys/fs/cgroup/a b/hugetlb.2MB.max", PageKB: 2048}}}}}
	fix, undo, _ := s.raiseHugetlb(s.Pages.Cgroup.Limits[0], demand{need: 3, pageKB: 2048, pool: probes.Pool{}})
	if !slices.Equal(fix, []string{"echo 6291456 > '/sys/fs/cgroup/a b/hugetlb.2MB.max'"}) || !slices.Equal(undo, []string{"echo 0 > '/sys/fs/cgroup/a b/hugetlb.2MB.max'"}) {
		t.Errorf("%q %q", fix, undo)
	}
}
