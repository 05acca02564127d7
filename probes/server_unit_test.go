package probes

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRoles(t *testing.T) {
	for in, want := range map[string]string{
		"client backend": "client", "background writer": "bgwriter", "checkpointer": "checkpointer",
		"autovacuum worker": "autovacuum", "io worker": "io worker", "parallel worker": "parallel worker",
		"logical replication apply worker": "logical worker", "my\x1bext": "my ext",
	} {
		if got := roleOf(in); got != want {
			t.Errorf("roleOf(%q) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"postgres: logger ":                                                        "logger",
		"postgres: lab: one: logger":                                               "logger",
		"postgres: lab: one: background writer ":                                   "bgwriter",
		"postgres: checkpointer performing checkpoint":                             "checkpointer",
		"postgres: archiver last was 000000010000000000":                           "archiver",
		"postgres: io worker 2":                                                    "io worker",
		"postgres: parallel worker for PID 411":                                    "parallel worker",
		"postgres: stats collector ":                                               "stats collector",
		"postgres: bob shop 10.1.2.3(50123) SELECT":                                "client",
		"postgres: main: bob shop [local] idle":                                    "client",
		"postgres: loggerhead db [local] idle":                                     "client",
		"postgres: bob shop fe80::1(5433) idle":                                    "client",
		"postgres: slotsync worker":                                                "slotsync worker",
		"postgres: walsummarizer":                                                  "walsummarizer",
		"postgres: walreceiver streaming 0/3000148":                                "walreceiver",
		"postgres: standby: startup recovering 0000000100":                         "startup",
		"postgres: logical replication worker for subscription 16394":              "logical worker",
		"postgres: logical replication parallel apply worker for subscription 163": "logical worker",
		"postgres: main: pg_cron launcher":                                         "pg_cron launcher",
		"postgres: queue worker 3":                                                 "queue worker 3",
		"/usr/lib/postgresql/15/bin/postgres -D /srv/pgdata":                       "starting",
		"sh -c cp pg_wal/000000010000000000000001 /archive":                        "other",
		"": "other",
	} {
		if got := roleOfTitle(in, "/usr/lib/postgresql/15/bin/postgres -D /srv/pgdata"); got != want {
			t.Errorf("roleOfTitle(%q) = %q, want %q", in, got, want)
		}
	}
}

// The server is pid 1 of a container, where a job of archive_command that lost
// its parent becomes the postmaster's child.
func TestChildrenThatAreNotTheServers(t *testing.T) {
	roots := Roots{Proc: t.TempDir(), Sys: t.TempDir()}
	put := func(path, text string) {
		t.Helper()
		path = filepath.Join(roots.Proc, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const first = "postgres\x00-D\x00/srv/pgdata\x00"
	for pid, cmdline := range map[string]string{"1": first, "30": "postgres: archiver \x00\x00", "31": "sh\x00-c\x00gzip x\x00", "32": first, "33": ""} {
		put(pid+"/stat", pid+" (x) S 1 1 1 0 -1 0 1 0 1 0 1 1 0 0 20 0 1 0 500 1 1 1\n")
		put(pid+"/status", "Pid:\t"+pid+"\n")
		put(pid+"/cmdline", cmdline)
	}
	put("1/task/1/children", "30 31 32 33 ")
	table := newProcessTable(roots)
	defer table.close()
	check := func(want map[int]string) {
		t.Helper()
		list, err := table.read(postmaster{pid: 1, start: 500})
		got := map[int]string{}
		for _, p := range list {
			got[p.pid] = p.role
		}
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
	check(map[int]string{1: RolePostmaster, 30: "archiver", 31: "other", 32: "starting", 33: "other"})
	put("32/cmdline", "postgres: io worker 0\x00")
	check(map[int]string{1: RolePostmaster, 30: "archiver", 31: "other", 32: "io worker", 33: "other"})
}

func TestVersionIsThePlainNumber(t *testing.T) {
	for in, want := range map[string]string{
		"15.18 (Debian 15.18-0+deb12u1)": "15.18", "15.18": "15.18", "17.6 (Ubuntu 17.6-1.pgdg24.04+1)": "17.6",
		"18beta2": "18beta2", "13.22\x1b(odd)": "13.22", "": "",
	} {
		if got := plainVersion(in); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
}

func TestStartTicks(t *testing.T) {
	roots := Roots{Proc: t.TempDir()}
	dir := filepath.Join(roots.Proc, "42")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for state, want := range map[string]uint64{"S": 83065, "R": 83065, "Z": 0, "X": 0} {
		line := "42 (postgres) " + state + " 1 1 1 0 -1 0 1 0 1 0 1 1 0 0 20 0 1 0 83065 1 1 1\n"
		if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := StartTicks(roots, 42); got != want || (err != nil) != (want == 0) {
			t.Errorf("%s: %d, %v", state, got, err)
		}
	}
	if n, err := StartTicks(roots, 43); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such process: %d, %v", n, err)
	}
}

func TestRootsAreTheSystemsUnlessNamed(t *testing.T) {
	if p := (Roots{}).ProcPath("1", "stat"); p != "/proc/1/stat" || !(Roots{}).areSystem() || !SystemRoots().areSystem() {
		t.Error(p)
	}
	r := Roots{Proc: "/a/proc", Sys: "/a/sys"}
	if r.ProcPath() != "/a/proc" || r.SysPath("kernel/mm") != "/a/sys/kernel/mm" || r.areSystem() || (Roots{Sys: "/a"}).areSystem() {
		t.Errorf("%+v", r)
	}
}

func TestProcStat(t *testing.T) {
	s, err := parseProcStat([]byte("4243 (post) gres (x)) S 4200 4243 4243 0 -1 4194560 5321 0 7 0 41 12 0 0 20 0 1 0 83065 3133440 407 1844 1 2\n"))
	want := procStat{state: 'S', ppid: 4200, start: 83065, use: BackendUse{MinorFaults: 5321, MajorFaults: 7, User: 41, Kernel: 12}}
	if err != nil || s != want {
		t.Errorf("%+v, %v; want %+v", s, err, want)
	}
	for _, bad := range []string{"", "1 x S 2", "1 (x) S 2 3", "1 (x) S two 3"} {
		if s, err := parseProcStat([]byte(bad)); err == nil {
			t.Errorf("%q gives %+v", bad, s)
		}
	}
}

const statusText = `Name:	postgres
Umask:	0077
Pid:	4243
PPid:	4200
NSpid:	4243	117	21
VmPeak:	 6490428 kB
VmPTE:	    5268 kB
RssAnon:	    3112 kB
RssShmem:	 1400000 kB
HugetlbPages:	    2048 kB
Threads:	1
`

func TestProcStatus(t *testing.T) {
	s, err := parseProcStatus([]byte(statusText))
	want := procStatus{nspid: 21, hasMem: true, peak: 6490428, threads: 1, mem: BackendMem{PageTables: 5268, Hugetlb: 2048, Shmem: 1400000, Private: 3112}}
	if err != nil || s != want {
		t.Errorf("%+v, %v; want %+v", s, err, want)
	}
	// A process that is ending has no memory any more: absent, not 0.
	if s, err = parseProcStatus([]byte("Name:\tpostgres\nPid:\t7\n")); err != nil || s.hasMem || s.nspid != 7 {
		t.Errorf("zombie: %+v, %v", s, err)
	}
	// A kernel without CONFIG_HUGETLBFS: the other figures hold.
	none := strings.Replace(statusText, "HugetlbPages:\t    2048 kB\n", "", 1)
	if s, err = parseProcStatus([]byte(none)); err != nil || !s.hasMem || !s.mem.NoHugetlb || s.mem.PageTables != 5268 {
		t.Errorf("without HugetlbPages: %+v, %v", s, err)
	}
	for _, bad := range []string{"", "Name: x", "Pid:\tx\n", "Pid:\t7\nVmPTE:\t1 MB\n"} {
		if s, err := parseProcStatus([]byte(bad)); err == nil {
			t.Errorf("%q gives %+v", bad, s)
		}
	}
}

func TestParseSmaps(t *testing.T) {
	mapping := func(line, sizeKB, pageKB string) string {
		return line + "\nSize:           " + sizeKB + " kB\nKernelPageSize:  " + pageKB + " kB\nMMUPageSize:  " + pageKB + " kB\nVmFlags: rd wr sh\n"
	}
	program := mapping("55da8e438000-55da8e43a000 r--p 00000000 fe:00 1234 /usr/lib/postgresql/15/bin/postgres", "8000000", "4")
	dsm := mapping("7f0-7f1 rw-s 00000000 00:1a 5 /dev/shm/PostgreSQL.12", "9000000", "4")
	sysv := mapping("7f2-7f3 rw-s 00000000 00:01 7 /SYSV0052e2c1 (deleted)", "4", "4")
	const zero, huge, sysvName = "/dev/zero (deleted)", "/anon_hugepage (deleted)", "/SYSV0052e2c1 (deleted)"
	const words = "smaps KernelPageSize"
	for name, c := range map[string]struct {
		smaps string
		want  PageProof
	}{
		"4 kB": {program + dsm + mapping("7f4-7f5 rw-s 00000000 00:01 9 /dev/zero (deleted)", "146000", "4") + "ShmemPmdMapped:     2048 kB\n" + sysv,
			PageProof{4, 146000, 2048, zero, words}},
		"2 MB": {program + sysv + mapping("7f4-7f5 rw-s 00000000 00:0f 9 /anon_hugepage (deleted)", "147456", "2048"), PageProof{2048, 147456, 0, huge, words}},
		"1 GB": {sysv + mapping("7f4-7f5 rw-s 00000000 00:0f 9 /anon_hugepage (deleted)", "1048576", "1048576") + program,
			PageProof{1048576, 1048576, 0, huge, words}},
		"sysv":        {program + mapping("7f2-7f3 rw-s 00000000 00:01 7 /SYSV0052e2c1 (deleted)", "146000", "64"), PageProof{64, 146000, 0, sysvName, words}},
		"a long path": {program + strings.Repeat("x", 100_000) + "\n" + sysv, PageProof{4, 4, 0, sysvName, words}},
		"none":        {program + dsm, PageProof{}},
		"nothing":     {"", PageProof{}},
	} {
		got, err := parseSmaps(strings.NewReader(c.smaps))
		if got != c.want || errors.Is(err, ErrNoSharedMapping) != (c.want == PageProof{}) {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
		}
	}
}

func TestRollupParser(t *testing.T) {
	r, err := parseRollup(strings.NewReader("55-7f ---p 0 00:00 0 [rollup]\nRss: 100 kB\nPss: 40 kB\nPss_Anon: 1 kB\nShared_Clean: 30 kB\nShared_Dirty: 10 kB\nPrivate_Clean: 20 kB\nPrivate_Dirty: 40 kB\nShared_Hugetlb: 2048 kB\nPrivate_Hugetlb: 4096 kB\n"))
	if want := (Rollup{Pss: 40, Rss: 100, Private: 60, Shared: 40, Hugetlb: 6144}); err != nil || r != want {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := parseRollup(strings.NewReader("")); err == nil {
		t.Errorf("nothing gives %+v", r)
	}
}

func TestHidePid(t *testing.T) {
	for mounts, want := range map[string]bool{
		"proc /proc proc rw,nosuid,hidepid=2 0 0\n":                     true,
		"proc /proc proc rw,nosuid,hidepid=invisible,gid=4 0 0\n":       true,
		"proc /proc proc rw,nosuid 0 0\n":                               false,
		"proc /proc proc rw,hidepid=0 0 0\n":                            false,
		"/dev/vda / ext4 rw,hidepid=2 0 0\nproc /proc proc rw 0 0\nx\n": false,
	} {
		if got := hasHidePid(mounts); got != want {
			t.Errorf("%q: %v", mounts, got)
		}
	}
	roots := Roots{Proc: t.TempDir()}
	if err := noPostmaster(roots, 0, false); !strings.Contains(reasonOf(err), "another machine") {
		t.Error(err)
	}
	if err := os.MkdirAll(filepath.Join(roots.Proc, "self"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(roots.Proc, "self/mounts"), []byte("proc /proc proc rw,hidepid=2 0 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := noPostmaster(roots, 0, false)
	if why := reasonOf(err); !strings.HasPrefix(why, "SQL only: ") || !strings.Contains(why, "hidepid") || !errors.Is(err, ErrUnavailable) {
		t.Error(why)
	}
}

// joinCase is a server whose processes are seen from outside of its container.
func joinCase(boot time.Time) (map[int]*Backend, seenProcesses) {
	at := func(seconds int) *time.Time {
		t := boot.Add(time.Duration(seconds) * time.Second)
		return &t
	}
	rows := []activity{
		{pid: 21, backendType: "client backend", app: "shop", state: "active", started: at(500)},
		{pid: 22, backendType: "client backend", app: AppName, started: at(600)},
		{pid: 23, backendType: "client backend", app: "late", started: at(700)},
		{pid: 24, backendType: "client backend", app: "gone", started: at(500)},
		{pid: 10, backendType: "checkpointer", started: at(100)},
		{pid: 25, query: "<insufficient privilege>"},
	}
	proc := func(pid, nspid int, role string, start uint64) *process {
		return &process{pid: pid, nspid: nspid, role: role, start: start * ticksPerSecond, mem: &BackendMem{PageTables: uint64(pid)}}
	}
	told := newActivityTable()
	told.put(rows, 22)
	return told.byPid, seenProcesses{boot, []*process{
		proc(4000, 1, RolePostmaster, 99),
		proc(4010, 10, "checkpointer", 100),
		proc(4011, 11, "logger", 100),
		proc(4021, 21, RoleClient, 500),
		proc(4022, 22, RoleClient, 600),
		proc(4023, 23, RoleClient, 650), // another process than the row's
		proc(4025, 25, RoleClient, 300),
	}}
}

func TestJoinUsesThePidOfTheServersNamespace(t *testing.T) {
	rows, seen := joinCase(time.Now().Add(-time.Hour))
	got := joinBackends(rows, seen)
	byApp := func(app, role string) Backend {
		i := slices.IndexFunc(got, func(b Backend) bool { return b.App == app && b.Role == role })
		if i < 0 {
			t.Fatalf("no %s %q in %+v", role, app, got)
		}
		return got[i]
	}
	if b := byApp("shop", "client"); b.Pid != 4021 || b.Mem == nil || b.Mem.PageTables != 4021 || b.Own {
		t.Errorf("%+v", b)
	}
	if b := byApp(AppName, "client"); !b.Own || b.Pid != 4022 {
		t.Errorf("%+v", b)
	}
	for _, app := range []string{"late", "gone"} {
		if b := byApp(app, "client"); b.Mem != nil || b.Use != nil || b.StartTicks != 0 {
			t.Errorf("%s has the figures of another process: %+v", app, b)
		}
	}
	if b := byApp("", "logger"); b.Pid != 4011 || b.Mem == nil {
		t.Errorf("%+v", b)
	}
	i := slices.IndexFunc(got, func(b Backend) bool { return b.Pid == 4025 })
	if i < 0 || got[i].Role != "client" || got[i].Query != "<insufficient privilege>" {
		t.Errorf("the row without rights: %+v", got)
	}
	readings, misses := backendSums(got, nil)
	want := []Reading{
		{ID: Backends, Value: 8},
		{ID: PageTableBackendsSum, Value: 4000 + 4010 + 4011 + 4021 + 4023 + 4025},
		{ID: PageTableMaxBackend, Value: 4025},
	}
	for i, r := range readings {
		if r.ID != want[i].ID || r.Value != want[i].Value {
			t.Errorf("reading %+v, want %+v", r, want[i])
		}
	}
	if len(readings) != 3 || len(misses) != 0 {
		t.Errorf("readings %+v, misses %+v", readings, misses)
	}
}

func TestJoinSurvivesASetClock(t *testing.T) {
	boot := time.Now().Add(-time.Hour)
	rows, seen := joinCase(boot)
	seen.boot = boot.Add(90 * time.Second) // the clock was put forward since
	n := 0
	for _, b := range joinBackends(rows, seen) {
		if b.App != "" && b.Mem != nil {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d rows with figures, want shop and pgtlb", n)
	}
}

func TestBackendSumsAreMissingWhenNotAllIsSeen(t *testing.T) {
	rows := []Backend{{Pid: 1, Role: RoleClient, Mem: &BackendMem{PageTables: 5}}}
	readings, misses := backendSums(rows, fs.ErrPermission)
	if len(readings) != 1 || readings[0].ID != Backends || len(misses) != 2 || misses[0].Reason == "" {
		t.Errorf("readings %+v, misses %+v", readings, misses)
	}
	readings, misses = backendSums([]Backend{{Role: "checkpointer", Mem: &BackendMem{PageTables: 5}}}, nil)
	if len(readings) != 2 || len(misses) != 1 || misses[0].ID != PageTableMaxBackend {
		t.Errorf("without clients: readings %+v, misses %+v", readings, misses)
	}
	readings, misses = backendSums([]Backend{{Role: RoleClient}, {Role: "checkpointer"}}, nil)
	if len(readings) != 1 || len(misses) != 2 || misses[0].ID != PageTableBackendsSum || misses[0].State != NotThere || misses[0].Reason == "" {
		t.Errorf("without memory of any process: readings %+v, misses %+v", readings, misses)
	}
}

func TestShortenKeepsWholeCharacters(t *testing.T) {
	s := strings.Repeat("x", maxQuery-1) + "ü and more"
	if got := Clean(shorten(s)); got != strings.Repeat("x", maxQuery-1) {
		t.Errorf("ends in %q", got[maxQuery-4:])
	}
	if got := shorten("short"); got != "short" {
		t.Error(got)
	}
	if got := shorten(strings.Repeat("\x80", 2*maxQuery)); len(got) < maxQuery-4 {
		t.Errorf("%d bytes left", len(got))
	}
}

func TestQueryText(t *testing.T) {
	long := strings.Repeat("x", maxQuery)
	c := &session{querySize: 1024}
	for in, want := range map[string]string{
		"SELECT 1":                        "SELECT 1",
		" SELECT 1 -- a\n\t+ 2\x1b[31m\r": "SELECT 1 -- a\n + 2 [31m",
		long + "y":                        long + CutMark,
		strings.Repeat("x", 1019):         strings.Repeat("x", 1019),
		strings.Repeat("x", 1020):         strings.Repeat("x", 1020) + CutMark, // a last character of four bytes may be gone
	} {
		if got := queryText(in, c.mayBeCut(in)); got != want {
			t.Errorf("%.40q… gives %.40q…%q", in, got, got[max(0, len(got)-8):])
		}
	}
	if (&session{}).mayBeCut(long) {
		t.Error("a text is cut at a size that is not known")
	}
}

func TestStatementsQuery(t *testing.T) {
	for version, nested := range map[string]bool{"1.8": true, "1.9": false, "1.10": false, "2.0": false} {
		q, err := statementsQuery("public", version)
		if err != nil || strings.Contains(q, "WHERE toplevel") == nested || !strings.Contains(q, "public.pg_stat_statements(false)") {
			t.Errorf("%s: %q, %v", version, q, err)
		}
	}
	for _, version := range []string{"1.7", "", "x.y"} {
		if q, err := statementsQuery("public", version); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %q, %v", version, q, err)
		}
	}
}

func TestHugePagesOfTheServer(t *testing.T) {
	ptr := func(n int64) *int64 { return &n }
	word := func(s string) *string { return &s }
	info := func(requested string) ServerInfo {
		return ServerInfo{Version: "17.2", HugePages: HugePages{Requested: requested}, NoPostmasterWhy: "SQL only: elsewhere"}
	}
	roots := fixture("amd64") // 1050 of 1100 pages of 2 MB free, 64 of them reserved
	for name, c := range map[string]struct {
		requested string
		facts     serverFacts
		want      HugePages
	}{
		"fell back": {"try", serverFacts{status: word("off"), neededPages: ptr(1030), hugePageKB: ptr(0)},
			HugePages{Requested: "try", InUse: "off", PageKB: 4, Proof: "huge_pages_status", Needed: 1030, Short: 44, WantedKB: 2048}},
		"in use": {"try", serverFacts{status: word("on"), neededPages: ptr(2), hugePageKB: ptr(1048576)},
			HugePages{Requested: "try", InUse: "on", PageKB: 1048576, Proof: "huge_pages_status", Needed: 2, WantedKB: 1048576}},
		"not supported": {"try", serverFacts{status: word("off"), neededPages: ptr(-1)},
			HugePages{Requested: "try", InUse: "off", PageKB: 4, Proof: "huge_pages_status", WantedKB: 2048, Unsupported: true}},
		"off": {"off", serverFacts{neededPages: ptr(70)},
			HugePages{Requested: "off", InUse: "off", PageKB: 4, Proof: "huge_pages = off", Needed: 70, WantedKB: 2048}},
	} {
		if got := hugePagesOf(roots, info(c.requested), c.facts); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	got := hugePagesOf(roots, info("try"), serverFacts{})
	if got.InUse != "" || !strings.Contains(got.Proof, "SQL only: elsewhere") || got.FellBack() {
		t.Errorf("without proof: %+v", got)
	}
	got = hugePagesOf(roots, info("on"), serverFacts{neededPages: ptr(5)})
	if got.InUse != "on" || got.PageKB != 2048 {
		t.Errorf("huge_pages = on: %+v", got)
	}
}

func TestHugePagesByWhatThePostmasterHasMapped(t *testing.T) {
	roots := fixture("amd64")
	proc := t.TempDir()
	if err := os.CopyFS(proc, os.DirFS(roots.Proc)); err != nil {
		t.Fatal(err)
	}
	roots.Proc = proc
	if err := os.MkdirAll(filepath.Join(proc, "77"), 0o700); err != nil {
		t.Fatal(err)
	}
	for status, want := range map[string]HugePages{
		statusText: {Requested: "try", InUse: "on", PageKB: 2048, Proof: "postmaster's HugetlbPages", Needed: 3170, WantedKB: 2048},
		strings.Replace(statusText, "    2048 kB", "       0 kB", 1): {Requested: "try", InUse: "off", PageKB: 4,
			Proof: "postmaster's HugetlbPages, which is 0", Needed: 3170, Short: 3170 - 986, WantedKB: 2048},
	} {
		if err := os.WriteFile(filepath.Join(proc, "77", "status"), []byte(status), 0o600); err != nil {
			t.Fatal(err)
		}
		info := ServerInfo{Version: "14.2", PostmasterPid: 77, HugePages: HugePages{Requested: "try"}}
		if got := hugePagesOf(roots, info, serverFacts{}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

func TestServerErrorIsOneLine(t *testing.T) {
	err := &serverError{errors.New("failed to connect to `user=x`:\n\t127.0.0.1:1: refused\n\t127.0.0.1:1: refused\n\t[::1]:1: re\x1bfused")}
	if want := "failed to connect to `user=x`: 127.0.0.1:1: refused; [::1]:1: re fused"; err.Error() != want {
		t.Errorf("%q", err.Error())
	}
}

func FuzzParseProcStat(f *testing.F) {
	f.Add([]byte("1 (x) S 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21"))
	f.Add([]byte("1 (a) b) S 1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := parseProcStat(b); err == nil && len(bytes.Fields(b)) < 20 {
			t.Fatalf("%q gives %+v", b, s)
		}
	})
}

func FuzzParseProcStatus(f *testing.F) {
	f.Add([]byte(statusText))
	f.Add([]byte("Pid:\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := parseProcStatus(b); err == nil && s.nspid <= 0 {
			t.Fatalf("%q gives %+v", b, s)
		}
	})
}

func FuzzParseSmaps(f *testing.F) {
	f.Add([]byte("7f4-7f5 rw-s 0 00:01 9 /dev/zero (deleted)\nSize: 8 kB\nKernelPageSize: 4 kB\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := parseSmaps(bytes.NewReader(b)); err == nil && (p.PageKB <= 0 || p.SizeKB == 0 || p.Mapping == "") {
			t.Fatalf("%q proves %+v", b, p)
		}
		if r, err := parseRollup(bytes.NewReader(b)); err == nil && !bytes.Contains(b, []byte("Pss:")) {
			t.Fatalf("%q gives %+v", b, r)
		}
	})
}

func FuzzRoleOfTitle(f *testing.F) {
	f.Add("postgres: a: b: logger ")
	f.Fuzz(func(t *testing.T, title string) {
		if role := roleOfTitle(title, "postgres -D x"); role == "" {
			t.Fatalf("%q has no role", title)
		}
	})
}
