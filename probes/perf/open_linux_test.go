package perf

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// softwareIDs are the events every Linux has.
func softwareIDs() []string {
	return []string{PageFaults, PageFaultsMinor, PageFaultsMajor, ContextSwitches}
}

// openSoftware opens a set of which the software events are needed.
func openSoftware(t *testing.T, o Options) *Set {
	t.Helper()
	s, missing, err := Open(o)
	if err != nil {
		t.Skipf("need: the right to count system wide (root or CAP_PERFMON): %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	for _, id := range softwareIDs() {
		if !s.has(id) {
			t.Fatalf("%s is not open: %v", id, missing)
		}
	}
	return s
}

func TestSystemWideCountsTouchedPages(t *testing.T) {
	s := openSoftware(t, Options{})
	const pages = 20000
	got := measure(t, s, func() {
		if err := touchPages(pages); err != nil {
			t.Fatal(err)
		}
	})
	if got[PageFaults] < pages || got[PageFaultsMinor] < pages {
		t.Errorf("%d fresh pages gave %v faults, %v minor", pages, got[PageFaults], got[PageFaultsMinor])
	}
	// The kernel counts a fault where it begins and, as minor, where it ends:
	// one that was under way when the window opened is only the latter.
	const underWay = pages / 100
	if got[PageFaults]+underWay < got[PageFaultsMinor] {
		t.Errorf("fewer faults than minor faults in one group: %v", got)
	}
	if _, counted := got[PageFaultsMajor]; !counted {
		t.Error("major faults are not counted")
	}
}

func TestReadingsNameGroupAndCPU(t *testing.T) {
	s := openSoftware(t, Options{})
	online, err := targets(Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range mustRead(t, s) {
		if len(r.Per) != len(online) || len(r.CPU) != len(online) {
			t.Fatalf("%s: %d counts, %d CPUs of %d", r.ID, len(r.Per), len(r.CPU), len(online))
		}
		for i, c := range r.CPU {
			if c != online[i].cpu {
				t.Errorf("%s: count %d is of CPU %d, want %d", r.ID, i, c, online[i].cpu)
			}
		}
		if slices.Contains(softwareIDs(), r.ID) && r.Group != "software" {
			t.Errorf("%s is in group %q", r.ID, r.Group)
		}
	}
	for _, e := range s.Events() {
		if e.Scope != "system wide" || e.Title == "" || e.Desc == "" || e.Group == "" {
			t.Errorf("event without words: %+v", e)
		}
	}
}

// A second read into the same slice must not disturb what another slice holds, and must not allocate per CPU.
func TestReadReusesItsRoom(t *testing.T) {
	s := openSoftware(t, Options{})
	first := mustRead(t, s)
	kept := slices.Clone(first[0].Per)
	second, _, err := s.Read(nil)
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := s.Read(second)
	if err != nil {
		t.Fatal(err)
	}
	if &again[0].Per[0] != &second[0].Per[0] {
		t.Error("the room of the second read was not used again")
	}
	if !slices.Equal(first[0].Per, kept) {
		t.Error("a later read changed an earlier one")
	}
}

func TestTreeCountsOldAndNewChildrenOnly(t *testing.T) {
	h, err := startHelper("tree")
	if err != nil {
		t.Fatal(err)
	}
	defer h.stop()
	s := openSoftware(t, Options{Scope: Tree(h.cmd.Process.Pid)})
	const pages = 20000
	for _, who := range []string{"self", "old", "new"} {
		got := measure(t, s, func() {
			if err := h.do(who, pages); err != nil {
				t.Fatal(err)
			}
		})
		// A process that starts has some hundred faults of its own; twice the pages would be counting twice.
		if f := got[PageFaults]; f < pages || f > 1.5*pages {
			t.Errorf("%s touched %d pages: %v faults", who, pages, f)
		}
	}
	outside := measure(t, s, func() {
		if err := touchPages(pages); err != nil {
			t.Fatal(err)
		}
	})
	if outside[PageFaults] > pages/2 {
		t.Errorf("faults outside of the tree were counted: %v", outside[PageFaults])
	}
}

// Kernels before 4.13 refuse group reads of inherited events; the set then reads event by event.
func TestTreeWithoutGroupReads(t *testing.T) {
	h, err := startHelper("tree")
	if err != nil {
		t.Fatal(err)
	}
	defer h.stop()
	s := openSoftware(t, Options{Scope: Tree(h.cmd.Process.Pid)})
	s.how.atomic = false
	for _, u := range s.units {
		if err := u.close(); err != nil {
			t.Fatal(err)
		}
	}
	if missing, err := s.attach(s.units); err != nil || len(missing) > 0 {
		t.Fatal(missing, err)
	}
	const pages = 5000
	got := measure(t, s, func() {
		if err := h.do("old", pages); err != nil {
			t.Fatal(err)
		}
	})
	if got[PageFaults] < pages || got[PageFaultsMinor] < pages {
		t.Errorf("%d touched pages gave %v", pages, got)
	}
}

// openFiles counts the descriptors of this process.
func openFiles(t *testing.T) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(fds)
}

// Ten thousand descriptors, in all of the ways in which opening ends: with everything, with a part, with nothing.
func TestOpenAndCloseLeakNothing(t *testing.T) {
	openSoftware(t, Options{})
	gone, noCgroup := filepath.Join(t.TempDir(), "gone"), t.TempDir()
	ways := []Options{
		{}, {MaxFiles: 1}, {MaxFiles: 5}, {Scope: Tree(1 << 30)}, {Scope: Cgroup(gone)}, {Scope: Cgroup(noCgroup)}, {Root: noCgroup},
		{CPU: &CPU{Vendor: "GenuineIntel", Family: 6, Model: 0x6a}},
	}
	if mount := eventCgroups(t); mount != "" {
		ways = append(ways, Options{Scope: Cgroup(mount)})
	}
	before := openFiles(t)
	most := 10_000
	if testing.Short() {
		most = 500
	}
	opened, failed := 0, 0
	for i := 0; opened < most || i < 2*len(ways); i++ {
		o := ways[i%len(ways)]
		if i%100 == 0 { // the kernel takes its time to let go of tasks
			o = Options{Scope: Tree(os.Getpid()), MaxFiles: 20 + i%37}
		}
		s, _, err := Open(o)
		if err != nil {
			failed++
			continue
		}
		opened += openFiles(t) - before
		if _, _, err := s.Read(nil); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.Close(), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	if failed < 4*2 {
		t.Errorf("only %d did not open", failed)
	}
}

// A self-test that is cut short leaves nothing behind either.
func TestSelfTestCutShortLeaksNothing(t *testing.T) {
	openSoftware(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	before := openFiles(t)
	for i := range 10 {
		o := Options{}
		if i%2 == 0 {
			o.Scope = Tree(os.Getpid())
		}
		s, _, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = s.SelfTest(ctx)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func TestReadAfterCloseFails(t *testing.T) {
	s := openSoftware(t, Options{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Read(nil); !errors.Is(err, unix.EBADF) {
		t.Errorf("Read after Close: %v", err)
	}
}

func TestDescriptorsAreClosedOnExec(t *testing.T) {
	s := openSoftware(t, Options{})
	for _, u := range s.units {
		for _, g := range u.groups {
			for _, m := range g.members {
				for _, fd := range m.fds {
					flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
					if err != nil || flags&unix.FD_CLOEXEC == 0 {
						t.Fatalf("descriptor %d has flags %x, %v", fd, flags, err)
					}
				}
			}
		}
	}
}

func TestFewDescriptorsKeepTheFirstEvents(t *testing.T) {
	openSoftware(t, Options{})
	online, err := targets(Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, missing, err := Open(Options{MaxFiles: len(online)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if len(s.Events()) != 1 || !s.has(PageFaults) {
		t.Errorf("room for one event opened %v", s.Events())
	}
	i := slices.IndexFunc(missing, func(m Missing) bool { return m.ID == ContextSwitches })
	if i < 0 || missing[i].State != NotCounted || !strings.Contains(missing[i].Reason, "file descriptors") ||
		!strings.Contains(missing[i].Remedy, "ulimit -n") {
		t.Errorf("missing context switches: %+v", missing)
	}
}

func TestFitFiles(t *testing.T) {
	keep, missing, err := fitFiles([]string{ContextSwitches, CyclesUser, PageFaults}, 128, 300)
	if err != nil || !slices.Equal(keep, []string{PageFaults, CyclesUser}) || len(missing) != 1 {
		t.Errorf("keep %v, missing %v, %v", keep, missing, err)
	}
	if r := roomIn(1024, 24); r != 1024-24-spareFiles {
		t.Errorf("room in 1024: %d", r)
	}
	if r := roomIn(64, 40); r != 0 {
		t.Errorf("room in 64: %d", r)
	}
	if r := roomIn(1<<63, 10); r < 1<<19 {
		t.Errorf("room without a limit: %d", r)
	}
}

func TestOpenWithoutTarget(t *testing.T) {
	var un *Unavailable
	_, _, err := Open(Options{Scope: Tree(1 << 30)})
	if !errors.As(err, &un) || !strings.Contains(un.Reason, fmt.Sprint(1<<30)) {
		t.Errorf("a tree without root: %v", err)
	}
	_, _, err = Open(Options{Root: t.TempDir()})
	if !errors.As(err, &un) || !strings.Contains(un.Reason, "online") {
		t.Errorf("an empty root: %v", err)
	}
}

func TestTreeTargetsOfFixture(t *testing.T) {
	proc := t.TempDir()
	stat := func(pid, ppid int, name string, threads ...int) {
		dir := filepath.Join(proc, fmt.Sprint(pid))
		for _, tid := range append(threads, pid) {
			if err := os.MkdirAll(filepath.Join(dir, "task", fmt.Sprint(tid)), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		text := fmt.Sprintf("%d (%s) S %d 1 1 0 -1", pid, name, ppid)
		if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stat(1, 0, "init")
	stat(50, 1, "postgres", 51)
	stat(60, 50, "a) S 1 (b")
	stat(70, 60, "sh")
	stat(80, 1, "other")
	got, err := treeTargets(proc, 50)
	if err != nil {
		t.Fatal(err)
	}
	want := []target{{pid: 50, cpu: -1}, {pid: 51, cpu: -1}, {pid: 60, cpu: -1}, {pid: 70, cpu: -1}}
	if !slices.Equal(got, want) {
		t.Errorf("targets %v, want %v", got, want)
	}
}
