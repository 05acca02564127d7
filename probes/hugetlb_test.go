package probes

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// hugetlbTree is a machine with a server on 2 MB pages, another program, and a
// file in a hugetlbfs that nothing has mapped.
func hugetlbTree(t *testing.T) Roots {
	t.Helper()
	tree := t.TempDir()
	put := func(path, text string) {
		t.Helper()
		path = filepath.Join(tree, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	process := func(pid, parent int, name, title string, hugetlbKB int, maps, smaps string) {
		put(fmt.Sprintf("proc/%d/status", pid), fmt.Sprintf(
			"Name:\t%s\nPid:\t%d\nUid:\t26\t26\t26\t26\nVmPTE:\t8 kB\nRssAnon:\t1 kB\nRssShmem:\t1 kB\nHugetlbPages:\t%d kB\n", name, pid, hugetlbKB))
		put(fmt.Sprintf("proc/%d/stat", pid), fmt.Sprintf("%d (x) S %d 1 1 0 -1 0 1 0 1 0 1 1 0 0 20 0 1 0 %d 1 1 1\n", pid, parent, 10*pid))
		put(fmt.Sprintf("proc/%d/cmdline", pid), strings.ReplaceAll(title, " ", "\x00"))
		put(fmt.Sprintf("proc/%d/maps", pid), maps)
		put(fmt.Sprintf("proc/%d/smaps", pid), smaps)
	}
	const program = "55da8e438000-55da8e43a000 rw-p 00000000 fe:00 1234 /usr/lib/postgresql/17/bin/postgres\n"
	const shared = "7f0000000000-7f0010000000 rw-s 00000000 00:0f 99 /anon_hugepage (deleted)\n"
	const fields = "Size: 262144 kB\nKernelPageSize: 2048 kB\nVmFlags: rd wr sh ht sd\n"
	process(100, 1, "postgres", "/usr/bin/postgres -D /srv/data", 4096, program+shared, program+"KernelPageSize: 4 kB\nVmFlags: rd wr\n"+shared+fields)
	// Only the first process of a server is asked for its smaps: these have none.
	process(101, 100, "postgres", "postgres: checkpointer", 2048, program+shared, "")
	process(102, 100, "postgres", "postgres: bob shop [local] idle", 0, program+shared, "")
	reserved := "7f0000000000-7f0000800000 rw-s 00000000 00:0f 7 /anon_hugepage (deleted)\n"
	process(200, 1, "dpdk app", "dpdk", 0, reserved, reserved+"KernelPageSize: 2048 kB\nVmFlags: rd wr sh ht\n")
	small := "7f0000000000-7f0000800000 rw-s 00000000 00:01 8 /dev/zero (deleted)\n"
	process(300, 1, "other", "other", 0, small, small+"KernelPageSize: 4 kB\nVmFlags: rd wr sh\n")
	put("proc/self/mountinfo", "30 1 0:44 / /dev/huge\\040pages rw shared:9 - hugetlbfs hugetlbfs rw,pagesize=2M\n31 1 0:5 / /proc rw - proc proc rw\n")
	put("proc/self/mounts", "")
	put("dev/huge pages/left", strings.Repeat("x", 8192))
	put("proc/sysvipc/shm", "       key      shmid perms                  size  cpid  lpid nattch   uid                   rss                  swap\n"+
		"  1  5   600   56  1  1  0  26   4096  0\n  2  6   600   4194304  1  1  0  26   4194304  0\n")
	for name, n := range map[string]string{"nr_hugepages": "200", "free_hugepages": "10", "resv_hugepages": "0", "surplus_hugepages": "0"} {
		put("sys/kernel/mm/hugepages/hugepages-2048kB/"+name, n+"\n")
	}
	return Roots{Proc: filepath.Join(tree, "proc"), Sys: filepath.Join(tree, "sys")}
}

func TestHugetlbHolders(t *testing.T) {
	u, err := HugetlbHolders(hugetlbTree(t))
	if err != nil {
		t.Fatal(err)
	}
	want := []HugetlbProcess{
		{Pid: 100, StartTicks: 1000, Name: "postgres", UID: 26, HugetlbKB: 4096, Postmaster: 100, DataDir: "/srv/data"},
		{Pid: 101, StartTicks: 1010, Name: "postgres: checkpointer", UID: 26, HugetlbKB: 2048, Postmaster: 100, DataDir: "/srv/data"},
		{Pid: 102, StartTicks: 1020, Name: "postgres: bob shop [local] idle", UID: 26, Postmaster: 100, DataDir: "/srv/data"},
		{Pid: 200, StartTicks: 2000, Name: "dpdk app", UID: 26},
	}
	if !reflect.DeepEqual(u.Processes, want) {
		t.Errorf("processes %+v", u.Processes)
	}
	if len(u.Memory) < 2 {
		t.Fatalf("memory %+v", u.Memory)
	}
	first, second := u.Memory[0], u.Memory[1]
	if first.SizeKB != 256<<10 || first.Kind != HugetlbAnonymous || first.PageKB != 2048 || first.Inode != 99 || !reflect.DeepEqual(first.Pids, []int{100, 101, 102}) {
		t.Errorf("the server's memory %+v", first)
	}
	if second.SizeKB != 8<<10 || !reflect.DeepEqual(second.Pids, []int{200}) {
		t.Errorf("reserved and not touched: %+v", second)
	}
	if runtime.GOOS == "linux" {
		file := u.Memory[len(u.Memory)-1]
		if file.Kind != HugetlbFile || file.Name != "/dev/huge pages/left" || file.PageKB != 2048 || file.SizeKB != 8 || file.TouchedKB == nil || file.Pids != nil {
			t.Errorf("the file that nothing has mapped: %+v", file)
		}
	}
	// The 56 bytes that each server keeps are no huge page.
	if len(u.Limits) != 1 || !strings.Contains(u.Limits[0], "1 System V segments with 4096 kB") || u.Unread != 0 {
		t.Errorf("limits %q, %d unread", u.Limits, u.Unread)
	}
}

func TestHugetlbMounts(t *testing.T) {
	got := hugetlbMounts("24 1 0:20 / /dev/hugepages rw,relatime shared:2 - hugetlbfs hugetlbfs rw,gid=5,pagesize=1024M\n" +
		"25 1 0:21 / /mnt/h rw - hugetlbfs none rw,size=1G,pagesize=64K\n26 1 0:22 / / rw - ext4 /dev/vda rw\nnonsense\n")
	if want := []hugetlbMount{{"/dev/hugepages", 1 << 20}, {"/mnt/h", 64}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	for in, want := range map[string]int{"2M": 2048, "1G": 1 << 20, "": 0, "M": 0, "2T": 0, "x2M": 0} {
		if n := sizeKB(in); n != want {
			t.Errorf("%q is %d kB", in, n)
		}
	}
}

func TestDataDirOption(t *testing.T) {
	for in, want := range map[string]string{
		"postgres -D /srv/a -p 5433": "/srv/a", "/x/postgres -D/srv/b": "/srv/b", "postgres --data-directory=/c": "/c", "postgres -D": "", "postgres": "",
	} {
		if got := dataDirOption(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func FuzzParseMappings(f *testing.F) {
	f.Add("7f0000000000-7f0010000000 rw-s 00000000 00:0f 99 /anon_hugepage (deleted)\nKernelPageSize: 2048 kB\nVmFlags: ht\n")
	f.Fuzz(func(t *testing.T, s string) {
		found, err := parseMappings(strings.NewReader(s))
		for _, m := range found {
			if err == nil && (m.inode == 0 && !strings.HasPrefix(m.name, "/SYSV") || m.dev == "" || m.name == "") {
				t.Fatalf("%q gives %+v", s, m)
			}
		}
		hugetlbMounts(s)
		parseSysV(s)
	})
}

// TestFirstSegmentIsSeen: the shmid of the first System V segment is 0, and so is
// the inode of its mapping.
func TestFirstSegmentIsSeen(t *testing.T) {
	found, err := parseMappings(strings.NewReader("7f0000000000-7f0000400000 rw-s 00000000 00:0f 0 /SYSV00000000 (deleted)\nKernelPageSize: 2048 kB\nVmFlags: rd wr sh ht\n" +
		"7f1000000000-7f1000400000 rw-p 00000000 00:00 0 [heap]\nKernelPageSize: 4 kB\nVmFlags: rd wr\n"))
	if err != nil || len(found) != 1 || found[0].inode != 0 || found[0].kind() != HugetlbSysV || !found[0].huge {
		t.Errorf("%+v, %v", found, err)
	}
}
