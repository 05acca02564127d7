package probes_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgtlb/probes"
	"pgtlb/workload/lab"
	"pgtlb/workload/lab/labtest"
)

func TestWatchARealServer(t *testing.T) {
	found := servers(t)
	for i, s := range found {
		t.Run(strconv.Itoa(s.Major), func(t *testing.T) {
			if testing.Short() && i > 0 {
				t.Skip("need: more time than -short leaves, to repeat it with another server version")
			}
			watchServer(t, s)
		})
	}
	t.Run("another version", func(t *testing.T) {
		if len(found) < 2 {
			t.Skip("need: a second PostgreSQL version (pgtlb setup --portable)")
		}
	})
}

func watchServer(t *testing.T, server lab.Server) {
	one := startLab(t, lab.Options{Server: server, Settings: map[string]string{"shared_preload_libraries": "pg_stat_statements", "cluster_name": "lab: one"}})
	two := startLab(t, lab.Options{Server: server, Settings: map[string]string{"huge_pages": "try"}})
	s := watch(t, config(t, one.DSN()), probes.SystemRoots())

	t.Run("info", func(t *testing.T) { checkInfo(t, s, one) })
	t.Run("session", func(t *testing.T) { checkSession(t, s) })
	t.Run("backends", func(t *testing.T) { checkBackends(t, s, one) })
	t.Run("two servers", func(t *testing.T) { checkTwoServers(t, s, one, two) })
	t.Run("huge_pages = try", func(t *testing.T) { checkTry(t, two) })
	t.Run("rollup", func(t *testing.T) { checkRollup(t, s, one) })
	t.Run("SQL only", func(t *testing.T) { checkSQLOnly(t, one) })
	t.Run("counters", func(t *testing.T) { checkCounters(t, s, one) })
	t.Run("events", func(t *testing.T) { checkEvents(t, one) })
	t.Run("unprivileged role", func(t *testing.T) { checkUnprivileged(t, one) })
	t.Run("queries", func(t *testing.T) { checkQueries(t, s, one) })
	t.Run("text in no encoding", func(t *testing.T) { checkBadText(t, one) })
	t.Run("restart", func(t *testing.T) { checkRestart(t, s, one) })
}

func checkInfo(t *testing.T, s *probes.Server, c *lab.Cluster) {
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pidFile, err := os.ReadFile(filepath.Join(c.Data(), "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	want, _, _ := strings.Cut(string(pidFile), "\n")
	if strconv.Itoa(info.PostmasterPid) != want || info.NoPostmasterWhy != "" {
		t.Errorf("postmaster %d (%s), postmaster.pid says %s", info.PostmasterPid, info.NoPostmasterWhy, want)
	}
	if info.Version != c.Server().Version || info.VersionNum/10000 != c.Server().Major {
		t.Errorf("version %q %d, want %s", info.Version, info.VersionNum, c.Server().Version)
	}
	if info.DataDir != c.Data() || !strings.HasPrefix(info.Where, "socket /") || info.SharedBuffersKB != 64*1024 || info.MaxConnections == 0 {
		t.Errorf("info %+v", info)
	}
	if age := time.Since(info.Started); age < 0 || age > time.Hour {
		t.Errorf("started %v ago", age)
	}
	h := info.HugePages
	if h.InUse != "off" || h.PageKB != os.Getpagesize()/1024 || h.Proof != "smaps KernelPageSize" {
		t.Errorf("huge pages %+v", h)
	}
	if info.VersionNum >= 150000 && (h.Needed < 32 || info.SharedMemoryKB <= info.SharedBuffersKB) {
		t.Errorf("needs %d pages, %d kB of shared memory", h.Needed, info.SharedMemoryKB)
	}
	found := slices.ContainsFunc(info.Settings, func(s probes.Setting) bool {
		return s.Name == "shared_buffers" && s.Value == "64MB" && s.Source != ""
	})
	if !found || !slices.IsSortedFunc(info.Settings, func(a, b probes.Setting) int { return strings.Compare(a.Name, b.Name) }) {
		t.Errorf("settings %+v", info.Settings)
	}
	for _, s := range info.Settings {
		if s.Name == "statement_timeout" || s.Name == "application_name" || s.Name == "default_transaction_read_only" {
			t.Errorf("%s is pgtlb's own session's, not the server's", s.Name)
		}
	}
}

func checkSession(t *testing.T, s *probes.Server) {
	for name, want := range map[string]string{"application_name": "pgtlb", "statement_timeout": "3s", "transaction_read_only": "on"} {
		got, err := s.Exec(t.Context(), "SHOW "+name)
		if err != nil || got != want {
			t.Errorf("%s is %q (%v), want %q", name, got, err, want)
		}
	}
	if _, err := s.Exec(t.Context(), "CREATE TABLE t AS SELECT 'x'"); err == nil {
		t.Error("the watching session could create a table")
	}
}

func checkBackends(t *testing.T, s *probes.Server, c *lab.Cluster) {
	p, misses := openBackends(t, s)
	if len(misses) != 0 {
		t.Fatalf("misses %+v", misses)
	}
	cfg := config(t, c.DSN())
	conn := client(t, cfg, "the-client")
	run(t, conn, "CREATE TABLE pages AS SELECT g AS id, repeat('x', 200) AS t FROM generate_series(1, 60000) g")
	reader := client(t, cfg, "the-reader")
	run(t, reader, "SET max_parallel_workers_per_gather = 0")

	before := read(t, p)
	run(t, reader, "SELECT count(*) FROM pages")
	// The server answers a moment before it waits for the next command.
	after := read(t, p)
	for deadline := time.Now().Add(10 * time.Second); rowOf(t, after, "the-reader").Wait == "" && time.Now().Before(deadline); after = read(t, p) {
		time.Sleep(10 * time.Millisecond)
	}
	row, was := rowOf(t, after, "the-reader"), rowOf(t, before, "the-reader")
	if row.Role != probes.RoleClient || row.State != "idle" || row.Query != "SELECT count(*) FROM pages" || row.Wait != "Client:ClientRead" || row.Own {
		t.Errorf("row %+v", row)
	}
	if row.Mem == nil || row.Use == nil || was.Mem == nil || row.Pid != was.Pid || row.StartTicks != was.StartTicks {
		t.Fatalf("rows %+v, before %+v", row, was)
	}
	// 60,000 rows take 14 MB, less than the quarter of shared buffers from which
	// on a scan would use a few buffers only; 8 bytes per page of 4 kB are 28 kB.
	if grown := row.Mem.PageTables - was.Mem.PageTables; grown < 16 || grown > 1<<20 {
		t.Errorf("page tables grew by %d kB", grown)
	}
	if row.Use.MinorFaults <= was.Use.MinorFaults {
		t.Errorf("minor faults %d after %d", row.Use.MinorFaults, was.Use.MinorFaults)
	}
	if own := rowOf(t, after, probes.AppName); !own.Own || own.Mem == nil {
		t.Errorf("own session %+v", own)
	}
	checkRoles(t, after, c)
	checkSums(t, after)
}

func checkRoles(t *testing.T, b probes.Batch, c *lab.Cluster) {
	var roles []string
	for _, r := range b.Backends {
		roles = append(roles, r.Role)
		if r.Mem == nil || r.StartTicks == 0 || r.Started.IsZero() {
			t.Errorf("%s has no figures: %+v", r.Role, r)
		}
		if r.Role == probes.RolePostmaster && r.Pid != c.Pid() {
			t.Errorf("postmaster %d, want %d", r.Pid, c.Pid())
		}
	}
	want := []string{"postmaster", "checkpointer", "bgwriter", "walwriter", "logical launcher", "client"}
	if c.Server().Major >= 18 {
		want = append(want, "io worker")
	}
	for _, want := range want {
		if !slices.Contains(roles, want) {
			t.Errorf("no %s among %v", want, roles)
		}
	}
}

// checkSums recomputes the readings from the rows and holds them against the
// kernel's sum over all processes of the machine.
func checkSums(t *testing.T, b probes.Batch) {
	var sum, largest, count uint64
	for _, r := range b.Backends {
		if r.Own {
			continue
		}
		count++
		sum += r.Mem.PageTables
		if r.Role == probes.RoleClient {
			largest = max(largest, r.Mem.PageTables)
		}
	}
	for id, want := range map[string]uint64{probes.PageTableBackendsSum: sum, probes.PageTableMaxBackend: largest, probes.Backends: count} {
		if got := value(t, b, id); got != float64(want) {
			t.Errorf("%s = %v, the rows say %d", id, got, want)
		}
	}
	host, _ := probes.HostProbes(probes.SystemRoots(), false)
	for _, p := range host {
		if p.Name() != "meminfo" {
			continue
		}
		// Both were read one after the other on a machine that works: 1 MB slack.
		if all := value(t, read(t, p), probes.PageTables); float64(sum) > all+1024 {
			t.Errorf("page tables of the server %d kB, of the machine %v kB", sum, all)
		}
	}
}

func checkTwoServers(t *testing.T, s *probes.Server, one, two *lab.Cluster) {
	other := watch(t, config(t, two.DSN()), probes.SystemRoots())
	a, _ := openBackends(t, s)
	b, misses := openBackends(t, other)
	if len(misses) != 0 {
		t.Fatalf("misses %+v", misses)
	}
	pids := map[int]bool{}
	for _, r := range read(t, a).Backends {
		pids[r.Pid] = true
	}
	rows := read(t, b).Backends
	for _, r := range rows {
		if pids[r.Pid] {
			t.Errorf("process %d (%s) is shown for both servers", r.Pid, r.Role)
		}
	}
	if len(rows) < 4 || !pids[one.Pid()] || pids[two.Pid()] {
		t.Errorf("%d rows of the second server; the first has %v", len(rows), pids)
	}
}

// checkTry holds the judgement against the pool: there are enough pages or there
// are not.
func checkTry(t *testing.T, c *lab.Cluster) {
	info, err := watch(t, config(t, c.DSN()), probes.SystemRoots()).Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h := info.HugePages
	if h.Requested != "try" || h.Proof != "smaps KernelPageSize" || h.Needed < 32 {
		t.Errorf("%+v", h)
	}
	if h.FellBack() {
		if h.PageKB > 64 || h.Short < 1 || h.Short > h.Needed {
			t.Errorf("fell back: %+v", h)
		}
	} else if h.InUse != "on" || h.PageKB < 2048 || h.Short != 0 {
		t.Errorf("in use: %+v", h)
	}
}

// TestHugePagesInUse proves the page size where the server has huge pages.
func TestHugePagesInUse(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("need: root to reserve huge pages")
	}
	found := servers(t)
	labtest.Pools(t)
	c := startLab(t, lab.Options{Server: found[0], Pages: lab.Pages2MB, Reserve: true})
	s := watch(t, config(t, c.DSN()), probes.SystemRoots())
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h := info.HugePages
	if h.InUse != "on" || h.PageKB != 2048 || h.Proof != "smaps KernelPageSize" || h.Needed < 32 || h.Short != 0 {
		t.Errorf("%+v", h)
	}
	backends, _ := openBackends(t, s)
	for _, r := range read(t, backends).Backends {
		// What the judgement takes where smaps may not be read.
		if r.Role == probes.RolePostmaster && r.Mem.Hugetlb == 0 {
			t.Error("the postmaster has mapped no huge page")
		}
	}
	pools, err := probes.ReadPools(probes.SystemRoots())
	i := slices.IndexFunc(pools, func(p probes.Pool) bool { return p.PageKB == 2048 })
	if err != nil || i < 0 || pools[i].Total < h.Needed || pools[i].Touched()+pools[i].Reserved == 0 {
		t.Errorf("pools %+v, %v; needed %d", pools, err, h.Needed)
	}
}

func checkRollup(t *testing.T, s *probes.Server, c *lab.Cluster) {
	conn := client(t, config(t, c.DSN()), "rolled-up")
	run(t, conn, "SELECT 1")
	p, _ := openBackends(t, s)
	row := rowOf(t, read(t, p), "rolled-up")
	r, err := probes.ReadRollup(probes.SystemRoots(), row.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if r.StartTicks != row.StartTicks || r.Pss == 0 || r.Pss > r.Rss || r.Private == 0 || r.Shared+r.Private > r.Rss || r.Hugetlb != 0 {
		t.Errorf("rollup %+v of %+v", r, row)
	}
	if _, err := probes.ReadRollup(probes.SystemRoots(), 1<<30); !errors.Is(err, probes.ErrUnavailable) {
		t.Errorf("a pid that nobody has gives %v", err)
	}
}

func checkSQLOnly(t *testing.T, c *lab.Cluster) {
	empty := probes.Roots{Proc: t.TempDir(), Sys: t.TempDir()}
	s := watch(t, config(t, c.DSN()), empty)
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if info.PostmasterPid != 0 || !strings.HasPrefix(info.NoPostmasterWhy, "SQL only: ") {
		t.Errorf("postmaster %d, why %q", info.PostmasterPid, info.NoPostmasterWhy)
	}
	// huge_pages_status came with 17; a lab with small pages asks for none.
	wantProof := "huge_pages = off"
	if c.Server().Major >= 17 {
		wantProof = "huge_pages_status"
	}
	if info.HugePages.Proof != wantProof || info.HugePages.InUse != "off" {
		t.Errorf("huge pages %+v, want the proof %q", info.HugePages, wantProof)
	}
	p, misses := openBackends(t, s)
	if len(misses) != 2 || !strings.HasPrefix(misses[0].Reason, "SQL only: ") {
		t.Errorf("misses %+v", misses)
	}
	b := read(t, p)
	if value(t, b, probes.Backends) < 5 || len(b.Misses) != 2 {
		t.Errorf("readings %+v, misses %+v", b.Readings, b.Misses)
	}
	for _, r := range b.Backends {
		if r.Mem != nil || r.Use != nil || r.StartTicks != 0 || r.Role == "" {
			t.Errorf("row %+v", r)
		}
	}
}

func checkCounters(t *testing.T, s *probes.Server, c *lab.Cluster) {
	opened, misses := probes.ServerProbes(t.Context(), s)
	if len(opened) != 2 || len(misses) != 2 || misses[0].ID != probes.StmtCalls || misses[0].Remedy == "" {
		t.Fatalf("opened %d, misses %+v", len(opened), misses)
	}
	conn := client(t, config(t, c.DSN()), "counted")
	run(t, conn, "CREATE SCHEMA \"odd ext\"")
	run(t, conn, "CREATE EXTENSION pg_stat_statements SCHEMA \"odd ext\"")
	opened, misses = probes.ServerProbes(t.Context(), s)
	if len(misses) != 0 {
		t.Fatalf("misses %+v", misses)
	}
	p := opened[slices.IndexFunc(opened, func(p probes.Probe) bool { return p.Name() == "database" })]
	before := read(t, p)
	for range 20 {
		run(t, conn, "SELECT count(*) FROM pages")
	}
	// Servers before 15 pass a session's counters on when it is idle, twice a
	// second at most; 15 does within a second.
	deadline := time.Now().Add(10 * time.Second)
	for value(t, read(t, p), probes.Commits) < value(t, before, probes.Commits)+20 && time.Now().Before(deadline) {
		time.Sleep(100 * time.Millisecond)
	}
	after := read(t, p)
	for _, id := range []string{probes.Commits, probes.StmtCalls} {
		if grown := value(t, after, id) - value(t, before, id); grown < 20 {
			t.Errorf("%s grew by %v, want 20 at least", id, grown)
		}
	}
	for _, id := range []string{probes.BlksHit, probes.StmtExecMS, probes.TupReturned} {
		if value(t, after, id) <= value(t, before, id) {
			t.Errorf("%s did not grow", id)
		}
	}
	for _, id := range []string{probes.Rollbacks, probes.BlksRead, probes.TempFiles, probes.TempBytes, probes.TupFetched, probes.TupInserted, probes.TupUpdated, probes.TupDeleted} {
		if value(t, after, id) < 0 {
			t.Errorf("%s is negative", id)
		}
	}
	run(t, conn, "DO $$BEGIN FOR i IN 1..200 LOOP EXECUTE 'CREATE TEMP TABLE part' || i || ' (a int, b text)'; END LOOP; END$$")
	// A table has 8 rows in pg_attribute alone.
	if was, is := value(t, after, probes.Catalog), value(t, read(t, p), probes.Catalog); was < 1000 || is < was+200 {
		t.Errorf("the catalog has %v kB, and %v kB with 200 tables more", was, is)
	}
}

func checkEvents(t *testing.T, c *lab.Cluster) {
	p, misses := probes.OpenPerf(t.Context(), probes.SystemRoots(), probes.PerfServer, c.Pid())
	if p == nil {
		t.Skipf("need: perf events of the server's processes (%s)", misses[0].Reason)
	}
	defer p.Close()
	before := parts(t, read(t, p), probes.PageFaults)
	conn := client(t, config(t, c.DSN()), "faulting")
	run(t, conn, "SELECT count(*) FROM pages")
	after := parts(t, read(t, p), probes.PageFaults)
	// A new backend alone takes some hundred faults; it was born after the open.
	if after < before+100 {
		t.Errorf("%d page faults of the server, before %d", after, before)
	}
	for _, m := range p.Metrics() {
		if !strings.Contains(m.Scope, strconv.Itoa(c.Pid())) {
			t.Errorf("%s has the scope %q", m.ID, m.Scope)
		}
	}
}

// parts sums an event's raw counts.
func parts(t *testing.T, b probes.Batch, id string) (sum uint64) {
	t.Helper()
	i := slices.IndexFunc(b.Readings, func(r probes.Reading) bool { return r.ID == id })
	if i < 0 {
		t.Fatalf("no %s in %+v", id, b)
	}
	for _, p := range b.Readings[i].Parts {
		sum += p[0]
	}
	return sum
}

func checkUnprivileged(t *testing.T, c *lab.Cluster) {
	cfg := config(t, c.DSN())
	admin := client(t, cfg, "secret-app")
	run(t, admin, "CREATE ROLE nobody_special LOGIN")
	cfg.User = "nobody_special"
	s, err := probes.Connect(t.Context(), cfg, probes.SystemRoots())
	if err != nil {
		t.Skipf("need: a lab that lets other roles in (%v)", err)
	}
	defer s.Close(context.Background())
	info, err := s.Info(t.Context())
	if err != nil || info.PostmasterPid != c.Pid() || info.DataDir != "" || info.User != "nobody_special" {
		t.Errorf("info %+v, %v", info, err)
	}
	p, _ := openBackends(t, s)
	row := rowOf(t, read(t, p), "secret-app")
	if row.Mem == nil || row.Role != probes.RoleClient || row.Query != "<insufficient privilege>" {
		t.Errorf("row %+v", row)
	}
}

// checkQueries: the lines of a text stay apart, since the end of one ends a comment,
// and what the server cut says so.
func checkQueries(t *testing.T, s *probes.Server, c *lab.Cluster) {
	p, _ := openBackends(t, s)
	conn := client(t, config(t, c.DSN()), "asker")
	long := "SELECT '" + strings.Repeat("ü", 600) + "'"
	for query, want := range map[string]string{
		"-- name: One :one\r\nSELECT 1 -- it's\n + 2": "-- name: One :one\n\nSELECT 1 -- it's\n + 2",
		long: long[:len("SELECT '")+2*507] + probes.CutMark, // of 1024 bytes the last is a zero, and half a character is none
	} {
		run(t, conn, query)
		if row := rowOf(t, read(t, p), "asker"); row.Query != want {
			t.Errorf("%q is seen as %q", query, row.Query)
		}
	}
	admin := client(t, config(t, c.DSN()), "admin")
	var size string
	if err := admin.QueryRow(t.Context(), "SHOW track_activity_query_size").Scan(&size); err != nil || size != "1kB" {
		t.Fatalf("track_activity_query_size is %s, %v", size, err)
	}
}

func checkBadText(t *testing.T, c *lab.Cluster) {
	cfg := config(t, c.DSN())
	run(t, client(t, cfg, "creator"), "CREATE DATABASE bytes ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
	cfg.Database = "bytes"
	odd := cfg.Copy()
	odd.RuntimeParams["client_encoding"] = "SQL_ASCII"
	run(t, client(t, odd, "odd-client"), "SELECT '\xff\x1b[31m'")
	s := watch(t, cfg, probes.SystemRoots())
	p, _ := openBackends(t, s)
	b, err := p.Read(t.Context())
	if err != nil {
		// The first time the server tries to convert, and cannot.
		if len(b.Misses) == 0 {
			t.Errorf("an error without misses: %v", err)
		}
		b = read(t, p)
	}
	if row := rowOf(t, b, "odd-client"); row.Query != "SELECT '\uFFFD [31m'" || row.Mem == nil {
		t.Errorf("row %+v", row)
	}
}

func checkRestart(t *testing.T, s *probes.Server, c *lab.Cluster) {
	p, _ := openBackends(t, s)
	read(t, p)
	old := c.Pid()
	events, _ := probes.OpenPerf(t.Context(), probes.SystemRoots(), probes.PerfServer, old)
	if events != nil {
		defer events.Close()
		read(t, events)
	}
	if err := c.Restart(t.Context(), lab.Change{}, nil); err != nil {
		t.Fatal(err)
	}
	if events != nil {
		// Counts that stand still would look like a server without page faults.
		b, err := events.Read(t.Context())
		if !errors.Is(err, probes.ErrUnavailable) || len(b.Readings) != 0 || len(b.Misses) == 0 {
			t.Errorf("events of a postmaster that ended: %+v, %v", b, err)
		}
	}
	b, err := p.Read(t.Context())
	if err == nil || len(b.Misses) != 3 || len(b.Readings) != 0 {
		t.Errorf("the lost connection gives %+v, %v", b, err)
	}
	b = read(t, p)
	i := slices.IndexFunc(b.Backends, func(r probes.Backend) bool { return r.Role == probes.RolePostmaster })
	if i < 0 || b.Backends[i].Pid != c.Pid() || c.Pid() == old {
		t.Errorf("after the restart of %d to %d: %+v", old, c.Pid(), b.Backends)
	}
	if info, err := s.Info(t.Context()); err != nil || info.PostmasterPid != c.Pid() {
		t.Errorf("info %+v, %v", info, err)
	}
}
