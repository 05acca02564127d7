package perf

import (
	"strings"
	"syscall"
	"testing"
)

func TestDiagnose(t *testing.T) {
	const perfmon, admin, ptrace = uint64(1) << capPerfmon, uint64(1) << capSysAdmin, uint64(1) << capSysPtrace
	own := func(f Facts) Facts { f.Scope = Tree(77); return f }
	user := Event{ID: CyclesUser, Title: "cycles:u", ExcludeKernel: true}
	kernel := Event{ID: CyclesKernel, Title: "cycles:k", ExcludeUser: true}
	faults := Event{ID: PageFaults, Title: "page-faults", Type: typeSoftware}
	loads := Event{ID: DTLBLoads, Title: "dTLB-loads", Type: 3}
	for _, c := range []struct {
		name   string
		facts  Facts
		event  Event
		errno  syscall.Errno
		state  State
		reason string
		remedy string
	}{
		{"no PMU", Facts{CyclesUser: syscall.ENOENT}, user, syscall.ENOENT, NotThere,
			"no hardware counters (PMU)", "measure on another host, or enable the virtual PMU of this virtual machine"},
		{"no PMU, event with the kernel", Facts{CyclesUser: syscall.ENOENT, CapEff: perfmon}, loads, syscall.ENOENT, NotThere,
			"no hardware counters (PMU)", "virtual PMU"},
		{"no PMU, unprivileged, kernel cycles", Facts{CyclesUser: syscall.ENOENT, Paranoid: 2}, kernel, syscall.EACCES, NotThere,
			"no hardware counters (PMU)", "virtual PMU"},
		{"no PMU, unprivileged, dTLB loads of own processes", own(Facts{CyclesUser: syscall.ENOENT, Paranoid: 2}), loads, syscall.EACCES,
			NotThere, "no hardware counters (PMU)", "virtual PMU"},
		{"no PMU, another user's server", Facts{Scope: Tree(77), CyclesUser: syscall.EOPNOTSUPP, Paranoid: 2, UID: 1000, TargetUID: 26}, loads,
			syscall.EACCES, NotThere, "no hardware counters (PMU)", "virtual PMU"},
		{"no PMU, unprivileged, page faults", Facts{CyclesUser: syscall.ENOENT, Paranoid: 2}, faults, syscall.EACCES, NoPermission,
			"counting system wide", "setcap"},
		{"no PMU in a container that blocks the call", Facts{CyclesUser: syscall.EPERM, Seccomp: seccompFilter}, kernel, syscall.EPERM,
			NoPermission, "seccomp", "allow perf_event_open"},
		{"PMU without this event", Facts{}, loads, syscall.ENOENT, NotThere, "has no dTLB-loads", ""},
		{"PMU that cannot filter", Facts{}, kernel, syscall.EOPNOTSUPP, NotThere, "has no cycles:k", ""},
		{"refused settings", Facts{}, loads, syscall.EINVAL, NotThere, "EINVAL", ""},
		{"paranoid 2, kernel cycles of own processes", own(Facts{Paranoid: 2}), kernel, syscall.EACCES, NoPermission,
			"counting in the kernel needs CAP_PERFMON while kernel.perf_event_paranoid is 2",
			"setcap cap_perfmon+ep /opt/pgtlb, or sysctl kernel.perf_event_paranoid=1 for processes of the own user"},
		{"paranoid 2, page faults of own processes", own(Facts{Paranoid: 2}), faults, syscall.EACCES, NoPermission,
			"counting in the kernel", "sysctl kernel.perf_event_paranoid=1"},
		{"paranoid 2, system wide", Facts{Paranoid: 2}, faults, syscall.EACCES, NoPermission,
			"counting system wide needs CAP_PERFMON while kernel.perf_event_paranoid is 2",
			"setcap cap_perfmon+ep /opt/pgtlb, or sysctl kernel.perf_event_paranoid=0"},
		{"paranoid 1, system wide", Facts{Paranoid: 1}, user, syscall.EACCES, NoPermission,
			"system wide", "sysctl kernel.perf_event_paranoid=0"},
		{"kernel before 5.8", Facts{Paranoid: 2, LastCap: 37}, user, syscall.EACCES, NoPermission,
			"system wide", "setcap cap_sys_admin+ep /opt/pgtlb"},
		{"other user at a low level", Facts{Scope: Tree(77), Paranoid: -1, UID: 1000, TargetUID: 26}, user, syscall.EACCES, NoPermission,
			"the server runs as another user (uid 26, ours is 1000)", "setcap cap_perfmon+ep /opt/pgtlb, or run as the server's user"},
		{"other user, kernel cycles", Facts{Scope: Tree(77), Paranoid: 2, UID: 1000, TargetUID: 26}, kernel, syscall.EACCES, NoPermission,
			"another user", "or run as the server's user with sysctl kernel.perf_event_paranoid=1"},
		{"other user with ptrace", Facts{Scope: Tree(77), Paranoid: 2, UID: 1000, TargetUID: 26, CapEff: ptrace}, kernel, syscall.EACCES,
			NoPermission, "counting in the kernel", "setcap"},
		{"paranoid 3 on Debian", Facts{Paranoid: 3, CyclesUser: syscall.EACCES}, user, syscall.EACCES, NoPermission,
			"kernel.perf_event_paranoid is 3: this distribution's kernel then wants CAP_SYS_ADMIN for every event",
			"sysctl kernel.perf_event_paranoid=2 and setcap cap_perfmon+ep /opt/pgtlb, or run as root"},
		{"paranoid 4 on Ubuntu with CAP_PERFMON", Facts{Paranoid: 4, CyclesUser: syscall.EACCES, CapEff: perfmon}, faults, syscall.EACCES,
			NoPermission, "wants CAP_SYS_ADMIN", "sysctl kernel.perf_event_paranoid=2"},
		{"paranoid 3 on a mainline kernel", Facts{Paranoid: 3}, faults, syscall.EACCES, NoPermission, "system wide", "=0"},
		{"seccomp", Facts{Seccomp: seccompFilter}, faults, syscall.EPERM, NoPermission,
			"a seccomp profile (container) blocks perf_event_open", "allow perf_event_open in the container's seccomp profile"},
		{"seccomp with ENOSYS", Facts{Seccomp: seccompFilter}, faults, syscall.ENOSYS, NoPermission, "seccomp profile", "allow perf_event_open"},
		{"kernel without perf", Facts{NoSysctl: true}, faults, syscall.ENOSYS, NotThere, "CONFIG_PERF_EVENTS", "another kernel"},
		{"EPERM without seccomp", Facts{CapEff: admin}, faults, syscall.EPERM, NoPermission, "security module", "root"},
		{"rootless container", Facts{Paranoid: 2, UserNS: true, CapEff: admin | perfmon}, faults, syscall.EACCES, NoPermission,
			"user namespace", "run pgtlb on the host"},
		{"everything allowed and refused", Facts{Paranoid: -1, CapEff: perfmon}, faults, syscall.EACCES, NoPermission,
			"security module (SELinux, AppArmor)", "policy"},
		{"too many files", Facts{}, faults, syscall.EMFILE, NotCounted, "no file descriptors left", "ulimit -n"},
		{"claimed", Facts{}, loads, syscall.EBUSY, NotCounted, "claimed", "stop the other profiler"},
		{"ended", own(Facts{}), faults, syscall.ESRCH, NotThere, "the process has ended", ""},
		{"unheard of", Facts{}, faults, syscall.ENOMEM, NotCounted, syscall.ENOMEM.Error(), ""},
	} {
		c.facts.Binary = "/opt/pgtlb"
		m := Diagnose(c.facts, c.event, c.errno)
		if m.ID != c.event.ID || m.State != c.state || !strings.Contains(m.Reason, c.reason) || !strings.Contains(m.Remedy, c.remedy) {
			t.Errorf("%s: %+v (%s); want %s, %q, %q", c.name, m, m.State, c.state, c.reason, c.remedy)
		}
		if c.remedy == "" && m.Remedy != "" {
			t.Errorf("%s: remedy %q where none helps", c.name, m.Remedy)
		}
	}
}

func TestUnavailableText(t *testing.T) {
	u := &Unavailable{Reason: "no", Remedy: "do it"}
	if got := u.Error(); got != "perf events are unavailable: no (do it)" {
		t.Error(got)
	}
	if got := (&Unavailable{Reason: "no"}).Error(); got != "perf events are unavailable: no" {
		t.Error(got)
	}
	words := map[string]bool{}
	for _, s := range []State{NotThere, NoPermission, NotCounted} {
		words[s.String()] = true
	}
	if len(words) != 3 {
		t.Errorf("states share words: %v", words)
	}
}
