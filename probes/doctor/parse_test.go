package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParseBootLine(t *testing.T) {
	for line, want := range map[string][]PoolSetting{
		"quiet": nil,
		"hugepages=512": {
			{PageKB: 2048, Pages: 512, Text: "hugepages=512"}},
		"default_hugepagesz=1G hugepagesz=1G hugepages=16 hugepagesz=2M hugepages=512": {
			{PageKB: 1 << 20, Pages: 16, Text: "hugepagesz=1G hugepages=16"},
			{PageKB: 2048, Pages: 512, Text: "hugepagesz=2M hugepages=512"}},
		"hugepagesz=1G hugepages=0:8,1:4": {
			{PageKB: 1 << 20, Pages: 12, Text: "hugepagesz=1G hugepages=0:8,1:4"}},
		"hugepages=5 hugepages=6": {
			{PageKB: 2048, Pages: 5, Text: "hugepages=5"},
			{PageKB: 2048, Pages: 6, Text: "hugepages=6", Ignored: "the boot line has a number for this size before"}},
		"hugepages=many hugepagesz=x hugepages=3": nil,
	} {
		for i := range want {
			want[i].Kind, want[i].File = bootLine, "/proc/cmdline"
		}
		if got := parseBootLine(line, 2048); !slices.Equal(got, want) {
			t.Errorf("%q: %+v, want %+v", line, got, want)
		}
	}
}

func TestParsePoolLine(t *testing.T) {
	for line, want := range map[string]PoolSetting{
		"sysctl -w vm.nr_hugepages=512":                                              {PageKB: 2048, Pages: 512},
		"ExecStart=/sbin/sysctl -w vm.nr_hugepages=9":                                {PageKB: 2048, Pages: 9},
		"echo 16 > /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages":        {PageKB: 1 << 20, Pages: 16},
		`ExecStart=/bin/sh -c "echo 7 > /proc/sys/vm/nr_hugepages"`:                  {PageKB: 2048, Pages: 7},
		"w /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages - - - - 12":        {PageKB: 2048, Pages: 12},
		"# echo 16 > /proc/sys/vm/nr_hugepages":                                      {},
		"cat /proc/sys/vm/nr_hugepages":                                              {},
		"echo 5 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_overcommit_hugepages": {},
	} {
		got, ok := parsePoolLine(line, 2048)
		if ok != (want.Pages > 0) || ok && (got.PageKB != want.PageKB || got.Pages != want.Pages) {
			t.Errorf("%q: %+v, %v", line, got, ok)
		}
	}
}

// TestSysctlOrder: files by name whatever their directory, one in /etc masks its
// namesake, a link to /dev/null masks it altogether, sysctl.conf counts where a
// link leads to it.
func TestSysctlOrder(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		links string
		want  string // values in order; those in brackets are ignored
	}{
		"by name":       {map[string]string{"etc/sysctl.d/10-a.conf": "vm.x=1", "usr/lib/sysctl.d/50-b.conf": "vm.x=2", "run/sysctl.d/40-c.conf": "vm.x=3"}, "", "1 3 2"},
		"masked":        {map[string]string{"etc/sysctl.d/50-b.conf": "vm.x=1", "usr/lib/sysctl.d/50-b.conf": "vm.x=2"}, "", "1"},
		"no conf":       {map[string]string{"etc/sysctl.d/README": "vm.x=1", "etc/sysctl.d/a.conf": "#vm.x=2\n;vm.x=3\n-vm.x = 4\nvm/x=5"}, "", "4 5"},
		"linked":        {map[string]string{"etc/sysctl.conf": "vm.x=1", "etc/sysctl.d/50-a.conf": "vm.x=2", "run/systemd/system/x": ""}, "etc/sysctl.d/99-sysctl.conf ../sysctl.conf", "2 1"},
		"absolute link": {map[string]string{"etc/sysctl.conf": "vm.x=1", "run/systemd/system/x": ""}, "etc/sysctl.d/99-sysctl.conf /etc/sysctl.conf", "1"},
		"not linked":    {map[string]string{"etc/sysctl.conf": "vm.x=1", "run/systemd/system/x": ""}, "", "[1]"},
		"other init":    {map[string]string{"etc/sysctl.conf": "vm.x=1", "etc/sysctl.d/99-z.conf": "vm.x=2"}, "", "2 1"},
		"away":          {map[string]string{"usr/lib/sysctl.d/50-b.conf": "vm.x=2"}, "etc/sysctl.d/50-b.conf /dev/null", ""},
	} {
		dir := t.TempDir()
		for path, text := range c.files {
			write(t, filepath.Join(dir, path), text)
		}
		if c.links != "" {
			symlinks(t, dir, c.links)
		}
		var got []string
		for _, l := range readSysctl(files{&Snapshot{}, Tree(dir)}) {
			if l.key != "vm.x" {
				t.Errorf("%s: key %q", name, l.key)
			}
			if l.ignored != "" {
				l.value = "[" + l.value + "]"
			}
			got = append(got, l.value)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}

// TestWhatSetsPoolsLast: tuned comes after services, these after tmpfiles, sysctl
// and the boot line; a unit that nobody wants does nothing.
func TestWhatSetsPoolsLast(t *testing.T) {
	dir := t.TempDir()
	add := func(path, text string) { write(t, filepath.Join(dir, path), text) }
	last := func() string {
		s := Snapshot{Pages: Pages{Memory: PageMemory{DefaultPageKB: 2048}, Kernel: Kernel{BootLine: "quiet hugepages=1"}}}
		s.Pages.Boot, _ = lookAtBoot(files{&s, Tree(dir)})
		return s.setAtBoot(2048).where()
	}
	for _, step := range []struct{ path, text, want string }{
		{"etc/motd", "", "/proc/cmdline"},
		{"etc/sysctl.d/a.conf", "vm.nr_hugepages=2\n", "/etc/sysctl.d/a.conf:1"},
		{"etc/tmpfiles.d/a.conf", "w /proc/sys/vm/nr_hugepages - - - - 3\n", "/etc/tmpfiles.d/a.conf:1"},
		{"etc/rc.local", "#!/bin/sh\necho 4 > /proc/sys/vm/nr_hugepages\n", "/etc/rc.local:2"},
		{"etc/systemd/system/huge.service", "[Service]\nExecStart=/sbin/sysctl vm.nr_hugepages=5\n", "/etc/rc.local:2"},
		{"etc/systemd/system/multi-user.target.wants/huge.service", "", "/etc/systemd/system/huge.service:2"},
		{"etc/tuned/active_profile", "pg\n", "/etc/systemd/system/huge.service:2"},
		{"etc/tuned/pg/tuned.conf", "[sysctl]\nvm.nr_hugepages = 6\n", "/etc/tuned/pg/tuned.conf:2"},
	} {
		add(step.path, step.text)
		if got := last(); got != step.want {
			t.Errorf("with %s: %s, want %s", step.path, got, step.want)
		}
	}
}

func TestParsePageSize(t *testing.T) {
	for text, want := range map[string]int{"2M": 2048, "1G": 1 << 20, "64k": 64, "2097152": 2048, "": 0, "M": 0, "-1G": 0, "9999999G": 0} {
		if got := parsePageSize(text); got != want {
			t.Errorf("%q is %d kB, want %d", text, got, want)
		}
	}
}

func TestServiceFiles(t *testing.T) {
	dir := t.TempDir()
	for path, text := range map[string]string{
		"usr/lib/systemd/system/postgresql@.service":                 "[Service]\nLimitMEMLOCK=64K\n",
		"etc/systemd/system/postgresql@15-main.service.d/20-b.conf":  "[Service]\nLimitMEMLOCK=infinity\n",
		"etc/systemd/system/postgresql@.service.d/10-a.conf":         "[Service]\nLimitMEMLOCK=8M\n",
		"usr/lib/systemd/system/postgresql@.service.d/20-b.conf":     "[Service]\nLimitMEMLOCK=1\n",
		"etc/systemd/system/postgresql@15-main.service.d/README.txt": "[Service]\nLimitMEMLOCK=2\n",
		"etc/systemd/system/maindb.service":                          "[Service]\nExecStart=-/opt/pg/bin/postgres -D /srv/pg\n",
		"usr/lib/systemd/system/cron.service":                        "[Service]\nExecStart=/usr/sbin/cron -f\n",
		"usr/lib/systemd/system/user@.service":                       "[Service]\nExecStart=/usr/lib/systemd/systemd --user\n",
	} {
		write(t, filepath.Join(dir, path), text)
	}
	f := files{&Snapshot{}, Tree(dir)}
	u := lookAtUnit(f, Cgroup{Server: true, Path: "/system.slice/system-postgresql.slice/postgresql@15-main.service"})
	if u == nil || u.Name != "postgresql@15-main.service" || u.File != "/usr/lib/systemd/system/postgresql@.service" || u.LimitMEMLOCK != "infinity" {
		t.Errorf("%+v", u)
	}
	if u := lookAtUnit(f, Cgroup{Server: true, Path: "/system.slice/maindb.service"}); u == nil || u.Name != "maindb.service" {
		t.Errorf("a unit that starts postgres: %+v", u)
	}
	// What a server was started from is no unit of it.
	for _, path := range []string{"/user.slice/session-1.scope", "/system.slice/cron.service", "/system.slice/gone.service",
		"/user.slice/user-1000.slice/user@1000.service/app.slice/run.scope", "/user.slice/user-1000.slice/user@1000.service/app.slice/postgresql.service"} {
		if u := lookAtUnit(f, Cgroup{Server: true, Path: path}); u != nil {
			t.Errorf("%s: %+v", path, u)
		}
	}
	if len(f.s.Unread) > 0 {
		t.Errorf("unread: %+v", f.s.Unread)
	}
}

func TestCgroupLimits(t *testing.T) {
	for name, want := range map[string]CgroupLimit{
		"memory.max": {}, "hugetlb.2MB.max": {PageKB: 2048}, "hugetlb.1GB.rsvd.max": {PageKB: 1 << 20, Reserving: true}, "hugetlb.64KB.max": {PageKB: 64},
	} {
		if got, ok := parseLimitName(name, false); !ok || got != want {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
	for _, name := range []string{"memory.high", "hugetlb.2MB.current", "hugetlb.max", "hugetlb.xMB.max", "pids.max"} {
		if got, ok := parseLimitName(name, false); ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
	c := Cgroup{Limits: []CgroupLimit{
		{Level: "/a/b", PageKB: 2048, Max: 100 << 20, Current: 60 << 20},
		{Level: "/a", PageKB: 2048, Max: 90 << 20, Current: 60 << 20},
		{Level: "/a", PageKB: 0, Max: 1},
	}}
	if l := c.tightest(2048, 0); l.Level != "/a" || l.left(0) != 30<<20 || l.left(20<<20) != 50<<20 || l.left(80<<20) != 90<<20 {
		t.Errorf("%+v", l)
	}
	if l := c.tightest(1<<20, 0); l != nil {
		t.Errorf("%+v", l)
	}
}

// TestUnreadableIsSaid: what may not be read is not the same as what is not there.
func TestUnreadableIsSaid(t *testing.T) {
	var s Snapshot
	f := files{&s, Tree(t.TempDir())}
	if _, ok := f.text("/etc/missing"); ok || len(s.Unread) != 0 {
		t.Errorf("missing: %+v", s.Unread)
	}
	f.deny("/proc/1/smaps", &os.PathError{Op: "open", Err: os.ErrPermission})
	f.deny("/etc/odd", errors.New("input/output error"))
	if len(s.Unread) != 2 || s.Unread[0].Remedy != "run pgtlb as root" || !strings.Contains(s.unreadReason("/proc/1/smaps"), "permission denied on /proc/1/smaps (run") {
		t.Errorf("%+v", s.Unread)
	}
	if s.unreadReason("/etc/odd") != "input/output error" || s.unreadReason("/etc/fine") != "" {
		t.Errorf("%+v", s.Unread)
	}
}

func TestPieces(t *testing.T) {
	f := Free{Blocks: []uint64{9, 9, 9, 9, 9, 9, 9, 9, 9, 3, 2}}
	if n, ok := f.pieces(2048, 4); !ok || n != 3+2*2 {
		t.Errorf("%d, %v", n, ok)
	}
	if _, ok := f.pieces(1<<20, 4); ok {
		t.Error("no list says how many pieces of 1 GB there are")
	}
	if n, ok := f.pieces(512<<10, 64); ok {
		t.Errorf("order 13: %d", n)
	}
}

func FuzzParsers(f *testing.F) {
	for _, seed := range []string{
		"hugepagesz=1G hugepages=0:8,1:8", "vm/nr_hugepages = 12", "echo 5 > /proc/sys/vm/nr_hugepages",
		"w /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages - - - - 12", "0::/a/../b", "hugetlb.2MB.rsvd.max",
		"Node 0 MemTotal: 12 kB", "[Service]\nLimitMEMLOCK=infinity", "compact_stall 5", "FATAL:  could not map anonymous shared memory",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range parseBootLine(text, 2048) {
			if p.Pages < 0 || p.PageKB <= 0 {
				t.Errorf("%+v", p)
			}
		}
		if p, ok := parsePoolLine(text, 2048); ok && (p.Pages < 0 || p.PageKB < 0) {
			t.Errorf("%+v", p)
		}
		for _, l := range parseSysctl("f", text) {
			if l.line < 1 {
				t.Errorf("%+v", l)
			}
		}
		for _, g := range parseGroups(text) {
			if !strings.HasPrefix(g.path, "/") || slices.Contains(strings.Split(g.path, "/"), "..") {
				t.Errorf("%+v", g)
			}
		}
		for _, v1 := range []bool{false, true} {
			if l, ok := parseLimitName(text, v1); ok && l.PageKB < 0 {
				t.Errorf("%+v", l)
			}
		}
		parseNodeMeminfo(text)
		unitSetting(text, "Service", "LimitMEMLOCK")
		parseEvents([]byte(text))
		parseStart("log", strings.Split(text, "\n"))
	})
}
