package probes

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func fixture(name string) Roots {
	return Roots{Proc: filepath.Join("testdata", name, "proc"), Sys: filepath.Join("testdata", name, "sys")}
}

// readAll opens the host probes over the roots and returns every reading by
// "id" or "id/label" and every miss by id.
func readAll(t *testing.T, roots Roots, faults bool) (values map[string]float64, missing map[string]string) {
	t.Helper()
	opened, misses := HostProbes(roots, faults)
	values, missing = map[string]float64{}, map[string]string{}
	for _, m := range misses {
		missing[m.ID] = m.Reason
	}
	for _, p := range opened {
		b, err := p.Read(context.Background())
		if err != nil {
			t.Errorf("%s: %v", p.Name(), err)
		}
		for _, r := range b.Readings {
			key := r.ID
			if r.Label != "" {
				key += "/" + r.Label
			}
			values[key] = r.Value
			if !slices.ContainsFunc(p.Metrics(), func(m Metric) bool { return m.ID == r.ID }) {
				t.Errorf("%s reads %s and does not list it", p.Name(), r.ID)
			}
		}
		if err := p.Close(); err != nil {
			t.Errorf("%s: %v", p.Name(), err)
		}
	}
	return values, missing
}

func TestHostProbesReadEveryFileOfAnX86Machine(t *testing.T) {
	values, missing := readAll(t, fixture("amd64"), true)
	want := map[string]float64{
		PageTables: 45568, SecPageTables: 0, MemTotal: 24683620, MemAvailable: 24272096, AnonHuge: 4096, ShmemHuge: 0,
		THPFaultAlloc: 17, CompactStall: 5, PageFaults: 3777720, PageFaultsMajor: 1096, PageFaultsMinor: 3776624,
		TLBShootdowns: 2603,
		CPUUser:       116, CPUKernel: 80.27, CPUIdle: 1390.77, CPUSteal: 0.42, RunQueue: 3,
		PSICPU: 41476024, PSIMemory: 17, PSIIO: 8537362,
		// 50 pages of 2 MB and two of 1 GB are touched.
		HugetlbUsed:           50*2048 + 2*1048576,
		PoolTotal + "/2048kB": 1100, PoolFree + "/2048kB": 1050, PoolReserved + "/2048kB": 64, PoolSurplus + "/2048kB": 2,
		PoolTotal + "/1048576kB": 3, PoolFree + "/1048576kB": 1, PoolReserved + "/1048576kB": 1, PoolSurplus + "/1048576kB": 0,
	}
	if !maps.Equal(values, want) {
		for _, k := range slices.Sorted(maps.Keys(want)) {
			if v, ok := values[k]; !ok || v != want[k] {
				t.Errorf("%s = %v (there: %v), want %v", k, v, ok, want[k])
			}
		}
		t.Errorf("%d readings, want %d", len(values), len(want))
	}
	if len(missing) != 0 {
		t.Errorf("missing %v", missing)
	}
}

func TestHostProbesSayWhatAnOlderARMKernelLacks(t *testing.T) {
	values, missing := readAll(t, fixture("arm64"), false)
	for id, part := range map[string]string{
		TLBShootdowns: "only on x86",
		PSICPU:        "psi=0", PSIMemory: "psi=0", PSIIO: "psi=0",
		MemAvailable: "3.14", SecPageTables: "6.1", AnonHuge: "TRANSPARENT_HUGEPAGE", ShmemHuge: "4.8",
		CompactStall: "CONFIG_COMPACTION", THPFaultAlloc: "thp_fault_alloc",
		CPUSteal: "", RunQueue: "",
	} {
		why, ok := missing[id]
		if !ok || !strings.Contains(why, part) {
			t.Errorf("missing[%s] = %q (there: %v), want it to say %q", id, why, ok, part)
		}
		if v, ok := values[id]; ok {
			t.Errorf("%s has the reading %v though it is missing", id, v)
		}
	}
	for id, want := range map[string]float64{PageTables: 5120, CPUUser: 0.1, PoolTotal + "/2048kB": 8, PoolTotal + "/64kB": 0, HugetlbUsed: 0} {
		if v, ok := values[id]; !ok || v != want {
			t.Errorf("%s = %v (there: %v), want %v", id, v, ok, want)
		}
	}
	if _, ok := values[PageFaults]; ok {
		t.Error("page faults were read from vmstat though nobody asked for them")
	}
}

func TestHostProbesOverNothing(t *testing.T) {
	empty := t.TempDir()
	opened, missing := HostProbes(Roots{Proc: filepath.Join(empty, "proc"), Sys: filepath.Join(empty, "sys")}, true)
	if len(opened) != 0 {
		t.Errorf("%d probes opened over an empty directory", len(opened))
	}
	var ids []string
	for _, m := range missing {
		ids = append(ids, m.ID)
		if m.Reason == "" {
			t.Errorf("%s is missing without a reason", m.ID)
		}
	}
	for _, id := range []string{PageTables, PageFaults, CompactStall, HugetlbUsed, TLBShootdowns, CPUUser, RunQueue, PSICPU} {
		if !slices.Contains(ids, id) {
			t.Errorf("%s is neither read nor missing", id)
		}
	}
}

func TestSourceThatGoesAwayIsAMiss(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "vmstat")
	if err := os.WriteFile(path, []byte("thp_fault_alloc 1\ncompact_stall 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, missing := openVMStat(Roots{Proc: dir}, false)
	if p == nil || len(missing) != 0 {
		t.Fatalf("opened %v, missing %v", p, missing)
	}
	if err := os.WriteFile(path, []byte("compact_stall 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := p.Read(context.Background())
	if err != nil || len(b.Readings) != 1 || len(b.Misses) != 1 || b.Misses[0].ID != THPFaultAlloc {
		t.Errorf("one counter gone: %+v, %v", b, err)
	}
	if err := errors.Join(p.Close(), os.Remove(path)); err != nil {
		t.Fatal(err)
	}
	b, err = p.Read(context.Background())
	if !errors.Is(err, ErrUnavailable) || len(b.Readings) != 0 || len(b.Misses) != 2 {
		t.Errorf("file gone: %+v, %v", b, err)
	}
}

func TestHostProbesOnThisMachine(t *testing.T) {
	if _, err := os.Stat("/proc/meminfo"); err != nil {
		t.Skip("need: /proc of a Linux kernel")
	}
	values, missing := readAll(t, SystemRoots(), true)
	for _, id := range []string{PageTables, MemTotal, CPUUser, CPUIdle, PageFaults, PageFaultsMinor, RunQueue} {
		if values[id] <= 0 && id != PageFaultsMajor {
			t.Errorf("%s = %v, missing because %q", id, values[id], missing[id])
		}
	}
}

func TestReadHost(t *testing.T) {
	h, err := ReadHost(fixture("amd64"))
	if err != nil {
		t.Error(err)
	}
	if h.Hostname != "db1" || h.Kernel != "6.12.48-amd64" || h.CPUs != 2 || h.MemTotalKB != 24683620 ||
		h.CPUModel != "Intel(R) Xeon(R) CPU E5-2697 v2 @ 2.70GHz" || !h.BootTime.Equal(time.Unix(1796038000, 0)) {
		t.Errorf("host %+v", h)
	}
	if want := "virtual machine (QEMU Standard PC (Q35 + ICH9, 2009))"; h.Virtual != want {
		t.Errorf("virtual %q, want %q", h.Virtual, want)
	}
	if want := map[string]string{"enabled": "madvise", "defrag": "madvise", "shmem_enabled": "never"}; !maps.Equal(h.THP, want) {
		t.Errorf("THP %v, want %v", h.THP, want)
	}
	if want := []Pool{{2048, 1100, 1050, 64, 2}, {1048576, 3, 1, 1, 0}}; !slices.Equal(h.Pools, want) {
		t.Errorf("pools %v, want %v", h.Pools, want)
	}

	h, err = ReadHost(fixture("arm64"))
	if err != nil {
		t.Error(err)
	}
	if h.CPUModel != "ARM Neoverse-N1" || h.Virtual != "container (kubepods)" || h.THP["enabled"] != "always" || len(h.Pools) != 4 {
		t.Errorf("host %+v", h)
	}

	if h, err = ReadHost(Roots{Proc: t.TempDir(), Sys: t.TempDir()}); err == nil || h.CPUModel != "" || h.Arch == "" {
		t.Errorf("an empty proc gives %+v, %v", h, err)
	}
}

func TestReadPoolsRefusesWhatIsNoNumber(t *testing.T) {
	sys := t.TempDir()
	dir := filepath.Join(sys, "kernel/mm/hugepages/hugepages-2048kB")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"nr_hugepages", "free_hugepages", "resv_hugepages"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("7\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ReadPools(Roots{Sys: sys}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a file that is not there gives %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "surplus_hugepages"), []byte("many\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := ReadPools(Roots{Sys: sys}); err == nil {
		t.Errorf("a file without a number gives %v", p)
	}
}
