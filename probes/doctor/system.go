package doctor

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// System are facts about the operating system around the server. A file that is
// not there leaves its fact empty; one that is there and cannot be read is among
// Snapshot.Unread too.
type System struct {
	// Sysctls are kernel settings by their names for sysctl, as the files below
	// /proc/sys say them: "vm.overcommit_memory" is "0".
	Sysctls map[string]string `json:"sysctls,omitempty"`
	Commit  *Commit           `json:"commit,omitempty"` // read with Pages.Memory
	Events  map[string]uint64 `json:"events,omitempty"` // counters of /proc/vmstat since the boot
	// UptimeS is in seconds; 0 where it is not known.
	UptimeS    float64    `json:"uptime_s,omitempty"`
	Processes  Processes  `json:"processes"`
	OOM        UnitOOM    `json:"oom"`
	Limits     *Limits    `json:"limits,omitempty"` // of the postmaster
	Tasks      Tasks      `json:"tasks"`            // read with Pages.Cgroup
	Shm        *Mount     `json:"shm,omitempty"`    // what is mounted on /dev/shm
	Semaphores Semaphores `json:"semaphores"`
	Logind     Logind     `json:"logind"`
	Account    Account    `json:"account"`
	Perf       *Perf      `json:"perf,omitempty"`
	Place      Place      `json:"place"`
}

// lookAtSystem reads the facts below the tree. postmaster is 0 where no server runs
// or is asked.
func lookAtSystem(ctx context.Context, s *Snapshot, w Wanted, postmaster int) {
	f, sys := files{s, w.Tree}, &s.System
	sys.Sysctls = lookAtSysctls(f)
	sys.UptimeS = lookAtUptime(f)
	sys.Processes = lookAtEveryProcess(ctx, f, postmaster)
	sys.OOM = lookAtOOM(f, s.Pages.Unit)
	sys.Shm = lookAtShm(f, postmaster)
	sys.Semaphores = lookAtSemaphores(f, sys.Processes.Postmaster)
	sys.Logind = lookAtLogind(f)
	sys.Account = lookAtAccount(f, sys.Processes.Postmaster)
	sys.Place = lookAtPlace(f)
	if w.Tree.Path() == "/" && ctx.Err() == nil { // of another tree there is no kernel to ask
		sys.Perf = askPerf(f, postmaster)
	}
}

// systemChecks are the checks over System, in the order in which they are shown.
func systemChecks() []func(*Snapshot) Check {
	return []func(*Snapshot) Check{
		checkPlace,
		checkOvercommit, checkOOMProtection, checkOOMVictim, checkSwap,
		checkSharedMemoryType, checkDynamicSharedMemory, checkSysVSharedMemory, checkSemaphores, checkRemoveIPC,
		checkOpenFiles, checkProcesses, checkListenQueue,
		checkPerfSoftware, checkPerfHardware, checkNMIWatchdog, checkProcessDetails,
	}
}

// sysctls reads the kernel settings that checks ask for.
func lookAtSysctls(f files) map[string]string {
	out := map[string]string{}
	for _, name := range []string{
		"vm.overcommit_memory", "vm.overcommit_ratio", "vm.overcommit_kbytes", "vm.swappiness", "vm.panic_on_oom",
		"vm.oom_kill_allocating_task", "fs.file-max", "fs.file-nr", "fs.nr_open", "kernel.pid_max", "kernel.threads-max",
		"kernel.shmmax", "kernel.shmall", "kernel.shmmni", "kernel.sem", "kernel.perf_event_paranoid",
		"kernel.nmi_watchdog", "net.core.somaxconn",
	} {
		if v, ok := f.text("/proc/sys/" + strings.ReplaceAll(name, ".", "/")); ok {
			out[name] = strings.TrimSpace(v)
		}
	}
	return out
}

// sysctl is a kernel setting that is one number.
func (s *Snapshot) sysctl(name string) (int64, bool) {
	n, err := strconv.ParseInt(s.System.Sysctls[name], 10, 64)
	return n, err == nil
}

// elsewhere answers a check about the machine where the machine cannot be seen:
// what a provider runs does not arise, what runs elsewhere is unknown.
func elsewhere(s *Snapshot, c *Check) bool {
	if s.HostUnknown == "" {
		return false
	}
	if p, ok := providerOf(s); ok {
		c.Status, c.Found = NotHere, p.Name+" runs the machine and sets this; SQL does not show it"
		return true
	}
	c.Status, c.Found = Unknown, "the server's machine cannot be seen from here: "+s.HostUnknown
	return true
}

// unknown answers a check for which a source is missing, with the reason if one
// is noted.
func unknown(s *Snapshot, c Check, source string) Check {
	c.Status, c.Found = Unknown, "there is no "+source
	if why := s.unreadReason(source); why != "" {
		c.Found = source + " could not be read: " + why
	}
	return c
}

// noPostmaster answers a check about the server's processes where there are none.
func noPostmaster(s *Snapshot, c *Check) bool {
	switch {
	case elsewhere(s, c):
		return true
	case s.Server == nil:
		c.Status, c.Found = NotHere, "no running server is examined: "+s.ServerUnknown
		return true
	case s.System.Processes.Postmaster == nil:
		*c = unknown(s, *c, fmt.Sprintf("/proc/%d/status", s.Server.Info.PostmasterPid))
		return true
	}
	return false
}

// persistent are the lines that set kernel settings now and at each boot, and
// those that take it back. Each setting is "name=value".
func persistent(s *Snapshot, file string, settings ...string) (fix, undo []string) {
	path := "/etc/sysctl.d/" + file
	if s.inContainer() {
		fix = append(fix, "# on the container's host:")
		undo = append(undo, "# on the container's host:")
	}
	op := ">"
	for _, set := range settings {
		name, value, _ := strings.Cut(set, "=")
		fix = append(fix, fmt.Sprintf("echo '%s = %s' %s %s", name, value, op, path))
		op = ">>"
	}
	fix = append(fix, "sysctl -p "+path)
	undo = append(undo, "rm "+path)
	for _, set := range settings {
		name, _, _ := strings.Cut(set, "=")
		if old := strings.Join(strings.Fields(s.System.Sysctls[name]), " "); old != "" {
			undo = append(undo, fmt.Sprintf("sysctl -w %s='%s'", name, old))
		}
	}
	return fix, undo
}
