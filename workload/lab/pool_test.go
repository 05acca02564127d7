package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pgtlb/probes"
)

func itoa(n int) string { return strconv.Itoa(n) }

// fakeHost is a machine in files: /proc and /sys with one 2 MB pool.
func fakeHost(t *testing.T, memKB, availKB int) Roots {
	t.Helper()
	if supported() != nil {
		t.Skip("need: Linux")
	}
	r := Roots{Proc: filepath.Join(t.TempDir(), "proc"), Sys: filepath.Join(t.TempDir(), "sys")}
	put := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put(r.ProcPath("meminfo"), fmt.Sprintf("MemTotal: %d kB\nMemFree: 1 kB\nMemAvailable: %d kB\nHugepagesize: 2048 kB\n", memKB, availKB))
	put(r.ProcPath("sys/kernel/random/boot_id"), "boot-1\n")
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	put(r.ProcPath(itoa(os.Getpid()), "stat"), string(stat))
	setFakePool(t, r, 0, 0, 0)
	return r
}

func setFakePool(t *testing.T, r Roots, total, free, reserved int) {
	t.Helper()
	dir := probes.PoolDir(r, Pages2MB.KB())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string]int{"nr_hugepages": total, "free_hugepages": free, "resv_hugepages": reserved, "surplus_hugepages": 0} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(itoa(n)+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func fakeTotal(t *testing.T, r Roots) int {
	t.Helper()
	p, err := ReadPool(r, Pages2MB)
	if err != nil {
		t.Fatal(err)
	}
	return p.Total
}

const gbKB = 1 << 20 // 1 GB in kB

func TestGiveBackSubtractsOnlyItsOwn(t *testing.T) {
	for name, tc := range map[string]struct {
		total, free, reserved int // what others made of the pool of 10 + 20 meanwhile
		want                  int
		left                  int
	}{
		"untouched":         {30, 30, 0, 10, 0},
		"grown by somebody": {50, 50, 0, 30, 0},
		"shrunk":            {15, 15, 0, 0, 5},
		// The kernel leaves pages that are used or promised as surplus ones until their user ends.
		"in use":   {30, 5, 0, 10, 0},
		"promised": {30, 20, 18, 10, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := fakeHost(t, 8*gbKB, 6*gbKB)
			setFakePool(t, r, 10, 10, 0)
			p := Pools{Roots: r, Dir: t.TempDir()}
			res, err := p.Reserve(t.Context(), Pages2MB, 20)
			if err != nil || res.Added != 20 || fakeTotal(t, r) != 30 {
				t.Fatalf("%+v, %v, total %d", res, err, fakeTotal(t, r))
			}
			setFakePool(t, r, tc.total, tc.free, tc.reserved)
			err = p.GiveBack(t.Context(), res)
			if got := fakeTotal(t, r); got != tc.want {
				t.Errorf("total %d, want %d (%v)", got, tc.want, err)
			}
			j, readErr := p.read()
			if readErr != nil {
				t.Fatal(readErr)
			}
			if tc.left == 0 && (err != nil || len(j.Reservations) != 0) {
				t.Errorf("error %v, journal %+v", err, j)
			}
			if tc.left > 0 && (err == nil || len(j.Reservations) != 1 || j.Reservations[0].Added != tc.left) {
				t.Errorf("error %v, journal %+v, want %d left", err, j, tc.left)
			}
		})
	}
}

func TestReserveRefusesToStarveTheMachine(t *testing.T) {
	r := fakeHost(t, 8*gbKB, 2*gbKB) // 0.8 GB must stay
	p := Pools{Roots: r, Dir: t.TempDir()}
	if _, err := p.Reserve(t.Context(), Pages2MB, 800); err == nil || !strings.Contains(err.Error(), "must stay") {
		t.Errorf("error %v", err)
	}
	if fakeTotal(t, r) != 0 {
		t.Error("the pool was changed")
	}
	if _, err := p.Reserve(t.Context(), Pages2MB, 500); err != nil {
		t.Error(err)
	}
	if _, err := p.Reserve(t.Context(), Pages1GB, 1); !errors.Is(err, ErrNoPool) {
		t.Errorf("error %v", err)
	}
}

func TestRecoverAfterACrash(t *testing.T) {
	for name, tc := range map[string]struct {
		edit  func(*Reservation)
		total int // before Recover
		want  int
		lines int
	}{
		"owner alive":       {func(*Reservation) {}, 30, 30, 0},
		"owner gone":        {func(r *Reservation) { r.Owner.Start++ }, 30, 10, 1},
		"before the write":  {func(r *Reservation) { r.Owner.Start++; r.Done = false }, 10, 10, 1},
		"half of it":        {func(r *Reservation) { r.Owner.Start++; r.Done = false }, 22, 10, 1},
		"another boot":      {func(r *Reservation) { r.Owner.Boot = "boot-0" }, 30, 30, 0},
		"another container": {func(r *Reservation) { r.Owner.Start++; r.Owner.Namespace = "pid:[1]" }, 30, 30, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := fakeHost(t, 8*gbKB, 6*gbKB)
			setFakePool(t, r, 10, 10, 0)
			p := Pools{Roots: r, Dir: t.TempDir()}
			if _, err := p.Reserve(t.Context(), Pages2MB, 20); err != nil {
				t.Fatal(err)
			}
			j, err := p.read()
			if err != nil {
				t.Fatal(err)
			}
			tc.edit(&j.Reservations[0])
			if err := p.save(*j); err != nil {
				t.Fatal(err)
			}
			setFakePool(t, r, tc.total, tc.total, 0)
			lines, err := p.Recover(t.Context())
			if err != nil || len(lines) != tc.lines || fakeTotal(t, r) != tc.want {
				t.Errorf("%q, %v, total %d, want %d", lines, err, fakeTotal(t, r), tc.want)
			}
			if again, err := p.Recover(t.Context()); err != nil || len(again) != 0 || fakeTotal(t, r) != tc.want {
				t.Errorf("second time: %q, %v, total %d", again, err, fakeTotal(t, r))
			}
		})
	}
}

func TestReadMemory(t *testing.T) {
	r := fakeHost(t, 8*gbKB, 6*gbKB)
	m, err := readMemory(r)
	if err != nil || m.Total != 8<<30 || m.Available != 6<<30 || m.HugepageKB != 2048 {
		t.Fatalf("%+v, %v", m, err)
	}
	if got := defaultBuffers(m); got != 1536<<20 {
		t.Errorf("default %d MB", got>>20)
	}
	if got := defaultBuffers(memory{Available: 100 << 30}); got != 2<<30 {
		t.Errorf("default %d MB", got>>20)
	}
	// A memory cgroup two levels up leaves less.
	for path, text := range map[string]string{
		r.ProcPath("self/cgroup"):                 "0::/a/b\n",
		r.SysPath("fs/cgroup/a/memory.max"):       itoa(1 << 30),
		r.SysPath("fs/cgroup/a/memory.current"):   itoa(256 << 20),
		r.SysPath("fs/cgroup/a/b/memory.max"):     "max",
		r.SysPath("fs/cgroup/a/b/memory.current"): itoa(200 << 20),
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if m, err := readMemory(r); err != nil || m.Available != 768<<20 {
		t.Errorf("in the cgroup: %+v, %v", m, err)
	}
}

func TestHugetlbLimit(t *testing.T) {
	r := fakeHost(t, 8*gbKB, 6*gbKB)
	if _, ok := cgroupHugetlbLeft(r, Pages2MB); ok {
		t.Error("a limit out of nothing")
	}
	for path, text := range map[string]string{
		r.ProcPath("self/cgroup"):                                   "9:cpu,hugetlb:/x\n0::/a\n",
		r.SysPath("fs/cgroup/hugetlb/x/hugetlb.2MB.limit_in_bytes"): itoa(900 << 20),
		r.SysPath("fs/cgroup/hugetlb/x/hugetlb.2MB.usage_in_bytes"): "0",
		r.SysPath("fs/cgroup/a/hugetlb.2MB.max"):                    "max",
		r.SysPath("fs/cgroup/a/hugetlb.2MB.current"):                "0",
		r.SysPath("fs/cgroup/a/hugetlb.2MB.rsvd.max"):               itoa(512 << 20),
		r.SysPath("fs/cgroup/a/hugetlb.2MB.rsvd.current"):           itoa(64 << 20),
		r.SysPath("fs/cgroup/a/hugetlb.1GB.max"):                    "0",
		r.SysPath("fs/cgroup/a/hugetlb.1GB.current"):                "0",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if left, ok := cgroupHugetlbLeft(r, Pages2MB); !ok || left != 448<<20 {
		t.Errorf("2 MB: %d MB, %v", left>>20, ok)
	}
	if left, ok := cgroupHugetlbLeft(r, Pages1GB); !ok || left != 0 {
		t.Errorf("1 GB: %d, %v", left, ok)
	}
	p := Preflight{Size: Pages2MB, Need: 300, Limit: 224, Reason: "r", Remedy: "m"}
	if short := (*ShortPool)(nil); p.Err() == nil || errors.As(p.Err(), &short) {
		t.Errorf("error %v", p.Err())
	}
}
