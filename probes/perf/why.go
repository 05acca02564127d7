package perf

import (
	"fmt"
	"strings"
	"syscall"
)

// State says in which way an event is missing.
type State int

// The ways an event can be missing.
const (
	NotThere     State = iota // the machine, its kernel or its CPU does not have the event
	NoPermission              // it is there, and this process may not count it
	NotCounted                // it was opened and did not count, or there was no room to open it
)

// String returns the state in words.
func (s State) String() string {
	switch s {
	case NoPermission:
		return "no permission"
	case NotCounted:
		return "not counted"
	}
	return "not there"
}

// Missing is an event that has no figure.
type Missing struct {
	ID     string
	State  State
	Reason string
	Remedy string // what the user can do, may be empty
	// Commands are the remedy's first way as commands for root; empty where none does it.
	Commands []string
	// Files says that there was no room for its descriptors: a scope that takes fewer of them has it.
	Files bool
}

// Unavailable is the error of Open when no event at all can be counted.
type Unavailable struct {
	State          State
	Reason, Remedy string
}

// Error returns reason and remedy in one line.
func (u *Unavailable) Error() string {
	if u.Remedy == "" {
		return "perf events are unavailable: " + u.Reason
	}
	return fmt.Sprintf("perf events are unavailable: %s (%s)", u.Reason, u.Remedy)
}

// Capability bits (include/uapi/linux/capability.h).
const (
	capSysPtrace = 19
	capSysAdmin  = 21
	capPerfmon   = 38 // since Linux 5.8
)

// Seccomp modes of /proc/self/status.
const seccompFilter = 2

// Facts is what decides whether an event may be opened. It is read once per Open, before the first event.
type Facts struct {
	Scope    Scope
	Paranoid int  // kernel.perf_event_paranoid
	NoSysctl bool // the sysctl does not exist: no perf_event_open in this kernel, or /proc is hidden

	CapEff  uint64 // effective capabilities
	LastCap int    // highest capability the kernel knows
	UserNS  bool   // inside a user namespace, where capabilities do not reach the host
	Seccomp int    // mode, 2 = filter

	UID       int // effective
	TargetUID int // owner of the postmaster; equal to UID for the other scopes

	CyclesUser, CyclesKernel syscall.Errno // of cycles:u and cycles:k on the own thread, 0 = opened
	Binary                   string        // path of this program, for setcap
}

func (f Facts) has(bit uint) bool { return f.CapEff>>bit&1 == 1 }

// privileged says that the kernel lets the process past the paranoid levels of the mainline kernel.
func (f Facts) privileged() bool { return !f.UserNS && (f.has(capPerfmon) || f.has(capSysAdmin)) }

// MayCount says that the process holds a capability to count, whatever the level is.
func (f Facts) MayCount() bool { return f.has(capPerfmon) || f.has(capSysAdmin) }

// paranoid returns the command that sets the level.
func paranoid(level int) string { return fmt.Sprintf("sysctl -w kernel.perf_event_paranoid=%d", level) }

// NoPMU says that not even cycles:u of the own thread could be opened because there is nothing to open.
func (f Facts) NoPMU() bool {
	return f.CyclesUser == syscall.ENOENT || f.CyclesUser == syscall.EOPNOTSUPP || f.CyclesUser == syscall.ENODEV
}

// setcap returns the command that gives the program the right to count.
func (f Facts) setcap() string {
	c := "cap_perfmon"
	if f.LastCap > 0 && f.LastCap < capPerfmon {
		c = "cap_sys_admin"
	}
	return fmt.Sprintf("setcap %s+ep %s", c, f.Binary)
}

// Diagnose says why an event could not be opened and what helps. The causes are tested in the order in which they
// hide one another: the call itself is blocked, no PMU (the kernel checks the permission to count in the kernel before it
// looks for a PMU, so EACCES says nothing about one), the distribution's extra level, then the kernel's own checks.
func Diagnose(f Facts, e Event, errno syscall.Errno) Missing {
	m := Missing{ID: e.ID}
	if errno == syscall.EACCES && e.Hardware() && f.NoPMU() {
		errno = f.CyclesUser
	}
	switch errno {
	case syscall.ENOSYS, syscall.EPERM:
		m.State, m.Reason, m.Remedy = blocked(f, errno)
	case syscall.EACCES:
		m.State = NoPermission
		m.Reason, m.Remedy, m.Commands = denied(f, e)
	case syscall.ENOENT, syscall.EOPNOTSUPP, syscall.ENODEV, syscall.EINVAL, syscall.ENXIO:
		m.State = NotThere
		m.Reason, m.Remedy = absent(f, e, errno)
	case syscall.EMFILE, syscall.ENFILE:
		m.State, m.Reason, m.Remedy = NotCounted, "no file descriptors left", "raise the limit: ulimit -n, LimitNOFILE= in the unit"
		m.Files = true
	case syscall.EBUSY:
		m.State, m.Reason, m.Remedy = NotCounted, "another program has claimed the counters", "stop the other profiler"
	case syscall.ESRCH:
		m.State, m.Reason = NotThere, "the process has ended"
	default:
		m.State, m.Reason = NotCounted, "perf_event_open: "+errno.Error()
	}
	return m
}

// blocked explains a call that does not reach the permission checks of the kernel.
func blocked(f Facts, errno syscall.Errno) (State, string, string) {
	switch {
	case f.Seccomp == seccompFilter:
		return NoPermission, "a seccomp profile (container) blocks perf_event_open",
			"allow perf_event_open in the container's seccomp profile, or run pgtlb on the host"
	case f.NoSysctl || errno == syscall.ENOSYS:
		return NotThere, "the kernel has no perf events (built without CONFIG_PERF_EVENTS)", "another kernel or host"
	}
	return NoPermission, "the kernel or a security module refuses perf_event_open", "run as root outside of containers"
}

// denied explains EACCES.
func denied(f Facts, e Event) (reason, remedy string, commands []string) {
	kernel := !e.ExcludeKernel
	switch {
	case f.Paranoid >= 3 && !f.has(capSysAdmin) && f.CyclesUser == syscall.EACCES:
		return fmt.Sprintf("kernel.perf_event_paranoid is %d: this distribution's kernel then wants CAP_SYS_ADMIN for every event", f.Paranoid),
			fmt.Sprintf("sysctl kernel.perf_event_paranoid=2 and %s, or run as root", f.setcap()), []string{paranoid(2), f.setcap()}
	case f.Scope.Postmaster != 0 && f.TargetUID != f.UID && !f.privileged() && !f.has(capSysPtrace):
		return fmt.Sprintf("the server runs as another user (uid %d, ours is %d)", f.TargetUID, f.UID),
			f.setcap() + ", or run as the server's user" + f.kernelLevel(kernel), []string{f.setcap()}
	case f.UserNS && (f.has(capPerfmon) || f.has(capSysAdmin)):
		return "capabilities inside a user namespace (rootless container) do not count for perf events",
			"run pgtlb on the host, or sysctl kernel.perf_event_paranoid=0 there", nil
	case f.Scope.Postmaster == 0 && f.Paranoid >= 1 && !f.privileged():
		what := "system wide"
		if f.Scope.Cgroup != "" {
			what = "a cgroup"
		}
		return fmt.Sprintf("counting %s needs CAP_PERFMON while kernel.perf_event_paranoid is %d", what, f.Paranoid),
			fmt.Sprintf("%s, or sysctl kernel.perf_event_paranoid=0", f.setcap()), []string{f.setcap()}
	case kernel && f.Paranoid >= 2 && !f.privileged():
		return fmt.Sprintf("counting in the kernel needs CAP_PERFMON while kernel.perf_event_paranoid is %d", f.Paranoid),
			fmt.Sprintf("%s, or sysctl kernel.perf_event_paranoid=1 for processes of the own user", f.setcap()), []string{f.setcap()}
	}
	return fmt.Sprintf("a security module (SELinux, AppArmor) refuses it; kernel.perf_event_paranoid is %d", f.Paranoid),
		"allow perf events in the module's policy, or run outside of the confined context", nil
}

// kernelLevel is what the server's own user needs besides for an event that counts in the kernel.
func (f Facts) kernelLevel(kernel bool) string {
	if kernel && f.Paranoid >= 2 {
		return " with sysctl kernel.perf_event_paranoid=1"
	}
	return ""
}

// absent explains an event that is not there.
func absent(f Facts, e Event, errno syscall.Errno) (reason, remedy string) {
	if e.Hardware() && f.NoPMU() {
		return "this machine has no hardware counters (PMU)",
			"measure on another host, or enable the virtual PMU of this virtual machine"
	}
	name := e.Title
	if name == "" {
		name = strings.ReplaceAll(e.ID, "_", " ")
	}
	if errno == syscall.EINVAL {
		return fmt.Sprintf("the kernel refuses %s with these settings (EINVAL)", name), ""
	}
	return fmt.Sprintf("this CPU or its kernel driver has no %s", name), ""
}
