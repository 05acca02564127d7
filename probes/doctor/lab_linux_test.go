package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pgtlb/probes"
	"pgtlb/probes/doctor"
	"pgtlb/workload/lab"
	"pgtlb/workload/lab/labtest"
)

// needPool skips where the states of this file cannot be made.
func needPool(t *testing.T, size lab.Pages) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("need: root, to reserve huge pages")
	}
	if _, err := lab.ReadPool(probes.Roots{}, size); errors.Is(err, lab.ErrNoPool) {
		t.Skipf("need: a machine with %s huge pages", size)
	}
}

// startLab starts a private server that the test stops at its end.
func startLab(t *testing.T, o lab.Options) *lab.Cluster {
	t.Helper()
	server, err := lab.Find(t.Context(), "")
	if errors.Is(err, lab.ErrNoServer) {
		t.Skip("need: PostgreSQL's server programs (pgtlb setup)")
	}
	if err != nil {
		t.Fatal(err)
	}
	// Not below t.TempDir: the server's account may not enter that.
	parent, err := os.MkdirTemp("/tmp", "pgtlb-doctor-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(parent); err != nil {
			t.Errorf("the lab left something behind: %v", err)
		}
	})
	if err := os.Chmod(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	o.Server, o.Parent, o.Pools = server, parent, lab.Pools{Dir: t.TempDir()}
	c, err := lab.Start(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return c
}

// reserve puts pages into the pool until the end of the test.
func reserve(t *testing.T, size lab.Pages, n int) {
	t.Helper()
	pools := lab.Pools{Dir: t.TempDir()}
	r, err := pools.Reserve(t.Context(), size, n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pools.GiveBack(context.Background(), r); err != nil {
			t.Error(err)
		}
	})
}

// tooMuch is more shared memory than the pool has free, with room for what other
// tests on this machine reserve meanwhile, yet less than the machine has.
func tooMuch(t *testing.T) string {
	t.Helper()
	m, err := probes.ReadMeminfo(probes.Roots{})
	if err != nil {
		t.Fatal(err)
	}
	const spare = 6 << 20 // kB
	size := uint64(available(t))*2048 + spare
	if m.MemAvailable == nil || size > *m.MemAvailable*3/4 {
		t.Skip("need: 8 GB of memory beyond the free huge pages")
	}
	return fmt.Sprintf("%dMB", size>>10)
}

func available(t *testing.T) int {
	t.Helper()
	p, err := lab.ReadPool(probes.Roots{}, lab.Pages2MB)
	if err != nil {
		t.Fatal(err)
	}
	return p.Available()
}

// connect opens pgtlb's watching session.
func connect(t *testing.T, c *lab.Cluster) *probes.Server {
	t.Helper()
	cfg, err := pgx.ParseConfig(c.DSN())
	if err != nil {
		t.Fatal(err)
	}
	s, err := probes.Connect(t.Context(), cfg, probes.Roots{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// ask runs one statement on a server as a person would, by a connection of its own.
func ask(t *testing.T, c *lab.Cluster, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	rows, err := conn.Query(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return strings.Join(all, " ")
}

func needed(t *testing.T, c *lab.Cluster) int {
	t.Helper()
	n, err := strconv.Atoi(ask(t, c, "SHOW shared_memory_size_in_huge_pages"))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func examine(t *testing.T, w doctor.Wanted) doctor.Exam {
	t.Helper()
	w.Tree = "/"
	s, err := doctor.Look(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	return doctor.Examine(s)
}

func check(t *testing.T, e doctor.Exam, id string) doctor.Check {
	t.Helper()
	for _, c := range e.Checks {
		if c.ID == id {
			return c
		}
	}
	t.Fatalf("no check %s", id)
	return doctor.Check{}
}

// says looks at the outcome of a check and for words in it.
func says(t *testing.T, e doctor.Exam, id string, status doctor.Status, words ...string) {
	t.Helper()
	c := check(t, e, id)
	if c.Status != status {
		t.Errorf("%s is %s, want %s: %s", id, c.Status, status, c.Found)
	}
	for _, w := range words {
		if !strings.Contains(c.Found, w) {
			t.Errorf("%s: %q is not in %q", id, w, c.Found)
		}
	}
}

// TestLab examines one real server in the states that it can be in, one after the
// other.
func TestLab(t *testing.T) {
	if testing.Short() {
		t.Skip("need: more time than -short leaves")
	}
	labtest.Pools(t)
	c := startLab(t, lab.Options{SharedBuffers: "64MB", Settings: map[string]string{"max_connections": "20"}})
	t.Run("off", func(t *testing.T) { off(t, c) })
	t.Run("fallback", func(t *testing.T) { fallBack(t, c) })
	t.Run("2MB", func(t *testing.T) { on2MB(t, c) })
	t.Run("1GB", func(t *testing.T) { on1GB(t, c) })
	t.Run("two clusters", func(t *testing.T) { twoClusters(t, c) })
	t.Run("too few", func(t *testing.T) { onTooFew(t, c) }) // leaves the server stopped
}

func restart(t *testing.T, c *lab.Cluster, ch lab.Change) {
	t.Helper()
	if err := c.Restart(t.Context(), ch, nil); err != nil {
		t.Fatal(err)
	}
}

// try asks for huge pages softly, and for more than there are.
func try(t *testing.T) lab.Change {
	t.Helper()
	return lab.Change{Pages: lab.Pages2MB, Settings: map[string]string{"huge_pages": "try", "shared_buffers": tooMuch(t)}}
}

func off(t *testing.T, c *lab.Cluster) {
	e := examine(t, doctor.Wanted{Server: connect(t, c)})
	h := e.HugePages
	if h.Requested != "off" || h.InUse != "off" || h.PageKB != 4 || h.Proof != "smaps KernelPageSize" {
		t.Errorf("%+v", h)
	}
	says(t, e, "huge_pages", doctor.OK, "huge_pages = off, pages of 4 kB in use", "not worth a change")
	says(t, e, "huge_pages_pay", doctor.OK, "they hardly pay in memory")
	if e.Bill.PageTablesKB == nil || *e.Bill.PageTablesKB == 0 {
		t.Errorf("page tables were not measured: %+v", e.Bill)
	}
}

// fallBack: the shortfall is exact, whatever others have in the pool.
func fallBack(t *testing.T, c *lab.Cluster) {
	needPool(t, lab.Pages2MB)
	reserve(t, lab.Pages2MB, 8)
	restart(t, c, try(t))
	s, need := connect(t, c), needed(t, c)
	for range 10 { // others may change the pool meanwhile
		before := available(t)
		e := examine(t, doctor.Wanted{Server: s})
		if available(t) != before {
			continue
		}
		short := need - before
		h := e.HugePages
		if h.Requested != "try" || h.InUse != "off" || h.Needed != need || h.Shortfall != short {
			t.Errorf("%+v, want %d needed, %d short", h, need, short)
		}
		words := probes.Number(float64(short)) + " pages of 2 MB short"
		says(t, e, "huge_pages", doctor.Fail, "FELL BACK to pages of 4 kB (proved: smaps KernelPageSize)", words)
		says(t, e, "pool_size", doctor.Fail, probes.Number(float64(need))+" pages of 2 MB")
		if !strings.HasPrefix(e.Verdict, "huge_pages=try FELL BACK to 4 kB: "+words) {
			t.Errorf("verdict %q", e.Verdict)
		}
		return
	}
	t.Error("the pool never stood still")
}

func on2MB(t *testing.T, c *lab.Cluster) {
	needPool(t, lab.Pages2MB)
	restart(t, c, lab.Change{Pages: lab.Pages2MB, Reserve: true})
	e := examine(t, doctor.Wanted{Server: connect(t, c)})
	h := e.HugePages
	if h.Requested != "on" || h.InUse != "on" || h.PageKB != 2048 || h.Needed != needed(t, c) || h.Shortfall != 0 {
		t.Errorf("%+v", h)
	}
	says(t, e, "huge_pages", doctor.OK, "pages of 2 MB in use (proved: smaps KernelPageSize)")
	says(t, e, "pool_size", doctor.OK, fmt.Sprintf("held by this server %d", h.Needed))
	if !strings.HasPrefix(e.Verdict, "huge pages of 2 MB are in use") {
		t.Errorf("verdict %q", e.Verdict)
	}
}

func on1GB(t *testing.T, c *lab.Cluster) {
	needPool(t, lab.Pages1GB)
	restart(t, c, lab.Change{Pages: lab.Pages1GB, Reserve: true})
	e := examine(t, doctor.Wanted{Server: connect(t, c)})
	if h := e.HugePages; h.InUse != "on" || h.PageKB != 1<<20 || h.WantedKB != 1<<20 || h.Needed != 1 || h.Shortfall != 0 {
		t.Errorf("%+v", h)
	}
	says(t, e, "last_page", doctor.Warn, "of the last page are free")
}

// twoClusters: another has the pool, this one falls back.
func twoClusters(t *testing.T, c *lab.Cluster) {
	needPool(t, lab.Pages2MB)
	holder := startLab(t, lab.Options{Pages: lab.Pages2MB, Reserve: true, SharedBuffers: "64MB"})
	restart(t, c, try(t))
	e := examine(t, doctor.Wanted{Server: connect(t, c)})
	held := fmt.Sprintf("%s (pid %d) holds %d pages of 2 MB", holder.Data(), holder.Pid(), needed(t, holder))
	says(t, e, "pool_clusters", doctor.Fail, held, probes.Number(float64(needed(t, c))), "short")
	says(t, e, "pool_holders", doctor.Warn, "this server lacks")
}

// onTooFew: the server does not start, and its log says what it needs.
func onTooFew(t *testing.T, c *lab.Cluster) {
	needPool(t, lab.Pages2MB)
	restart(t, c, lab.Change{Pages: lab.Pages4kB, Settings: map[string]string{"shared_buffers": tooMuch(t)}})
	need := needed(t, c)
	ask(t, c, "ALTER SYSTEM SET huge_pages = 'on'") // beats what the lab writes
	if err := c.Restart(t.Context(), lab.Change{Settings: map[string]string{"shared_buffers": tooMuch(t)}}, nil); err == nil {
		t.Fatal("the server started")
	}
	e := examine(t, doctor.Wanted{Log: filepath.Join(c.Dir(), "server.log")})
	says(t, e, "failed_start", doctor.Fail, "bytes of shared memory", probes.Number(float64(need))+" pages of 2 MB", "short")
	if !strings.HasPrefix(e.Verdict, "the server DID NOT START on huge pages: ") || e.HugePages.Needed != need {
		t.Errorf("verdict %q, %+v; %d needed", e.Verdict, e.HugePages, need)
	}
}
