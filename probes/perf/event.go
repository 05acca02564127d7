package perf

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Ids of the events this package knows. They are the metric ids of the program where the event is the metric.
const (
	PageFaults      = "page_faults"       // user and kernel mode, as perf stat counts them
	PageFaultsMinor = "page_faults_minor" // no disk read was needed
	PageFaultsMajor = "page_faults_major" // waited for a disk read
	ContextSwitches = "context_switches"
	CyclesUser      = "cycles_user"
	CyclesKernel    = "cycles_kernel"
	Instructions    = "instructions" // user and kernel
	DTLBLoads       = "dtlb_loads"
	DTLBLoadMisses  = "dtlb_load_misses"
	Cycles          = "cycles"            // user and kernel; opened only as the denominator of WalkCyclesLoad
	WalkCyclesLoad  = "walk_cycles_load"  // cycles with a page walk for a load; denominator: Cycles
	WalkCyclesStore = "walk_cycles_store" // cycles with a page walk for a store; denominator: CyclesUser+CyclesKernel
	DTLBWalks       = "dtlb_walks"        // ARM: page walks for data, a count, not cycles

	// Page walks of the user space only, one group, which bounds what larger pages can win there.
	WalkUserCycles = "walk_user_cycles" // cycles:u of this group: the denominator
	WalkUserLoad   = "walk_user_load"   // cycles with a walk for a load
	WalkUserStore  = "walk_user_store"  // cycles with a walk for a store
	WalkUserData   = "walk_user_data"   // ARM: walks for data under way, summed over cycles
	WalkUserInstr  = "walk_user_instr"  // cycles with a walk for an instruction fetch

	// AMD: page walks for data by the size of the page that was looked for, counts.
	DTLBWalks4K = "dtlb_walks_4k"
	DTLBWalks2M = "dtlb_walks_2m"
	DTLBWalks1G = "dtlb_walks_1g"
)

// Event is one kernel event that can be opened.
type Event struct {
	ID    string
	Title string // as the perf tool or the vendor names it: "cycles:u"
	Desc  string // what it counts, and where the code comes from

	// Type and Config go into perf_event_attr as they are.
	Type                       uint32
	Config                     uint64
	ExcludeUser, ExcludeKernel bool

	// quiet events may honestly stay at 0 while the self-test works; it believes them. The self-test makes page walks for
	// data in small pages, not for instructions or larger pages.
	quiet bool

	// Scope says what was counted, in the words to show beside the figure. Filled in by Set.Events.
	Scope string
	// Group is the group the event is open in. Filled in by Set.Events.
	Group string
}

// The kernel's event types (include/uapi/linux/perf_event.h).
const (
	typeSoftware = 1
	typeRaw      = 4
)

// Hardware says that the event needs the CPU's counters (PMU).
func (e Event) Hardware() bool { return e.Type != typeSoftware }

// Scope says whose events are counted. The zero value is the whole machine.
type Scope struct {
	// Postmaster is the pid, as this process sees it, of the process whose tree is counted; 0 for the other scopes.
	Postmaster int
	// Cgroup is the directory of the control group that is counted, with the groups below it; empty for the other
	// scopes.
	Cgroup string
}

// System counts every online CPU, whatever runs there.
func System() Scope { return Scope{} }

// Cgroup counts what runs in a control group and in the groups below it. The directory is one of the version 2
// hierarchy, or of the perf_event controller of version 1. It takes the same rights as System.
func Cgroup(dir string) Scope { return Scope{Cgroup: dir} }

// Tree counts a process, the children it has now and all that it starts later.
func Tree(pid int) Scope { return Scope{Postmaster: pid} }

// String returns the words to show beside a figure.
func (s Scope) String() string {
	switch {
	case s.Cgroup != "":
		return "cgroup " + filepath.Base(s.Cgroup)
	case s.Postmaster != 0:
		return fmt.Sprintf("postmaster %d and its children", s.Postmaster)
	}
	return "system wide"
}

// layout is one way to spread the events of a plan over groups.
type layout struct {
	groups [][]string
	// exclusive keeps a group alone on the PMU while it runs, so that groups take turns even where the driver believes
	// they fit together and the hardware then counts in only one of them (one counter per event id).
	exclusive bool
}

// plan is a set of events with the layouts to try, best first. What a layout leaves out could only be shown as a
// ratio that would not come from one group.
type plan struct {
	name    string
	layouts []layout
	// whole plans say nothing without one of the events that the CPU has: a bound made of a part is none.
	whole bool
}

// plans returns the groups of the program. At most 4 general counters each: that is what a CPU with hyper-threading
// has, and the NMI watchdog may hold one.
func plans() []plan {
	return []plan{
		{name: "software", layouts: []layout{
			{groups: [][]string{{PageFaults, PageFaultsMinor, PageFaultsMajor, ContextSwitches}}},
			{groups: [][]string{{PageFaults}, {PageFaultsMinor}, {PageFaultsMajor}, {ContextSwitches}}},
		}},
		{name: "cycles", layouts: []layout{
			{groups: [][]string{{CyclesUser, CyclesKernel, Instructions, WalkCyclesStore}}},
			{groups: [][]string{{CyclesUser, CyclesKernel, WalkCyclesStore}, {Instructions}}},
			{groups: [][]string{{CyclesUser, CyclesKernel}, {Instructions}}},
			{groups: [][]string{{CyclesUser}, {CyclesKernel}, {Instructions}}},
			{groups: [][]string{{CyclesUser, Instructions}, {CyclesKernel}}, exclusive: true},
			{groups: [][]string{{CyclesUser}, {CyclesKernel}, {Instructions}}, exclusive: true},
		}},
		{name: "tlb", layouts: []layout{
			{groups: [][]string{{Cycles, DTLBLoads, DTLBLoadMisses, WalkCyclesLoad, DTLBWalks}}},
			{groups: [][]string{{DTLBLoads, DTLBLoadMisses}, {Cycles, WalkCyclesLoad}, {DTLBWalks}}},
			{groups: [][]string{{DTLBLoads}, {DTLBLoadMisses}, {DTLBWalks}}},
			{groups: [][]string{{DTLBLoads}, {DTLBLoadMisses}, {DTLBWalks}}, exclusive: true},
		}},
		{name: "walks", whole: true, layouts: []layout{
			{groups: [][]string{{WalkUserCycles, WalkUserLoad, WalkUserStore, WalkUserData, WalkUserInstr}}},
		}},
		{name: "page sizes", layouts: []layout{
			{groups: [][]string{{DTLBWalks4K, DTLBWalks2M, DTLBWalks1G}}},
		}},
	}
}

// keepOrder lists the events from the one to give up last to the one to give up first when descriptors are short.
func keepOrder() []string {
	return []string{PageFaults, CyclesUser, CyclesKernel, DTLBLoadMisses, DTLBLoads, PageFaultsMinor, PageFaultsMajor,
		ContextSwitches, Instructions, Cycles, WalkCyclesLoad, WalkUserCycles, WalkUserLoad, WalkUserStore, WalkUserData,
		WalkUserInstr, DTLBWalks, DTLBWalks4K, DTLBWalks2M, DTLBWalks1G, WalkCyclesStore}
}

// of returns the plan with the events that the CPU has.
func (p plan) of(has func(id string) bool) plan {
	ids := slices.DeleteFunc(p.layouts[0].ids(), func(id string) bool { return !has(id) })
	part := p
	part.whole = false
	p.layouts = part.reduced(ids)
	return p
}

// reduced returns the layouts of the plan with only the wanted events, without empty groups and repetitions. A
// denominator that nothing needs is left out too.
func (p plan) reduced(want []string) []layout {
	lacks := func(id string) bool { return !slices.Contains(want, id) }
	if p.whole && len(p.layouts) > 0 && slices.ContainsFunc(p.layouts[0].ids(), lacks) {
		return nil
	}
	var out []layout
	for _, l := range p.layouts {
		r := layout{exclusive: l.exclusive}
		for _, g := range l.groups {
			g = slices.DeleteFunc(slices.Clone(g), func(id string) bool { return !slices.Contains(want, id) })
			g = slices.DeleteFunc(g, func(id string) bool { return id == Cycles && !slices.Contains(g, WalkCyclesLoad) })
			if len(g) > 0 {
				r.groups = append(r.groups, g)
			}
		}
		same := func(o layout) bool {
			return o.exclusive == r.exclusive && slices.EqualFunc(o.groups, r.groups, slices.Equal)
		}
		if len(r.groups) > 0 && !slices.ContainsFunc(out, same) {
			out = append(out, r)
		}
	}
	return out
}

// ids returns every event of the layout in order.
func (l layout) ids() []string { return slices.Concat(l.groups...) }

// String lists the groups, for messages: "cycles_user+cycles_kernel, instructions".
func (l layout) String() string {
	parts := make([]string, len(l.groups))
	for i, g := range l.groups {
		parts[i] = strings.Join(g, "+")
	}
	s := strings.Join(parts, ", ")
	if l.exclusive {
		s += " (taking turns)"
	}
	return s
}
