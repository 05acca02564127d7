package perf

import (
	"fmt"
	"slices"
)

// walkCode is the raw code of the page walk events of a group of CPU models: event, unit mask << 8, counter mask << 24.
type walkCode struct {
	family      string // name of the generation
	models      []int  // x86 family 6 models
	load, store uint64
	event       string // the vendor's name behind DTLB_LOAD_MISSES. and DTLB_STORE_MISSES.
}

// intelWalkCodes is taken from tools/perf/pmu-events/arch/x86/*/virtual-memory.json of the Linux tree; the models from
// its mapfile.csv and arch/x86/include/asm/intel-family.h. Generations with two kinds of cores (Alder Lake and
// later client CPUs) are left out: the code differs between their cores.
func intelWalkCodes() []walkCode {
	return []walkCode{
		{"Ivy Bridge", []int{0x3a, 0x3e}, 0x8408, 0x0449, "WALK_DURATION"},
		{"Haswell", []int{0x3c, 0x3f, 0x45, 0x46}, 0x1008, 0x1049, "WALK_DURATION"},
		{"Broadwell", []int{0x3d, 0x47, 0x4f, 0x56}, 0x1008, 0x1049, "WALK_DURATION"},
		{"Skylake", []int{0x4e, 0x5e, 0x8e, 0x9e, 0xa5, 0xa6}, 0x01001008, 0x01001049, "WALK_ACTIVE"},
		{"Skylake or Cascade Lake server", []int{0x55}, 0x01001008, 0x01001049, "WALK_ACTIVE"},
		{"Ice Lake", []int{0x6a, 0x6c, 0x7d, 0x7e, 0xa7}, 0x01001008, 0x01001049, "WALK_ACTIVE"},
		{"Sapphire Rapids or later", []int{0x8f, 0xcf, 0xad, 0xae}, 0x01001012, 0x01001013, "WALK_ACTIVE"},
	}
}

// walkEvents returns the page walk events of a CPU, or what is missing and why.
func walkEvents(c CPU) ([]Event, []Missing) {
	switch c.Vendor {
	case "GenuineIntel":
		for _, w := range intelWalkCodes() {
			if c.Family == 6 && slices.Contains(w.models, c.Model) {
				return []Event{
					w.walkEvent(WalkCyclesLoad, "DTLB_LOAD_MISSES.", "loads", w.load),
					w.walkEvent(WalkCyclesStore, "DTLB_STORE_MISSES.", "stores", w.store),
				}, nil
			}
		}
	case "ARM":
		// DTLB_WALK of the ARMv8 PMUv3 common events (Arm ARM, D11).
		walks := Event{ID: DTLBWalks, Title: "DTLB_WALK", Type: typeRaw, Config: 0x34,
			Desc: "raw 0x34, DTLB_WALK of the ARMv8 PMU: data accesses that caused a page walk; a count, not cycles"}
		return []Event{walks}, noWalkCycles("ARMv8 CPUs count page walks (dtlb_walks), not the cycles spent in them")
	case "AuthenticAMD", "HygonGenuine":
		return nil, noWalkCycles("AMD CPUs have no event for the cycles spent in page walks")
	}
	return nil, noWalkCycles(fmt.Sprintf("no event code for cycles in page walks is known for %s", c))
}

func (w walkCode) walkEvent(id, prefix, what string, code uint64) Event {
	return Event{ID: id, Title: prefix + w.event, Type: typeRaw, Config: code,
		Desc: fmt.Sprintf("raw 0x%08x, %s%s of %s (Linux tools/perf/pmu-events): cycles with a page walk for %s",
			code, prefix, w.event, w.family, what)}
}

func noWalkCycles(reason string) []Missing {
	return []Missing{
		{ID: WalkCyclesLoad, State: NotThere, Reason: reason},
		{ID: WalkCyclesStore, State: NotThere, Reason: reason},
		{ID: Cycles, State: NotThere, Reason: "only counted as the denominator of walk_cycles_load: " + reason},
	}
}
