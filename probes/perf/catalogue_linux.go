package perf

import (
	"slices"

	perfutils "github.com/hodgesds/perf-utils"
	"golang.org/x/sys/unix"
)

// catalogue returns the events that a CPU may have, and those it cannot have with the reason. The attributes come
// from perf-utils; its builders exclude the kernel, so what is excluded is decided here.
func catalogue(c CPU) ([]Event, []Missing) {
	const read, access, miss = unix.PERF_COUNT_HW_CACHE_OP_READ, unix.PERF_COUNT_HW_CACHE_RESULT_ACCESS,
		unix.PERF_COUNT_HW_CACHE_RESULT_MISS
	cycles := perfutils.CPUCyclesEventAttr()
	user := event(CyclesUser, "cycles:u", "CPU cycles in user mode (generic hardware event)", cycles)
	user.ExcludeKernel = true
	kernel := event(CyclesKernel, "cycles:k", "CPU cycles in the kernel (generic hardware event)", cycles)
	kernel.ExcludeUser = true
	events := []Event{
		event(PageFaults, "page-faults", "page faults in user and kernel mode (software event)", perfutils.PageFaultsEventAttr()),
		event(PageFaultsMinor, "minor-faults", "page faults served without a disk read (software event)", perfutils.MinorPageFaultsEventAttr()),
		event(PageFaultsMajor, "major-faults", "page faults that waited for a disk read (software event)", perfutils.MajorPageFaultsEventAttr()),
		event(ContextSwitches, "context-switches", "context switches (software event)", perfutils.ContextSwitchesEventAttr()),
		user, kernel,
		event(Instructions, "instructions", "instructions retired (generic hardware event)", perfutils.CPUInstructionsEventAttr()),
		event(DTLBLoads, "dTLB-loads", "generic cache event dTLB-loads; with dTLB-load-misses: "+MissRateMeaning(c), perfutils.DataTLBEventAttr(read, access)),
		event(DTLBLoadMisses, "dTLB-load-misses", "generic cache event dTLB-load-misses; with dTLB-loads: "+MissRateMeaning(c), perfutils.DataTLBEventAttr(read, miss)),
	}
	walks, missing := walkEvents(c)
	counts := func(id string) bool { return slices.ContainsFunc(walks, func(e Event) bool { return e.ID == id }) }
	if counts(WalkCyclesLoad) {
		events = append(events, event(Cycles, "cycles", "CPU cycles, user and kernel, counted in the group of the load walks", cycles))
	}
	if counts(WalkUserInstr) {
		events = append(events, ofUser(event(WalkUserCycles, "cycles", "CPU cycles in user mode, counted in the group of the page walks of the user space", cycles)))
	}
	return append(events, walks...), missing
}

func event(id, title, desc string, a unix.PerfEventAttr) Event {
	return Event{ID: id, Title: title, Desc: desc, Type: a.Type, Config: a.Config, quiet: a.Type == typeSoftware}
}

// attr returns the attributes to open an event with. Siblings of a group start with their leader.
func (e Event) attr(leader, inherit, atomic bool) *unix.PerfEventAttr {
	a := &unix.PerfEventAttr{Type: e.Type, Config: e.Config, Size: perfutils.EventAttrSize,
		Read_format: unix.PERF_FORMAT_ID | unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING}
	set := func(on bool, bit uint64) {
		if on {
			a.Bits |= bit
		}
	}
	set(leader, unix.PerfBitDisabled)
	set(inherit, unix.PerfBitInherit)
	set(e.ExcludeUser, unix.PerfBitExcludeUser)
	set(e.ExcludeKernel, unix.PerfBitExcludeKernel)
	if atomic {
		a.Read_format |= unix.PERF_FORMAT_GROUP
	}
	return a
}
