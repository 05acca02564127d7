package perf

import (
	"fmt"
	"slices"
)

// walkCode is the raw code of the page walk events of a group of CPU models: event, unit mask << 8, counter mask << 24.
type walkCode struct {
	family             string // name of the generation
	models             []int  // x86 family 6 models
	load, store, instr uint64
	event              string // the vendor's name behind DTLB_LOAD_MISSES., DTLB_STORE_MISSES. and ITLB_MISSES.
	file               string // where the code is from, below tools/perf/pmu-events/arch/x86
	nested             bool   // the walks of a hypervisor's own tables (EPT) are in it
}

// intelWalkCodes is taken from virtual-memory.json of each folder of tools/perf/pmu-events/arch/x86 of the Linux tree;
// the models from mapfile.csv there and arch/x86/include/asm/intel-family.h. Generations with two kinds of cores (Alder
// Lake and later client CPUs) are left out: the code differs between their cores. WALK_PENDING adds up the walks that
// are under way in each cycle, the others count cycles with one or more.
func intelWalkCodes() []walkCode {
	return []walkCode{
		{"Ivy Bridge", []int{0x3a, 0x3e}, 0x8408, 0x0449, 0x0485, "WALK_DURATION", "ivytown", false},
		{"Haswell", []int{0x3c, 0x3f, 0x45, 0x46}, 0x1008, 0x1049, 0x1085, "WALK_DURATION", "haswellx", false},
		{"Broadwell", []int{0x3d, 0x47, 0x4f, 0x56}, 0x1008, 0x1049, 0x1085, "WALK_DURATION", "broadwellx", false},
		{"Skylake", []int{0x4e, 0x5e, 0x8e, 0x9e, 0xa5, 0xa6}, 0x01001008, 0x01001049, 0x01001085, "WALK_ACTIVE", "skylake", false},
		{"Skylake or Cascade Lake server", []int{0x55}, 0x01001008, 0x01001049, 0x01001085, "WALK_ACTIVE", "skylakex", false},
		{"Ice Lake", []int{0x6a, 0x6c, 0x7d, 0x7e, 0xa7}, 0x01001008, 0x01001049, 0x01001085, "WALK_ACTIVE", "icelakex", false},
		{"Sapphire Rapids or later", []int{0x8f, 0xcf, 0xad, 0xae}, 0x01001012, 0x01001013, 0x01001011, "WALK_ACTIVE", "sapphirerapids", false},
		{"Sierra Forest or Grand Ridge", []int{0xaf, 0xb6}, 0x1008, 0x1049, 0x1085, "WALK_PENDING", "sierraforest", true},
	}
}

// Arm's own cores that count the page walks under way in each cycle: Neoverse V3AE, V3 and N3
// (tools/perf/pmu-events/arch/arm64/arm/neoverse-v3 and neoverse-n3, tlb.json).
const armLtd = 0x41

func armWalkCores() []int { return []int{0xd83, 0xd84, 0xd8e} }

// walkEvents returns the page walk events of a CPU, or what is missing and why.
func walkEvents(c CPU) ([]Event, []Missing) {
	switch c.Vendor {
	case "GenuineIntel":
		if w, known := intelWalks(c); known {
			return w.events(), nil
		}
	case "ARM":
		return armWalks(c)
	case "AuthenticAMD", "HygonGenuine":
		missing := noWalkCycles("AMD CPUs have no event for the cycles spent in page walks")
		if c.Family < amdZen {
			return nil, missing
		}
		return amdWalks(), missing
	}
	return nil, noWalkCycles(fmt.Sprintf("no event code for cycles in page walks is known for %s", c))
}

// intelWalks finds the codes of an Intel CPU.
func intelWalks(c CPU) (walkCode, bool) {
	for _, w := range intelWalkCodes() {
		if c.Vendor == "GenuineIntel" && c.Family == 6 && slices.Contains(w.models, c.Model) {
			return w, true
		}
	}
	return walkCode{}, false
}

func (w walkCode) events() []Event {
	return []Event{
		w.walkEvent(WalkCyclesLoad, "DTLB_LOAD_MISSES.", "loads", w.load),
		w.walkEvent(WalkCyclesStore, "DTLB_STORE_MISSES.", "stores", w.store),
		ofUser(w.walkEvent(WalkUserLoad, "DTLB_LOAD_MISSES.", "loads", w.load)),
		ofUser(w.walkEvent(WalkUserStore, "DTLB_STORE_MISSES.", "stores", w.store)),
		calm(ofUser(w.walkEvent(WalkUserInstr, "ITLB_MISSES.", "instructions", w.instr))),
	}
}

func (w walkCode) walkEvent(id, prefix, what string, code uint64) Event {
	return Event{ID: id, Title: prefix + w.event, Type: typeRaw, Config: code,
		Desc: fmt.Sprintf("raw 0x%08x, %s%s of %s (Linux tools/perf/pmu-events/arch/x86/%s/virtual-memory.json): cycles with a page walk for %s",
			code, prefix, w.event, w.family, w.file, what)}
}

// armWalks are common events of the ARMv8 PMU (tools/perf/pmu-events/arch/arm64/common-and-microarch.json).
func armWalks(c CPU) ([]Event, []Missing) {
	out := []Event{{ID: DTLBWalks, Title: "DTLB_WALK", Type: typeRaw, Config: 0x34,
		Desc: "raw 0x34, DTLB_WALK of the ARMv8 PMU: data accesses that caused a page walk; a count, not cycles"}}
	if c.Implementer == armLtd && slices.Contains(armWalkCores(), c.Part) {
		out = append(out,
			ofUser(Event{ID: WalkUserData, Title: "DTLB_WALK_PERCYC", Type: typeRaw, Config: 0x8128,
				Desc: "raw 0x8128, DTLB_WALK_PERCYC (Linux tools/perf/pmu-events/arch/arm64/arm/neoverse-v3/tlb.json): page walks for data under way, summed over cycles"}),
			calm(ofUser(Event{ID: WalkUserInstr, Title: "ITLB_WALK_PERCYC", Type: typeRaw, Config: 0x8129,
				Desc: "raw 0x8129, ITLB_WALK_PERCYC (Linux tools/perf/pmu-events/arch/arm64/arm/neoverse-v3/tlb.json): page walks for instructions under way, summed over cycles"})))
	}
	return out, noWalkCycles("ARMv8 CPUs count page walks (dtlb_walks), not the cycles with a walk for a load")
}

// amdZen is the first family of Zen CPUs.
const amdZen = 0x17

// amdWalks split the page walks of dTLB-load-misses (raw 0xf045) by the size of the page: unit masks of
// ls_l1_d_tlb_miss, the same from Zen 1 to Zen 5 (tools/perf/pmu-events/arch/x86/amdzen1 to amdzen4, memory.json, and
// amdzen5, load-store.json).
func amdWalks() []Event {
	miss := func(id, size, names string, umask uint64) Event {
		return Event{ID: id, Title: "ls_l1_d_tlb_miss, " + size + " pages", Type: typeRaw, Config: umask<<8 | 0x45,
			Desc: fmt.Sprintf("raw 0x%04x, ls_l1_d_tlb_miss.%s (Linux tools/perf/pmu-events/arch/x86/amdzen4/memory.json): page walks for data in %s pages; a count, not cycles",
				umask<<8|0x45, names, size)}
	}
	return []Event{
		miss(DTLBWalks4K, "4 kB", "tlb_reload_4k_l2_miss and tlb_reload_coalesced_page_miss", 0x30),
		calm(miss(DTLBWalks2M, "2 MB", "tlb_reload_2m_l2_miss", 0x40)),
		calm(miss(DTLBWalks1G, "1 GB", "tlb_reload_1g_l2_miss", 0x80)),
	}
}

// ofUser leaves the kernel out of an event.
func ofUser(e Event) Event {
	e.ExcludeKernel = true
	e.Title += ":u"
	return e
}

// calm marks an event as one that the self-test does not raise.
func calm(e Event) Event {
	e.quiet = true
	return e
}

// NestedWalksNote is what WalkNote says where the hypervisor's own walks are left out.
const NestedWalksNote = "This CPU does not count the walks through the hypervisor's own tables (EPT): inside this virtual machine it is no bound."

// WalkNote says what the bound made of page walks leaves out on this CPU; empty where it is one.
func WalkNote(c CPU) string {
	if w, known := intelWalks(c); c.Hypervisor && known && !w.nested {
		return NestedWalksNote
	}
	return ""
}

func noWalkCycles(reason string) []Missing {
	return []Missing{
		{ID: WalkCyclesLoad, State: NotThere, Reason: reason},
		{ID: WalkCyclesStore, State: NotThere, Reason: reason},
		{ID: Cycles, State: NotThere, Reason: "only counted as the denominator of walk_cycles_load: " + reason},
	}
}
