package doctor

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgtlb/probes"
)

// TestTasksAreRaisedWhereTheyAreTight: the level that limits, by its own name.
func TestTasksAreRaisedWhereTheyAreTight(t *testing.T) {
	const groups = "/sys/fs/cgroup"
	for file, want := range map[string][2]string{
		groups + "/system.slice/pids.max":                            {"systemctl set-property system.slice TasksMax=900", "systemctl set-property system.slice TasksMax=100"},
		groups + "/system.slice/postgresql@15-main.service/pids.max": {"systemctl set-property postgresql@15-main.service TasksMax=900", "systemctl set-property postgresql@15-main.service TasksMax=100"},
		groups + `/system.slice/pg\x2dmain;reboot.service/pids.max`:  {`systemctl set-property 'pg\x2dmain;reboot.service' TasksMax=900`, `systemctl set-property 'pg\x2dmain;reboot.service' TasksMax=100`},
		groups + "/by hand/pids.max":                                 {"echo 900 > '" + groups + "/by hand/pids.max'", "echo 100 > '" + groups + "/by hand/pids.max'"},
	} {
		s := &Snapshot{System: System{Logind: Logind{Systemd: true}}}
		fix, undo, takes := tasksFix(s, Tasks{File: file, Max: 100}, 900)
		if !slices.Equal(fix, []string{want[0]}) || !slices.Equal(undo, []string{want[1]}) || takes != TakesNothing {
			t.Errorf("%s: %q %q %s", file, fix, undo, takes)
		}
	}
	s := &Snapshot{System: System{Place: Place{Container: "docker"}}}
	if fix, _, takes := tasksFix(s, Tasks{File: groups + "/pids.max", Max: 100}, 900); fix[1] != "--pids-limit=900" || takes != TakesRestart {
		t.Errorf("a container: %q %s", fix, takes)
	}
}

// TestNoUnitNoDropIn: a server that no unit runs gets no file of one.
func TestNoUnitNoDropIn(t *testing.T) {
	s := &Snapshot{System: System{Logind: Logind{Systemd: true}}, Pages: Pages{Cgroup: Cgroup{Server: true, Path: "/user.slice/session-1.scope"}}}
	fix, _ := limitFix(s, "x.conf", "LimitNOFILE", 7, "ulimit -n 7", "", "")
	if !slices.Contains(fix, "ulimit -n 7") || hasLine(fix, "systemctl") {
		t.Errorf("%q", fix)
	}
	s.Pages.Unit = &Service{Name: "pg;x.service"}
	fix, undo := limitFix(s, "x.conf", "LimitNOFILE", 7, "ulimit -n 7", "", "")
	for _, line := range append(fix, undo...) {
		if strings.Contains(line, "pg;x") && !strings.Contains(line, "'") {
			t.Errorf("not quoted: %s", line)
		}
	}
}

// TestShmIsBoundedByMemory: a large work_mem asks for no /dev/shm of thrice the machine.
func TestShmIsBoundedByMemory(t *testing.T) {
	machine := func(work string, shmKB, totalKB uint64) *Snapshot {
		s := withSettings([]probes.ExamSetting{{Name: "work_mem", Setting: work, Unit: "kB", Type: "integer"}, {Name: "hash_mem_multiplier", Setting: "2", Type: "real"},
			{Name: "dynamic_shared_memory_type", Value: "posix"}})
		s.HostUnknown, s.Pages.Memory.TotalKB, s.System.Shm = "", totalKB, &Mount{Type: "tmpfs", SizeKB: shmKB}
		return s
	}
	for _, c := range []struct {
		work       string
		shm, total uint64
		status     Status
		size       string
	}{
		{"4194304", 64 << 10, 32 << 20, Warn, "size=16384m"}, // 24 GB a join on 32 GB
		{"4194304", 16 << 20, 32 << 20, OK, ""},
		{"65536", 64 << 10, 32 << 20, Warn, "size=2g"},
		{"65536", 1 << 20, 32 << 20, OK, ""},
	} {
		check := checkDynamicSharedMemory(machine(c.work, c.shm, c.total))
		wellFormed(t, check)
		if check.Status != c.status || c.size != "" && !hasLine(check.Fix, c.size) {
			t.Errorf("work_mem %s kB, /dev/shm %d: %s %q", c.work, c.shm, check.Status, check.Fix)
		}
	}
}

// TestShmallCountsOrdinaryPages: 64 kB on a kernel with those.
func TestShmallCountsOrdinaryPages(t *testing.T) {
	s := withSettings([]probes.ExamSetting{{Name: "shared_memory_type", Value: "sysv"}})
	s.HostUnknown, s.Server.Info.SharedMemoryKB = "", 8<<20
	s.Host.Pools = []probes.Pool{{PageKB: 512 << 10}}
	s.System.Sysctls = map[string]string{"kernel.shmmax": "18446744073692774399", "kernel.shmall": "131073"} // of 64 kB: 8 GB and a page
	if c := checkSysVSharedMemory(s); c.Status != OK {
		t.Errorf("%s %s", c.Status, c.Found)
	}
	s.Host.Pools = nil
	if c := checkSysVSharedMemory(s); c.Status != Fail {
		t.Errorf("pages of 4 kB: %s %s", c.Status, c.Found)
	}
}

// TestOvercommitKbytes: where vm.overcommit_kbytes is the limit, it is what changes.
func TestOvercommitKbytes(t *testing.T) {
	s := &Snapshot{System: System{Commit: &Commit{LimitKB: 10 << 20, PromisedKB: 10 << 20},
		Sysctls: map[string]string{"vm.overcommit_memory": "2", "vm.overcommit_ratio": "0", "vm.overcommit_kbytes": fmt.Sprint(10 << 20)}}}
	s.Pages.Memory.TotalKB = 64 << 20
	c := checkOvercommit(s)
	wellFormed(t, c)
	if c.Status != Warn || !hasLine(c.Fix, "vm.overcommit_kbytes = 53687040") || hasLine(append(c.Fix, c.Undo...), "ratio") || !slices.Contains(c.Undo, "sysctl -w vm.overcommit_kbytes='10485760'") {
		t.Errorf("%s %q %q", c.Status, c.Fix, c.Undo)
	}
	s.System.Sysctls["vm.overcommit_ratio"], s.System.Sysctls["vm.overcommit_kbytes"] = "50", "0"
	if c := checkOvercommit(s); !hasLine(c.Fix, "vm.overcommit_ratio = 80") || hasLine(c.Undo, "kbytes") {
		t.Errorf("by ratio: %q %q", c.Fix, c.Undo)
	}
}

// TestInContainerHasOneAnswer: whichever trace shows, every check goes by it.
func TestInContainerHasOneAnswer(t *testing.T) {
	for name, s := range map[string]*Snapshot{
		"cgroup":  {Host: probes.Host{Virtual: "container (docker)"}},
		"systemd": {System: System{Place: Place{Container: "lxc"}}},
		"pod":     {Pages: Pages{Kernel: Kernel{Kubernetes: true}}},
	} {
		if fix, _ := persistent(s, "x.conf", "vm.swappiness=1"); !s.inContainer() || fix[0] != "# on the container's host:" {
			t.Errorf("%s: %q", name, fix)
		}
		if c := checkPlace(s); !strings.Contains(c.Found, "kernel settings and pools are the host's") {
			t.Errorf("%s: %s", name, c.Found)
		}
	}
}
