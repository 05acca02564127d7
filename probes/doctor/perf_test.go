package doctor

import (
	"fmt"
	"strings"
	"testing"

	"pgtlb/probes"
)

// kernel is how perf_event_open decides, written down apart from what judges it:
// the mainline kernel, and Debian's and Ubuntu's with their level 3.
type kernel struct {
	paranoid int
	debian   bool
	pmu      bool
}

// who asks.
type asker struct {
	name string
	uid  int
	caps uint64
}

const (
	capPerfmon, capSysAdmin, capSysPtrace = uint64(1) << 38, uint64(1) << 21, uint64(1) << 19 // in CapEff
	serverUID                             = 26
)

func (k kernel) open(a asker, hardware, excludeKernel, server bool) string {
	mayCount := a.caps&(capPerfmon|capSysAdmin) != 0
	switch {
	case k.debian && k.paranoid >= 3 && a.caps&capSysAdmin == 0:
		return "EACCES"
	case !excludeKernel && k.paranoid >= 2 && !mayCount:
		return "EACCES" // asked before the PMU is looked for
	case !server && k.paranoid >= 1 && !mayCount:
		return "EACCES"
	case server && a.uid != serverUID && !mayCount && a.caps&capSysPtrace == 0:
		return "EACCES"
	case hardware && !k.pmu:
		return "ENOENT"
	}
	return ""
}

// ask fills in what the kernel would have answered.
func (k kernel) ask(a asker) *Perf {
	p := &Perf{Paranoid: k.paranoid, CapEff: a.caps, LastCap: 40, UID: a.uid, ServerUID: serverUID, Binary: "/opt/pgtlb"}
	own := a
	own.uid = serverUID // the own thread is one's own
	p.CyclesUser, p.CyclesKernel = k.open(own, true, true, true), k.open(own, true, false, true)
	for _, e := range []PerfAnswer{
		{ID: "page_faults", Title: "page-faults", Type: 1},
		{ID: "cycles_user", Title: "cycles:u", ExcludeKernel: true},
		{ID: "cycles_kernel", Title: "cycles:k"},
		{ID: "dtlb_loads", Title: "dTLB-loads", Type: 3},
		{ID: "dtlb_load_misses", Title: "dTLB-load-misses", Type: 3},
	} {
		for _, e.Server = range []bool{false, true} {
			e.Error = k.open(a, e.Type != 1, e.ExcludeKernel, e.Server)
			p.Answers = append(p.Answers, e)
		}
	}
	if a.uid != serverUID && a.caps&capSysPtrace == 0 {
		p.Map = "EACCES"
	}
	return p
}

func askedSnapshot(p *Perf) *Snapshot {
	return &Snapshot{Server: &Server{Info: probes.ServerInfo{PostmasterPid: 77}},
		System: System{Perf: p, Processes: Processes{Postmaster: &Process{Pid: 77, UID: serverUID}}, Sysctls: map[string]string{"kernel.nmi_watchdog": "1"}}}
}

// TestPerfWords holds every level and every kind of user against the words that
// they must get.
func TestPerfWords(t *testing.T) {
	root := asker{"root", 0, 1<<41 - 1}
	owner := asker{"the server's user", serverUID, 0}
	nobody := asker{"nobody", 65534, 0}
	perfmon := asker{"a user with CAP_PERFMON", 1000, capPerfmon}
	const systemWide, server = "may count system wide", "may count the server's processes"
	const setcap, both = "setcap cap_perfmon+ep /opt/pgtlb", "setcap cap_perfmon,cap_sys_ptrace+ep /opt/pgtlb"
	for _, c := range []struct {
		k        kernel
		a        asker
		software string // words of perf_software
		hardware string // words of perf_hardware
		fix      string // of perf_software, joined
	}{
		{kernel{-1, false, true}, root, systemWide, systemWide, ""},
		{kernel{-1, false, true}, owner, systemWide, systemWide, ""},
		{kernel{-1, false, true}, nobody, systemWide, systemWide, ""},
		{kernel{-1, false, true}, perfmon, systemWide, systemWide, ""},
		{kernel{0, false, true}, nobody, systemWide, systemWide, ""},
		{kernel{1, false, true}, root, systemWide, systemWide, ""},
		{kernel{1, false, true}, owner, server, server, ""},
		{kernel{1, false, true}, nobody, "counting system wide needs CAP_PERFMON while kernel.perf_event_paranoid is 1", "counting system wide", both},
		{kernel{1, false, true}, perfmon, systemWide, systemWide, ""},
		{kernel{2, false, true}, root, systemWide, systemWide, ""},
		{kernel{2, false, true}, owner, "counting system wide needs CAP_PERFMON while kernel.perf_event_paranoid is 2", "counting in the kernel needs CAP_PERFMON", setcap},
		{kernel{2, false, true}, nobody, "counting system wide needs CAP_PERFMON", "counting system wide needs CAP_PERFMON", both},
		{kernel{2, false, true}, perfmon, systemWide, systemWide, ""},
		{kernel{2, false, false}, root, systemWide, "no hardware counters (PMU)", ""},
		{kernel{2, false, false}, owner, "counting system wide", "no hardware counters (PMU)", setcap},
		{kernel{3, false, true}, root, systemWide, systemWide, ""},
		{kernel{3, false, true}, perfmon, systemWide, systemWide, ""},
		{kernel{3, false, true}, owner, "counting system wide", "counting in the kernel", setcap},
		{kernel{3, true, true}, root, systemWide, systemWide, ""},
		{kernel{3, true, true}, owner, "wants CAP_SYS_ADMIN for every event", "wants CAP_SYS_ADMIN", "sysctl -w kernel.perf_event_paranoid=2\n" + setcap},
		{kernel{3, true, true}, nobody, "wants CAP_SYS_ADMIN for every event", "wants CAP_SYS_ADMIN", "sysctl -w kernel.perf_event_paranoid=2\n" + both},
		{kernel{3, true, true}, perfmon, "wants CAP_SYS_ADMIN for every event", "wants CAP_SYS_ADMIN", "sysctl -w kernel.perf_event_paranoid=2\n" + both},
		{kernel{4, true, true}, owner, "kernel.perf_event_paranoid is 4", "wants CAP_SYS_ADMIN", "sysctl -w kernel.perf_event_paranoid=2\n" + setcap},
	} {
		t.Run(fmt.Sprintf("%+v %s", c.k, c.a.name), func(t *testing.T) {
			s := askedSnapshot(c.k.ask(c.a))
			soft, hard := checkPerfSoftware(s), checkPerfHardware(s)
			if !strings.Contains(soft.Found, c.software) {
				t.Errorf("software: %s, want %q", soft.Found, c.software)
			}
			if !strings.Contains(hard.Found, c.hardware) {
				t.Errorf("hardware: %s, want %q", hard.Found, c.hardware)
			}
			if got := strings.Join(soft.Fix, "\n"); got != c.fix {
				t.Errorf("fix %q, want %q", got, c.fix)
			}
			if ok := strings.HasPrefix(c.software, "may"); ok != (soft.Status == OK) || !ok && soft.Status != Warn {
				t.Errorf("status %s of %q", soft.Status, soft.Found)
			}
			if want := map[bool]Status{true: Warn, false: NotHere}[c.k.pmu]; !strings.HasPrefix(c.hardware, "may") && hard.Status != want {
				t.Errorf("status %s of %q", hard.Status, hard.Found)
			}
			// The advice, once followed, must work.
			if len(soft.Fix) > 0 {
				fixed, k := c.a, c.k
				fixed.caps |= capPerfmon
				if strings.Contains(c.fix, "paranoid=2") {
					k.paranoid = 2
				}
				if after := checkPerfSoftware(askedSnapshot(k.ask(fixed))); after.Status != OK {
					t.Errorf("after the fix: %s", after.Found)
				}
				undo := "setcap -r /opt/pgtlb"
				if c.a.caps != 0 {
					undo = setcap
				}
				if len(soft.Undo) != len(soft.Fix) || soft.Undo[len(soft.Undo)-1] != undo {
					t.Errorf("undo %q, want %q", soft.Undo, undo)
				}
			}
		})
	}
}

// TestPerfNamesTheCapability proves that a user is told which capability pgtlb
// holds: with CAP_PERFMON alone Debian's level 3 still refuses every event.
func TestPerfNamesTheCapability(t *testing.T) {
	for caps, want := range map[uint64]string{
		0:                        "uid 1000 at",
		capPerfmon:               "uid 1000 with CAP_PERFMON at",
		capSysAdmin:              "uid 1000 with CAP_SYS_ADMIN at",
		capPerfmon | capSysAdmin: "uid 1000 with CAP_SYS_ADMIN at",
	} {
		c := checkPerfSoftware(askedSnapshot(kernel{3, true, true}.ask(asker{uid: 1000, caps: caps})))
		if !strings.HasPrefix(c.Found, want) {
			t.Errorf("%#x: %s, want %q first", caps, c.Found, want)
		}
	}
}

func TestPerfBesides(t *testing.T) {
	s := askedSnapshot(kernel{2, false, false}.ask(asker{"root", 0, 1<<41 - 1}))
	if c := checkNMIWatchdog(s); c.Status != NotHere || !strings.Contains(c.Found, "no hardware counters") {
		t.Errorf("a watchdog without a PMU: %+v", c)
	}
	s = askedSnapshot(kernel{2, false, true}.ask(asker{"nobody", 65534, 0}))
	if c := checkNMIWatchdog(s); c.Status != OK || c.Fix[0] != "sysctl -w kernel.nmi_watchdog=0" || c.Undo[0] != "sysctl -w kernel.nmi_watchdog=1" {
		t.Errorf("a watchdog beside a PMU: %+v", c)
	}
	if c := checkProcessDetails(s); c.Status != Warn || c.Fix[0] != "setcap cap_perfmon,cap_sys_ptrace+ep /opt/pgtlb" || !strings.Contains(c.Found, "uid 65534 may not read the memory maps of uid 26") {
		t.Errorf("another's memory map: %+v", c)
	}
	// Whoever may run the file gets the right.
	s.System.Perf.BinaryMode = 0o755
	if c := checkProcessDetails(s); len(c.Fix) != 4 || c.Fix[2] != "chmod 750 /opt/pgtlb" || !strings.HasPrefix(c.Fix[3], "setcap ") || c.Undo[1] != "chmod 755 /opt/pgtlb" {
		t.Errorf("a program that all may run: %q, %q", c.Fix, c.Undo)
	}
	// setcap replaces what the file has: what is there must be in the command.
	s = askedSnapshot(kernel{2, false, true}.ask(asker{"with CAP_PERFMON", 1000, capPerfmon}))
	if c := checkProcessDetails(s); c.Fix[0] != "setcap cap_perfmon,cap_sys_ptrace+ep /opt/pgtlb" || c.Undo[0] != "setcap cap_perfmon+ep /opt/pgtlb" {
		t.Errorf("another's memory map with CAP_PERFMON: %+v", c)
	}
}
