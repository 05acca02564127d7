package probes

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestFindClusters: the parents of server processes, but for those that are no
// postmaster; what may not be seen of one is said.
func TestFindClusters(t *testing.T) {
	dir := t.TempDir()
	file := func(pid int, name, text string) {
		path := filepath.Join(dir, strconv.Itoa(pid), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	process := func(pid, parent int, title string) {
		file(pid, "cmdline", title)
		file(pid, "stat", fmt.Sprintf("%d (x) S %d 0 0 0 0 0 1 0 1 0 0 0 0 0 0 0 0 0 0 %d 0", pid, parent, pid))
	}
	const smaps = "7f10-7f20 rw-s 00000000 00:01 17 %s\nSize: %d kB\nKernelPageSize: %d kB\nShmemPmdMapped: %d kB\n"
	process(1, 0, "/sbin/init")
	process(10, 1, "/usr/lib/postgresql/15/bin/postgres\x00-D\x00/srv/a\x00-c\x00port=1")
	file(10, "smaps", fmt.Sprintf(smaps, "/anon_hugepage (deleted)", 4096, 2048, 0))
	file(10, "status", "Pid:\t10\nVmPTE: 4 kB\nHugetlbPages: 2048 kB\nRssShmem: 0 kB\nRssAnon: 1 kB\n")
	process(11, 10, "postgres: checkpointer ")
	process(12, 10, "postgres: app shop [local] idle")
	process(20, 1, "/usr/pgsql-13/bin/postmaster\x00--data-directory=/srv/b")
	process(21, 20, "postgres: b: walwriter ")
	process(30, 1, "postgres: orphan [local] idle") // of a postmaster that died
	process(40, 1, "/usr/bin/vim\x00postgres.conf")
	process(41, 40, "/bin/sh")
	got, err := FindClusters(Roots{Proc: dir})
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if want := (Cluster{Pid: 10, DataDir: "/srv/a", PageKB: 2048, SizeKB: 4096, HugetlbKB: 2048}); got[0] != want {
		t.Errorf("%+v, want %+v", got[0], want)
	}
	if b := got[1]; b.Pid != 20 || b.DataDir != "/srv/b" || b.PageKB != 0 || !strings.Contains(b.Unseen, "ended, or is hidden") {
		t.Errorf("%+v", b)
	}
	if _, err := FindClusters(Roots{Proc: filepath.Join(dir, "missing")}); err == nil {
		t.Error("no error without processes")
	}
}
