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
			CPU{Vendor: "ARM", Part: 0xd0c}, "ARM CPU part 0xd0c"},
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
		model       int
		load, store uint64
	}{
		{62, raw(0x08, 0x84, 0), raw(0x49, 0x04, 0)},  // Ivy Bridge server
		{63, raw(0x08, 0x10, 0), raw(0x49, 0x10, 0)},  // Haswell server
		{79, raw(0x08, 0x10, 0), raw(0x49, 0x10, 0)},  // Broadwell server
		{85, raw(0x08, 0x10, 1), raw(0x49, 0x10, 1)},  // Skylake, Cascade Lake server
		{106, raw(0x08, 0x10, 1), raw(0x49, 0x10, 1)}, // Ice Lake server
		{143, raw(0x12, 0x10, 1), raw(0x13, 0x10, 1)}, // Sapphire Rapids
	} {
		events, missing := walkEvents(CPU{Vendor: "GenuineIntel", Family: 6, Model: c.model})
		if len(events) != 2 || len(missing) != 0 {
			t.Errorf("model %d: %v, missing %v", c.model, events, missing)
			continue
		}
		if events[0].Config != c.load || events[1].Config != c.store || events[0].Type != typeRaw {
			t.Errorf("model %d: %x and %x, want %x and %x", c.model, events[0].Config, events[1].Config, c.load, c.store)
		}
		if !strings.Contains(events[0].Desc, "Linux tools/perf/pmu-events") {
			t.Errorf("model %d: the code has no source: %s", c.model, events[0].Desc)
		}
	}
}

func TestWalkEventsElsewhere(t *testing.T) {
	for _, c := range []struct {
		cpu    CPU
		events []string
		reason string
	}{
		{CPU{Vendor: "AuthenticAMD", Family: 26, Model: 2}, nil, "AMD CPUs have no event"},
		{CPU{Vendor: "ARM", Part: 0xd0c}, []string{DTLBWalks}, "not the cycles"},
		{CPU{Vendor: "GenuineIntel", Family: 6, Model: 0x1a}, nil, "GenuineIntel family 6 model 26"},
		{CPU{Vendor: "GenuineIntel", Family: 15, Model: 0x3f}, nil, "no event code"},
		{CPU{}, nil, "this CPU"},
	} {
		events, missing := walkEvents(c.cpu)
		var ids []string
		for _, e := range events {
			ids = append(ids, e.ID)
		}
		if !slices.Equal(ids, c.events) {
			t.Errorf("%s: events %v, want %v", c.cpu, ids, c.events)
		}
		for _, id := range []string{WalkCyclesLoad, WalkCyclesStore, Cycles} {
			i := slices.IndexFunc(missing, func(m Missing) bool { return m.ID == id })
			if i < 0 || missing[i].State != NotThere || !strings.Contains(missing[i].Reason, c.reason) {
				t.Errorf("%s: %s missing as %+v", c.cpu, id, missing)
			}
		}
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
