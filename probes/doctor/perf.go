package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"pgtlb/probes/perf"
)

// Perf is what the kernel answered when pgtlb asked for events and for a process's
// memory map. Error numbers are kept by name: numbers differ between systems.
type Perf struct {
	Paranoid  int    `json:"paranoid"` // kernel.perf_event_paranoid
	NoSysctl  bool   `json:"no_sysctl,omitempty"`
	CapEff    uint64 `json:"cap_eff"`
	LastCap   int    `json:"last_cap"`
	UserNS    bool   `json:"user_ns,omitempty"`
	Seccomp   int    `json:"seccomp,omitempty"`
	UID       int    `json:"uid"`
	ServerUID int    `json:"server_uid"`
	Binary    string `json:"binary"` // path of pgtlb
	// BinaryMode are its permission bits; 0 where they are not known.
	BinaryMode uint32 `json:"binary_mode,omitempty"`
	// CyclesUser and CyclesKernel are of pgtlb's own thread, empty for opened.
	CyclesUser   string       `json:"cycles_user,omitempty"`
	CyclesKernel string       `json:"cycles_kernel,omitempty"`
	Answers      []PerfAnswer `json:"answers,omitempty"`
	// Map is the error of opening smaps_rollup of the postmaster, empty for opened;
	// "-" where there is none to ask for.
	Map string `json:"map"`
}

// PerfAnswer is the kernel's answer to one event.
type PerfAnswer struct {
	ID            string `json:"id"`
	Title         string `json:"title"`
	Type          uint32 `json:"type"`
	ExcludeKernel bool   `json:"exclude_kernel,omitempty"`
	Server        bool   `json:"server,omitempty"` // of the postmaster; else of the machine
	Error         string `json:"error,omitempty"`  // empty for opened
}

// perfEvents are the events that are asked for: one that needs no counters of the
// CPU, and those that do.
func perfEvents() []string {
	return []string{perf.PageFaults, perf.CyclesUser, perf.CyclesKernel, perf.DTLBLoads, perf.DTLBLoadMisses}
}

// askPerf asks the running kernel.
func askPerf(f files, postmaster int) *Perf {
	a := perf.Ask(perf.Options{Scope: perf.Tree(postmaster)}, perfEvents()...)
	facts := a.Facts
	p := &Perf{Paranoid: facts.Paranoid, NoSysctl: facts.NoSysctl, CapEff: facts.CapEff, LastCap: facts.LastCap, UserNS: facts.UserNS, Seccomp: facts.Seccomp,
		UID: facts.UID, ServerUID: facts.TargetUID, Binary: facts.Binary, CyclesUser: errnoName(facts.CyclesUser), CyclesKernel: errnoName(facts.CyclesKernel), Map: "-"}
	if info, err := os.Stat(facts.Binary); err == nil {
		p.BinaryMode = uint32(info.Mode().Perm())
	}
	for _, e := range a.Answers {
		p.Answers = append(p.Answers, PerfAnswer{ID: e.Event.ID, Title: e.Event.Title, Type: e.Event.Type, ExcludeKernel: e.Event.ExcludeKernel,
			Server: e.Scope != perf.System(), Error: errnoName(e.Errno)})
	}
	if postmaster != 0 {
		p.Map = openError(f.real("/proc/" + processName(postmaster) + "/smaps_rollup"))
	}
	return p
}

// openError is the name of the error of opening a file, empty for none.
func openError(path string) string {
	f, err := os.Open(path)
	if err == nil {
		_ = f.Close() // opened for its permission: nothing is lost
		return ""
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errnoName(errno)
	}
	if errors.Is(err, fs.ErrPermission) {
		return "EACCES"
	}
	return err.Error()
}

// errnos are the error numbers that the checks tell apart.
func errnos() map[string]syscall.Errno {
	return map[string]syscall.Errno{"EPERM": syscall.EPERM, "ENOENT": syscall.ENOENT, "ESRCH": syscall.ESRCH, "ENXIO": syscall.ENXIO,
		"EACCES": syscall.EACCES, "EBUSY": syscall.EBUSY, "ENODEV": syscall.ENODEV, "EINVAL": syscall.EINVAL, "ENFILE": syscall.ENFILE,
		"EMFILE": syscall.EMFILE, "ENOSYS": syscall.ENOSYS, "EOPNOTSUPP": syscall.EOPNOTSUPP, "": 0}
}

func errnoName(e syscall.Errno) string {
	for name, n := range errnos() {
		if n == e {
			return name
		}
	}
	return e.Error()
}

// facts gives package perf its own form back; server says of which scope.
func (p *Perf) facts(s *Snapshot, server bool) perf.Facts {
	known := errnos()
	f := perf.Facts{Paranoid: p.Paranoid, NoSysctl: p.NoSysctl, CapEff: p.CapEff, LastCap: p.LastCap, UserNS: p.UserNS, Seccomp: p.Seccomp,
		UID: p.UID, TargetUID: p.UID, Binary: p.Binary, CyclesUser: known[p.CyclesUser], CyclesKernel: known[p.CyclesKernel]}
	if server {
		f.TargetUID = p.ServerUID
		f.Scope = perf.Tree(s.System.Processes.Postmaster.Pid)
	}
	return f
}

// diagnosis says why an event is missing.
func (p *Perf) diagnosis(s *Snapshot, a PerfAnswer) perf.Missing {
	errno, ok := errnos()[a.Error]
	if !ok {
		return perf.Missing{ID: a.ID, State: perf.NotCounted, Reason: "perf_event_open: " + a.Error}
	}
	e := perf.Event{ID: a.ID, Title: a.Title, Type: a.Type, ExcludeKernel: a.ExcludeKernel}
	return perf.Diagnose(p.facts(s, a.Server && s.System.Processes.Postmaster != nil), e, errno)
}

// needPerf answers a check about perf events where nothing was asked.
func needPerf(s *Snapshot, c *Check) bool {
	if elsewhere(s, c) {
		return true
	}
	if s.System.Perf == nil {
		c.Status, c.Found = Unknown, "these are files of a machine, and no kernel was asked for its events"
		return true
	}
	return false
}

// checkPerfSoftware is "perf_software": whether page faults can be counted.
func checkPerfSoftware(s *Snapshot) Check {
	c := Check{ID: "perf_software", Title: "Counting page faults (perf software events)",
		Expected: "page faults of the whole machine, or of the server",
		Why:      "Without perf events page faults come from /proc/vmstat, for the whole machine and without those of one server."}
	return perfCheck(s, c, func(a PerfAnswer) bool { return a.ID == perf.PageFaults })
}

// checkPerfHardware is "perf_hardware": whether cycles and TLB misses can be counted.
func checkPerfHardware(s *Snapshot) Check {
	c := Check{ID: "perf_hardware", Title: "Counting cycles and dTLB misses (perf hardware events)",
		Expected: "cycles in user mode and in the kernel, dTLB loads and misses",
		Why:      "dTLB misses and the cycles of page walks are what huge pages save; only the CPU's own counters (PMU) show them."}
	return perfCheck(s, c, func(a PerfAnswer) bool { return a.ID != perf.PageFaults })
}

// perfCheck judges the events that are chosen: the widest scope in which all are
// open is enough.
func perfCheck(s *Snapshot, c Check, chosen func(PerfAnswer) bool) Check {
	c.Sources = []string{"perf_event_open", "/proc/sys/kernel/perf_event_paranoid", "/proc/self/status CapEff, Seccomp", "/proc/self/uid_map"}
	if needPerf(s, &c) {
		return c
	}
	p := s.System.Perf
	var missing [2][]PerfAnswer // of the machine, of the server
	var asked [2]int
	for _, a := range p.Answers {
		if !chosen(a) {
			continue
		}
		scope := 0
		if a.Server {
			scope = 1
		}
		asked[scope]++
		if a.Error != "" {
			missing[scope] = append(missing[scope], a)
		}
	}
	who := p.who()
	switch {
	case asked[0]+asked[1] == 0:
		c.Status, c.Found = Unknown, "the kernel was not asked"
		return c
	case asked[0] > 0 && len(missing[0]) == 0:
		c.Status, c.Found = OK, who+" may count system wide"
		return c
	case asked[1] > 0 && len(missing[1]) == 0:
		c.Status, c.Found = OK, who+" may count the server's processes, not the whole machine: "+p.diagnosis(s, missing[0][0]).Reason
		return c
	}
	list := missing[0]
	if asked[1] > 0 && len(missing[1]) < len(missing[0]) {
		list = missing[1]
	}
	m := p.diagnosis(s, list[0])
	var titles []string
	for _, a := range list {
		titles = append(titles, a.Title)
	}
	c.Found = fmt.Sprintf("%s cannot count %s: %s", who, strings.Join(titles, ", "), m.Reason)
	c.Status = Warn
	if m.State == perf.NotThere {
		c.Status = NotHere
	}
	if m.Remedy != "" {
		c.Found += " (remedy: " + m.Remedy + ")"
	}
	c.Fix, c.Undo = p.commands(m)
	if len(c.Fix) > 0 {
		c.Takes = TakesPgtlb
	}
	return c
}

// who names the user that pgtlb runs as, with what gives it rights.
func (p *Perf) who() string {
	name := fmt.Sprintf("uid %d", p.UID)
	switch {
	case p.UID == 0 && p.UserNS:
		name = "root of a user namespace"
	case p.UID == 0:
		name = "root"
	case p.UID == p.ServerUID:
		name = fmt.Sprintf("the server's user (uid %d)", p.UID)
	}
	// Which of the two it is matters: Debian's level 3 is not passed with CAP_PERFMON.
	switch {
	case p.UID == 0:
	case p.CapEff>>capSysAdminBit&1 == 1:
		name += " with CAP_SYS_ADMIN"
	case p.CapEff>>capPerfmonBit&1 == 1:
		name += " with CAP_PERFMON"
	}
	return fmt.Sprintf("%s at kernel.perf_event_paranoid %d", name, p.Paranoid)
}

// commands are the lines that a diagnosis advises, and those that take them back.
func (p *Perf) commands(m perf.Missing) (fix, undo []string) {
	for _, cmd := range m.Commands {
		if strings.HasPrefix(cmd, "setcap ") {
			set, back := p.setcap()
			fix, undo = append(fix, set...), append(undo, back...)
			continue
		}
		fix, undo = append(fix, cmd), append(undo, fmt.Sprintf("sysctl -w kernel.perf_event_paranoid=%d", p.Paranoid))
	}
	return fix, undo
}

// setcap are the commands that give pgtlb all rights that it lacks, and those that
// take them back. One setcap for all: it replaces what a file has. Whoever may run
// the file has the rights, so one that all may run is given to a group before; after
// would not do, because a change of the group takes the rights away again.
func (p *Perf) setcap() (set, back []string) {
	count := "cap_perfmon"
	if p.LastCap > 0 && p.LastCap < capPerfmonBit {
		count = "cap_sys_admin" // before Linux 5.8
	}
	refused := func(e string) bool { return e == "EACCES" || e == "EPERM" }
	var want, held []string
	for _, c := range []struct {
		name       string
		has, lacks bool
	}{
		{count, p.UID != 0 && (perf.Facts{CapEff: p.CapEff}).MayCount(), slices.ContainsFunc(p.Answers, func(a PerfAnswer) bool { return refused(a.Error) })},
		{"cap_sys_ptrace", p.UID != 0 && p.CapEff>>capSysPtraceBit&1 == 1, refused(p.Map)},
	} {
		if c.has || c.lacks {
			want = append(want, c.name)
		}
		if c.has {
			held = append(held, c.name)
		}
	}
	binary := quote(p.Binary)
	give, take := fmt.Sprintf("setcap %s+ep %s", strings.Join(want, ","), binary), "setcap -r "+binary
	if len(held) > 0 {
		take = fmt.Sprintf("setcap %s+ep %s", strings.Join(held, ","), binary)
	}
	if p.BinaryMode&1 == 0 {
		return []string{give}, []string{take}
	}
	const open = "# everybody may run this file, and would have the right: first give it to the group of those who may"
	return []string{open, `chgrp "$GROUP" ` + binary, fmt.Sprintf("chmod %o %s", p.BinaryMode&^7, binary), give},
		[]string{take, fmt.Sprintf("chmod %o %s", p.BinaryMode, binary), "# and give the file its old group back with chgrp"}
}

// Capability bits (include/uapi/linux/capability.h).
const (
	capSysPtraceBit = 19
	capSysAdminBit  = 21
	capPerfmonBit   = 38
)

// checkNMIWatchdog is "nmi_watchdog": it holds one counter of each CPU.
func checkNMIWatchdog(s *Snapshot) Check {
	c := Check{ID: "nmi_watchdog", Title: "NMI watchdog", Sources: []string{"/proc/sys/kernel/nmi_watchdog"},
		Why: "The watchdog holds one hardware counter of every CPU. That does harm only where events then take turns (are multiplexed) and are counted for a part of the time."}
	if elsewhere(s, &c) {
		return c
	}
	n, ok := s.sysctl("kernel.nmi_watchdog")
	switch {
	case !ok:
		c.Status, c.Found = NotHere, "this kernel has no NMI watchdog"
	case n == 0:
		c.Status, c.Found = OK, "kernel.nmi_watchdog is 0"
	case s.System.Perf != nil && s.System.Perf.facts(s, false).NoPMU():
		c.Status, c.Found = NotHere, "kernel.nmi_watchdog is 1, but this machine has no hardware counters (PMU)"
	default:
		c.Status, c.Found = OK, fmt.Sprintf("kernel.nmi_watchdog is %d: one hardware counter of each CPU is not free, which matters only where events take turns", n)
		c.Fix, c.Undo, c.Takes = []string{"sysctl -w kernel.nmi_watchdog=0"}, []string{fmt.Sprintf("sysctl -w kernel.nmi_watchdog=%d", n)}, TakesNothing
	}
	return c
}

// checkProcessDetails is "process_details": whether the memory maps of the server's
// processes may be read.
func checkProcessDetails(s *Snapshot) Check {
	c := Check{ID: "process_details", Title: "Memory maps of the server's processes",
		Sources:  []string{"/proc/PID/smaps_rollup of the postmaster"},
		Expected: "readable",
		Why: "smaps proves the page size of shared memory, and Pss tells shared from private memory. Reading it is a matter of ptrace: " +
			"the process's own user or CAP_SYS_PTRACE; CAP_PERFMON and kernel.yama.ptrace_scope do not matter. Page tables and faults of each process are readable for all."}
	if noPostmaster(s, &c) {
		return c
	}
	p := s.System.Perf
	if p == nil {
		c.Status, c.Found = Unknown, "these are files of a machine, and no kernel was asked"
		return c
	}
	switch p.Map {
	case "":
		c.Status, c.Found = OK, "the memory map of the postmaster is readable"
	case "-":
		c.Status, c.Found = NotHere, "there is no postmaster to ask for"
	case "ENOENT":
		c.Status, c.Found = NotHere, "the kernel has no smaps_rollup (since Linux 4.14), or the process has ended"
	case "EACCES", "EPERM":
		c.Status = Warn
		c.Found = fmt.Sprintf("uid %d may not read the memory maps of uid %d", p.UID, p.ServerUID)
		c.Expected = "pgtlb as root, as the server's user with its own group, or with CAP_SYS_PTRACE"
		c.Takes = TakesPgtlb
		if s.inContainer() {
			c.Fix = []string{"# start the container that pgtlb runs in with this option:", "--cap-add=SYS_PTRACE"}
			c.Undo = []string{"# start the container that pgtlb runs in without this option:", "--cap-add=SYS_PTRACE"}
			return c
		}
		set, back := p.setcap()
		c.Fix, c.Undo = set, back
	default:
		c.Status, c.Found = Unknown, "reading the memory map of the postmaster: "+p.Map
	}
	return c
}
