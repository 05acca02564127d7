package perf

import (
	"slices"
	"strings"
	"testing"
)

func TestParseCPU(t *testing.T) {
	for _, c := range []struct {
		text string
		want CPU
		name string
	}{
		{"processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 63\nmodel name\t: Intel(R) Xeon(R) CPU E5-2697 v3\n\nprocessor\t: 1\nmodel\t\t: 1\n",
			CPU{Vendor: "GenuineIntel", Family: 6, Model: 63, Name: "Intel(R) Xeon(R) CPU E5-2697 v3"}, "GenuineIntel family 6 model 63"},
		{"processor\t: 0\nBogoMIPS\t: 243.75\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd0c\n",
			CPU{Vendor: "ARM", Implementer: 0x41, Part: 0xd0c}, "ARM CPU part 0xd0c"},
		{"processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: AMD EPYC 9755\nflags\t\t: fpu hypervisor lahf_lm\n",
			CPU{Vendor: "AuthenticAMD", Family: 26, Model: 2, Name: "AMD EPYC 9755", Hypervisor: true}, "AuthenticAMD family 26 model 2"},
		{"processor\t: 0\nhart\t\t: 0\nisa\t\t: rv64imafdch\nmmu\t\t: sv57\n", CPU{Vendor: "RISC-V"}, "RISC-V CPU"},
		{"", CPU{}, "this CPU"},
	} {
		got, err := ParseCPU(strings.NewReader(c.text))
		if err != nil || got != c.want || got.String() != c.name {
			t.Errorf("%+v (%s), %v; want %+v (%s)", got, got, err, c.want, c.name)
		}
	}
}

func FuzzParseCPU(f *testing.F) {
	f.Add("processor : 0\nmodel : 63\n")
	f.Fuzz(func(t *testing.T, s string) {
		if c, err := ParseCPU(strings.NewReader(s)); err == nil && c.String() == "" {
			t.Error("a CPU without a name")
		}
	})
}

// Codes: the table of the Linux tree named in intelWalkCodes, written here as the perf tool's event, umask and cmask.
func TestWalkEvents(t *testing.T) {
	raw := func(event, umask, cmask uint64) uint64 { return event | umask<<8 | cmask<<24 }
	for _, c := range []struct {
		name               string
		model              int
		load, store, instr uint64
	}{
		{"Ivy Bridge server", 62, raw(0x08, 0x84, 0), raw(0x49, 0x04, 0), raw(0x85, 0x04, 0)},
		{"Haswell server", 63, raw(0x08, 0x10, 0), raw(0x49, 0x10, 0), raw(0x85, 0x10, 0)},
		{"Broadwell server", 79, raw(0x08, 0x10, 0), raw(0x49, 0x10, 0), raw(0x85, 0x10, 0)},
		{"Skylake, Cascade Lake server", 85, raw(0x08, 0x10, 1), raw(0x49, 0x10, 1), raw(0x85, 0x10, 1)},
		{"Ice Lake server", 106, raw(0x08, 0x10, 1), raw(0x49, 0x10, 1), raw(0x85, 0x10, 1)},
		{"Sapphire Rapids", 143, raw(0x12, 0x10, 1), raw(0x13, 0x10, 1), raw(0x11, 0x10, 1)},
		{"Emerald Rapids", 207, raw(0x12, 0x10, 1), raw(0x13, 0x10, 1), raw(0x11, 0x10, 1)},
		{"Granite Rapids", 173, raw(0x12, 0x10, 1), raw(0x13, 0x10, 1), raw(0x11, 0x10, 1)},
		{"Sierra Forest", 175, raw(0x08, 0x10, 0), raw(0x49, 0x10, 0), raw(0x85, 0x10, 0)},
	} {
		events, missing := walkEvents(CPU{Vendor: "GenuineIntel", Family: 6, Model: c.model})
		if len(missing) != 0 {
			t.Errorf("%s: missing %v", c.name, missing)
		}
		want := map[string]uint64{WalkCyclesLoad: c.load, WalkCyclesStore: c.store, WalkUserLoad: c.load, WalkUserStore: c.store, WalkUserInstr: c.instr}
		if len(events) != len(want) {
			t.Errorf("%s: %v", c.name, events)
		}
		for _, e := range events {
			ofUser := strings.HasPrefix(e.ID, "walk_user")
			if e.Config != want[e.ID] || e.Type != typeRaw || e.ExcludeKernel != ofUser || e.ExcludeUser {
				t.Errorf("%s: %s is %x, kernel excluded %v; want %x", c.name, e.ID, e.Config, e.ExcludeKernel, want[e.ID])
			}
			if !strings.Contains(e.Desc, "virtual-memory.json") {
				t.Errorf("%s: the code has no source: %s", c.name, e.Desc)
			}
		}
	}
}

// Of data the self-test makes page walks in small pages; that an event for instructions or larger pages stays at 0
// meanwhile proves nothing.
func TestSelfTestBelievesWhatItDoesNotRaise(t *testing.T) {
	for _, c := range []CPU{{Vendor: "GenuineIntel", Family: 6, Model: 0x6a}, {Vendor: "AuthenticAMD", Family: 0x19},
		{Vendor: "ARM", Implementer: 0x41, Part: 0xd8e}} {
		events, _ := walkEvents(c)
		for _, e := range events {
			want := slices.Contains([]string{WalkUserInstr, DTLBWalks2M, DTLBWalks1G}, e.ID)
			if e.quiet != want {
				t.Errorf("%s: %s believed at 0: %v", c, e.ID, e.quiet)
			}
		}
	}
}

func TestWalkEventsElsewhere(t *testing.T) {
	for _, c := range []struct {
		cpu    CPU
		events map[string]uint64
		reason string
	}{
		{CPU{Vendor: "AuthenticAMD", Family: 0x1a, Model: 2}, map[string]uint64{DTLBWalks4K: 0x3045, DTLBWalks2M: 0x4045, DTLBWalks1G: 0x8045},
			"AMD CPUs have no event"}, // Zen 5
		{CPU{Vendor: "AuthenticAMD", Family: 0x17, Model: 49}, map[string]uint64{DTLBWalks4K: 0x3045, DTLBWalks2M: 0x4045, DTLBWalks1G: 0x8045},
			"AMD CPUs have no event"}, // Zen 2
		{CPU{Vendor: "AuthenticAMD", Family: 0x15, Model: 2}, nil, "AMD CPUs have no event"},
		{CPU{Vendor: "ARM", Implementer: 0x41, Part: 0xd0c}, map[string]uint64{DTLBWalks: 0x34}, "not the cycles"}, // Neoverse N1
		{CPU{Vendor: "ARM", Implementer: 0x41, Part: 0xd84}, map[string]uint64{DTLBWalks: 0x34, WalkUserData: 0x8128, WalkUserInstr: 0x8129},
			"not the cycles"}, // Neoverse V3
		{CPU{Vendor: "ARM", Implementer: 0xc0, Part: 0xd84}, map[string]uint64{DTLBWalks: 0x34}, "not the cycles"}, // another maker's number
		{CPU{Vendor: "GenuineIntel", Family: 6, Model: 0x1a}, nil, "GenuineIntel family 6 model 26"},
		{CPU{Vendor: "GenuineIntel", Family: 15, Model: 0x3f}, nil, "no event code"},
		{CPU{Vendor: "RISC-V"}, nil, "RISC-V CPU"},
		{CPU{}, nil, "this CPU"},
	} {
		events, missing := walkEvents(c.cpu)
		if len(events) != len(c.events) {
			t.Errorf("%s: events %v, want %v", c.cpu, events, c.events)
		}
		for _, e := range events {
			if e.Config != c.events[e.ID] {
				t.Errorf("%s: %s is %x, want %x", c.cpu, e.ID, e.Config, c.events[e.ID])
			}
		}
		for _, id := range []string{WalkCyclesLoad, WalkCyclesStore, Cycles} {
			i := slices.IndexFunc(missing, func(m Missing) bool { return m.ID == id })
			if i < 0 || missing[i].State != NotThere || !strings.Contains(missing[i].Reason, c.reason) {
				t.Errorf("%s: %s missing as %+v", c.cpu, id, missing)
			}
		}
	}
}

// Most Intel CPUs leave the walks through a hypervisor's tables out: inside a virtual machine the rest is no bound.
func TestWalkNote(t *testing.T) {
	icelake, sierra := CPU{Vendor: "GenuineIntel", Family: 6, Model: 0x6a}, CPU{Vendor: "GenuineIntel", Family: 6, Model: 0xaf}
	if note := WalkNote(icelake); note != "" {
		t.Errorf("bare metal: %q", note)
	}
	icelake.Hypervisor, sierra.Hypervisor = true, true
	if note := WalkNote(icelake); !strings.Contains(note, "no bound") {
		t.Errorf("in a virtual machine: %q", note)
	}
	if note := WalkNote(sierra); note != "" {
		t.Errorf("a CPU that counts them: %q", note)
	}
}

func TestModelsAreInOneGeneration(t *testing.T) {
	seen := map[int]string{}
	for _, w := range intelWalkCodes() {
		for _, m := range w.models {
			if other, dup := seen[m]; dup {
				t.Errorf("model 0x%x is %s and %s", m, other, w.family)
			}
			seen[m] = w.family
		}
	}
}

func TestMissRateMeaningDiffers(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range []string{"GenuineIntel", "AuthenticAMD", "ARM", "RISC-V"} {
		m := MissRateMeaning(CPU{Vendor: v})
		if !strings.Contains(m, " / ") || seen[m] {
			t.Errorf("%s: %q", v, m)
		}
		seen[m] = true
	}
}
