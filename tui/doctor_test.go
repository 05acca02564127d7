package tui

import (
	"strings"
	"testing"

	"pgtlb/probes"
	"pgtlb/probes/doctor"
	"pgtlb/workload/trial"
)

// demoExam is an exam of a server that fell back to small pages.
func demoExam() *doctor.Exam {
	tables := uint64(431_104)
	return &doctor.Exam{
		Taken: epoch, Host: probes.Host{Hostname: "db1", OS: "Debian GNU/Linux 13 (trixie)", Kernel: "6.12.48", CPUs: 8, MemTotalKB: 32 << 20},
		Server:  "PostgreSQL 17.6 on socket /run/postgresql:5432",
		Verdict: "huge_pages=try FELL BACK to 4 kB: 44 pages of 2 MB short; 1 GB reserved in the pool is used by nobody",
		Checks: []doctor.Check{
			{ID: "thp", Status: doctor.OK, Title: "Transparent huge pages", Found: "enabled is madvise, defrag is madvise"},
			{ID: "pool_size", Status: doctor.Fail, Title: "Huge pages needed and in the pool",
				Found:    "556 pages of 2 MB (1.09 GB) needed, 512 available (pool 512, free 512, of these reserved 0): 44 short",
				Expected: "the pool has all pages of the shared memory", Why: "The whole shared memory counts (shared_memory_size), not shared_buffers alone.",
				Fix:  []string{"sysctl -w vm.nr_hugepages=556", "cat /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages   # must print 556"},
				Undo: []string{"sysctl -w vm.nr_hugepages=512"}, UndoFirst: true, Takes: doctor.TakesRestart,
				Sources: []string{"SHOW shared_memory_size_in_huge_pages", "/sys/kernel/mm/hugepages"}},
			{ID: "swap", Status: doctor.Warn, Title: "Swap in use", Found: "1.2 GB of swap is used", Why: "A page of shared buffers that was swapped out costs a read."},
			{ID: "perf_hardware", Status: doctor.Unknown, Title: "Hardware counters", Found: "this machine has no hardware counters (PMU)"},
			{ID: "semaphores", Status: doctor.NotHere, Title: "Semaphores", Found: "this server uses POSIX semaphores"},
		},
		Bill: doctor.Bill{SharedMemoryKB: 1_138_688, Backends: 92, MaxConnections: 200, PageTablesKB: &tables, Sizes: []doctor.BillRow{
			{PageKB: 4, PerBackendKB: 2352, NowKB: 216_384, MaxKB: 470_400},
			{PageKB: 2048, PerBackendKB: 140, NowKB: 12_880, MaxKB: 28_000, Pages: 556, PoolKB: 1_138_688},
		}},
	}
}

func doctorGoldens() []golden {
	run := demo{seconds: 90, loads: 1}.state()
	with := func(x *trial.Examined) trial.State {
		st := run
		st.Examined = x
		return st
	}
	found := with(&trial.Examined{Exam: demoExam()})
	return []golden{
		{"doctor", found, Options{}, []string{"d"}},
		{"doctor-check", found, Options{}, []string{"d", "down"}},
		{"doctor-open", found, Options{}, []string{"d", "down", "enter"}},
		{"doctor-looking", with(&trial.Examined{Looking: true}), Options{}, []string{"d"}},
		{"doctor-again", with(&trial.Examined{Looking: true, Exam: demoExam()}), Options{}, []string{"d", "end"}},
		{"doctor-failed", with(&trial.Examined{Err: "looking at the server: the server closed the connection"}), Options{}, []string{"d"}},
	}
}

func TestDoctorKeys(t *testing.T) {
	st := demo{seconds: 90, loads: 1}.state()
	st.Examined = &trial.Examined{Exam: demoExam()}
	e := &fakeEngine{}
	m, _ := press(t, e, st, "d", "r", "end", "down")
	if len(e.asked) != 2 || e.asked[0] != (trial.Examine{}) || e.asked[1] != (trial.Examine{}) {
		t.Errorf("%+v", e.asked)
	}
	if s := m.overlay.(*doctorScreen); s.at != 5 { // the bill and five checks
		t.Errorf("selected %d", s.at)
	}
	// What fails comes first, after the bill.
	var order []string
	for _, en := range doctorEntries(demoExam()) {
		order = append(order, en.sign)
	}
	if got := strings.Join(order, " "); got != "bill fail warn unknown ok n/a" {
		t.Error(got)
	}
	if m, _ := press(t, e, st, "d", "enter", "esc", "esc"); m.overlay != nil {
		t.Error("esc does not close it")
	}
}

// TestCommandsStayCopyable: a shell takes a command that was broken for the screen as
// it was.
func TestCommandsStayCopyable(t *testing.T) {
	for line, want := range map[string]string{
		`psql -h /run -c "ALTER SYSTEM SET x"`: `psql -h /run -c \|  "ALTER SYSTEM SET x"`,
		"echo 1 > /proc":                       "echo 1 > /proc",
		"cat /sys/kernel/mm   # must print 59": "cat /sys/kernel/mm|# must print 59",
		"# a long comment for the reader here": "# a long comment for the|# reader here",
		"    hugepages-2Mi: 1100Mi":            "    hugepages-2Mi: 1100Mi",
	} {
		w := 26
		if got := strings.Join(commandLines(line, w), "|"); got != want {
			t.Errorf("%q gives %q, want %q", line, got, want)
		}
	}
}
