package perf

import (
	"fmt"
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

	// quiet events may honestly stay at 0 while the self-test works; it believes them.
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
	// Postmaster is the pid, as this process sees it, of the process whose tree is counted; 0 counts the machine.
	Postmaster int
}

// System counts every online CPU, whatever runs there.
func System() Scope { return Scope{} }

// Tree counts a process, the children it has now and all that it starts later.
func Tree(pid int) Scope { return Scope{Postmaster: pid} }

// String returns the words to show beside a figure.
func (s Scope) String() string {
	if s.Postmaster == 0 {
		return "system wide"
	}
	return fmt.Sprintf("postmaster %d and its children", s.Postmaster)
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
	}
}

// keepOrder lists the events from the one to give up last to the one to give up first when descriptors are short.
func keepOrder() []string {
	return []string{PageFaults, CyclesUser, CyclesKernel, DTLBLoadMisses, DTLBLoads, PageFaultsMinor, PageFaultsMajor,
		ContextSwitches, Instructions, Cycles, WalkCyclesLoad, DTLBWalks, WalkCyclesStore}
}

// reduced returns the layouts of the plan with only the wanted events, without empty groups and repetitions. A
// denominator that nothing needs is left out too.
func (p plan) reduced(want []string) []layout {
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
