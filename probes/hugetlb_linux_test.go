package probes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pgtlb/probes"
	"pgtlb/workload/lab"
)

const hugePage = 2 << 20

// somePages has pages of 2 MB in the pool until the test ends.
func somePages(t *testing.T, n int) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("need: root, to reserve huge pages")
	}
	if _, err := probes.ReadPool(probes.SystemRoots(), 2048); err != nil {
		t.Skipf("need: a kernel with 2 MB huge pages: %v", err)
	}
	pools := lab.Pools{Dir: t.TempDir()}
	res, err := pools.Reserve(t.Context(), lab.Pages2MB, n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pools.GiveBack(t.Context(), res); err != nil {
			t.Error(err)
		}
	})
}

func hugeMemory(t *testing.T, fd, size, flags int) []byte {
	t.Helper()
	b, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|flags)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(b); err != nil {
			t.Error(err)
		}
	})
	return b
}

// TestHugetlbHoldersOfThisMachine: memory that is touched, memory that is only
// reserved, and a file that stays when nothing has it mapped.
func TestHugetlbHoldersOfThisMachine(t *testing.T) {
	somePages(t, 8)
	hugeMemory(t, -1, 2*hugePage, unix.MAP_ANONYMOUS|unix.MAP_HUGETLB)[0] = 1
	fd, err := unix.MemfdCreate("of the test", unix.MFD_HUGETLB|unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Ftruncate(fd, 3*hugePage); err != nil {
		t.Fatal(err)
	}
	hugeMemory(t, fd, 3*hugePage, 0) // reserved only
	mount := t.TempDir()
	if err := unix.Mount("hugetlbfs", mount, "hugetlbfs", 0, "pagesize=2M"); err != nil {
		t.Skipf("need: the right to mount a hugetlbfs (%v)", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(mount, 0); err != nil {
			t.Error(err)
		}
	})
	left := filepath.Join(mount, "left")
	f, err := os.Create(left)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(2 * hugePage); err != nil {
		t.Fatal(err)
	}
	b, err := unix.Mmap(int(f.Fd()), 0, 2*hugePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	b[0] = 1
	if err := unix.Munmap(b); err != nil {
		t.Fatal(err)
	}

	u, err := probes.HugetlbHolders(probes.SystemRoots())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(u.Processes, func(p probes.HugetlbProcess) bool { return p.Pid == os.Getpid() })
	if i < 0 {
		t.Fatalf("this process is not among %+v", u.Processes)
	}
	if p := u.Processes[i]; p.HugetlbKB != 2048 || p.User != "root" || p.Postmaster != 0 || p.Name == "" {
		t.Errorf("%+v", p)
	}
	own := slices.DeleteFunc(slices.Clone(u.Memory), func(m probes.HugetlbMemory) bool { return !slices.Contains(m.Pids, os.Getpid()) })
	find := func(in []probes.HugetlbMemory, name string) probes.HugetlbMemory {
		t.Helper()
		for _, m := range in {
			if strings.HasPrefix(m.Name, name) {
				return m
			}
		}
		t.Fatalf("no %s in %+v", name, in)
		return probes.HugetlbMemory{}
	}
	if m := find(own, "/anon_hugepage"); m.SizeKB != 4096 || m.PageKB != 2048 || m.Kind != probes.HugetlbAnonymous {
		t.Errorf("%+v", m)
	}
	if m := find(own, "/memfd:of the test"); m.SizeKB != 6144 || m.Kind != probes.HugetlbFile {
		t.Errorf("%+v", m)
	}
	if m := find(u.Memory, left); m.SizeKB != 4096 || m.TouchedKB == nil || *m.TouchedKB != 2048 || len(m.Pids) != 0 {
		t.Errorf("%+v", m)
	}
}

// TestHugetlbHoldersWithoutRights: another account sees who has touched huge
// pages, and is told what it does not see.
func TestHugetlbHoldersWithoutRights(t *testing.T) {
	somePages(t, 2)
	hugeMemory(t, -1, hugePage, unix.MAP_ANONYMOUS|unix.MAP_HUGETLB)[0] = 1
	out := asNobody(t, "holders")
	if !strings.Contains(out, fmt.Sprintf("pid %d has 2048 kB", os.Getpid())) || !strings.Contains(out, "cap_sys_ptrace") {
		t.Error(out)
	}
}

// printHolders is what TestHugetlbHoldersWithoutRights runs as another account.
func printHolders() error {
	u, err := probes.HugetlbHolders(probes.SystemRoots())
	for _, p := range u.Processes {
		fmt.Printf("pid %d has %d kB\n", p.Pid, p.HugetlbKB)
	}
	fmt.Println(u.Limits)
	return err
}
