package probes

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// tree is a made-up /proc with a postmaster and its children. Its files are those
// of a directory: cheaper to read than the kernel's, which are made when they are
// read, so it measures pgtlb's own part.
type tree struct {
	roots    Roots
	children []int
	ran      map[int]uint64 // run time of each child, ns
}

// treePostmaster is the postmaster's pid, and treeStart when it and all started.
const treePostmaster, treeStart = 1000, 5000

func newTree(tb testing.TB, n int) *tree {
	tb.Helper()
	t := &tree{roots: Roots{Proc: tb.TempDir(), Sys: tb.TempDir()}, ran: map[int]uint64{}}
	t.files(tb, treePostmaster, "/usr/lib/postgresql/15/bin/postgres\x00-D\x00/srv/pgdata\x00")
	for i := range n {
		t.fork(tb, treePostmaster+1+i)
	}
	t.list(tb)
	return t
}

func (t *tree) postmaster() postmaster { return postmaster{treePostmaster, treeStart} }

// fork adds a child that is an idle session.
func (t *tree) fork(tb testing.TB, pid int) {
	tb.Helper()
	t.children = append(t.children, pid)
	t.files(tb, pid, "postgres: web shop [local] idle"+strings.Repeat("\x00", 40))
}

// end takes a child away.
func (t *tree) end(tb testing.TB, pid int) {
	tb.Helper()
	if err := os.RemoveAll(t.roots.ProcPath(strconv.Itoa(pid))); err != nil {
		tb.Fatal(err)
	}
	for i, c := range t.children {
		if c == pid {
			t.children = append(t.children[:i], t.children[i+1:]...)
			return
		}
	}
}

// list writes the postmaster's list of children.
func (t *tree) list(tb testing.TB) {
	tb.Helper()
	var b strings.Builder
	for _, pid := range t.children {
		fmt.Fprintf(&b, "%d ", pid)
	}
	t.put(tb, treePostmaster, filepath.Join("task", strconv.Itoa(treePostmaster), "children"), b.String())
}

func (t *tree) put(tb testing.TB, pid int, name, text string) {
	tb.Helper()
	path := t.roots.ProcPath(strconv.Itoa(pid), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}

func (t *tree) files(tb testing.TB, pid int, title string) {
	tb.Helper()
	t.put(tb, pid, "cmdline", title)
	t.put(tb, pid, "status", fmt.Sprintf("Name:\tpostgres\nUmask:\t0077\nState:\tS (sleeping)\nTgid:\t%[1]d\nPid:\t%[1]d\nPPid:\t1000\nNSpid:\t%[1]d\n"+
		"VmPeak:\t 6490428 kB\nVmRSS:\t  14000 kB\nRssAnon:\t    3112 kB\nRssShmem:\t   8000 kB\nVmPTE:\t     268 kB\nVmSwap:\t       0 kB\n"+
		"HugetlbPages:\t       0 kB\nThreads:\t1\nSigQ:\t0/96000\nvoluntary_ctxt_switches:\t12\n", pid))
	t.run(tb, pid)
}

// run lets a process work for a while.
func (t *tree) run(tb testing.TB, pid int) {
	tb.Helper()
	t.ran[pid] += 12_000_000
	ticks := t.ran[pid] / 10_000_000
	t.put(tb, pid, "stat", fmt.Sprintf("%d (postgres) S 1000 1000 1000 0 -1 4194560 %d 0 7 0 %d 1 0 0 20 0 1 0 %d 3133440 407 1844 1 2\n", pid, 900+3*ticks, ticks, treeStart))
	t.put(tb, pid, "schedstat", fmt.Sprintf("%d 1200 %d\n", t.ran[pid], ticks))
}
