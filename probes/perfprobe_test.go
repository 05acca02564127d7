package probes

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"pgtlb/probes/perf"
)

func TestPerfSystemWide(t *testing.T) {
	p, misses := OpenPerf(context.Background(), SystemRoots(), PerfSystem, 0)
	if p == nil {
		t.Skipf("need: system-wide perf events (%s)", misses[0].Reason)
	}
	defer p.Close()
	read := func() map[string]uint64 {
		b, err := p.Read(context.Background())
		if err != nil || len(b.Misses) != 0 {
			t.Fatalf("%+v, %v", b, err)
		}
		out := map[string]uint64{}
		for _, r := range b.Readings {
			for _, part := range r.Parts {
				out[r.ID] += part[0]
			}
			if r.Group == "" || len(r.Parts) == 0 {
				t.Errorf("reading %+v", r)
			}
		}
		return out
	}
	before := read()
	pages := make([]byte, 1000*os.Getpagesize())
	for i := 0; i < len(pages); i += os.Getpagesize() {
		pages[i] = 1
	}
	after := read()
	if after[PageFaults] <= before[PageFaults] {
		t.Errorf("%d page faults, before %d", after[PageFaults], before[PageFaults])
	}
	// Every event is a metric or a miss, and never both; those that some CPUs do
	// not have may be neither.
	for _, id := range perfIDs() {
		isMetric := slices.ContainsFunc(p.Metrics(), func(m Metric) bool { return m.ID == id && m.Scope == "system wide" })
		isMiss := slices.ContainsFunc(misses, func(m Miss) bool { return m.ID == id && m.Reason != "" })
		ofSome := slices.Contains(ofSomeCPUs(), id)
		if isMetric && isMiss || !isMetric && !isMiss && !ofSome {
			t.Errorf("%s: metric %v, miss %v", id, isMetric, isMiss)
		}
	}
}

func TestPerfOfAServerThatIsNotHere(t *testing.T) {
	p, misses := OpenPerf(context.Background(), SystemRoots(), PerfServer, 0)
	if p != nil || len(misses) != len(perfIDs())-len(ofSomeCPUs()) {
		t.Errorf("%v, %+v", p, misses)
	}
	for _, m := range misses {
		if !strings.Contains(m.Reason, "not visible") || m.State != NotThere || slices.Contains(ofSomeCPUs(), m.ID) {
			t.Errorf("%+v", m)
		}
	}
}

func TestPerfMissesExplainRatios(t *testing.T) {
	missing := []perf.Missing{{ID: DTLBLoads, Reason: "no such event"}, {ID: WalkCyclesLoad, Reason: "AMD has none"}}
	opened := metricsOf(PageFaults, DTLBLoadMisses)
	got := map[string]string{}
	for _, m := range perfMisses(opened, missing, errors.New("the rest")) {
		got[m.ID] = m.Reason
	}
	for id, want := range map[string]string{
		DTLBLoads: "no such event", DTLBMissPct: "no such event", WalkCyclesPct: "AMD has none",
		CyclesUser: "the rest", PageFaults: "", DTLBLoadMisses: "",
	} {
		if got[id] != want {
			t.Errorf("%s: %q, want %q", id, got[id], want)
		}
	}
}

// A metric that this CPU's vendor does not have is not listed as missing.
func TestPerfMissesOfOneVendorOnly(t *testing.T) {
	const noWalks, noRight = "no event for the cycles spent in page walks", "counting system wide needs CAP_PERFMON"
	gone := func(reason string, ids ...string) (out []perf.Missing) {
		state := map[string]perf.State{noRight: perf.NoPermission, "too few": perf.NotCounted}[reason]
		for _, id := range ids {
			out = append(out, perf.Missing{ID: id, State: state, Reason: reason})
		}
		return out
	}
	walks := []string{WalkUserCycles, WalkUserLoad, WalkUserStore, WalkUserInstr}
	most := metricsOf(PageFaults, PageFaultsMinor, PageFaultsMajor, ContextSwitches, CyclesUser, CyclesKernel, Instructions,
		DTLBLoads, DTLBLoadMisses, DTLBMissPct)
	for name, c := range map[string]struct {
		opened  []Metric
		missing []perf.Missing
		err     error
		want    []Miss
	}{
		"AMD": {most, gone(noWalks, WalkCyclesLoad, WalkCyclesStore, Cycles), nil,
			[]Miss{{ID: WalkCyclesPct, State: NotThere, Reason: noWalks}}},
		"AMD without the right to": {most, append(gone(noRight, DTLBWalks4K, DTLBWalks2M, DTLBWalks1G), gone(noWalks, WalkCyclesLoad, WalkCyclesStore, Cycles)...), nil,
			[]Miss{{ID: WalkCyclesPct, State: NotThere, Reason: noWalks}, {ID: DTLBWalks4K, State: NoPermission, Reason: noRight},
				{ID: DTLBWalks2M, State: NoPermission, Reason: noRight}, {ID: DTLBWalks1G, State: NoPermission, Reason: noRight}}},
		"ARM": {slices.Concat(most, metricsOf(DTLBWalks)), gone(noWalks, WalkCyclesLoad, WalkCyclesStore, Cycles), nil,
			[]Miss{{ID: WalkCyclesPct, State: NotThere, Reason: noWalks}}},
		"ARM without the right to": {most, append(gone(noRight, DTLBWalks), gone(noWalks, WalkCyclesLoad, WalkCyclesStore, Cycles)...), nil,
			[]Miss{{ID: WalkCyclesPct, State: NotThere, Reason: noWalks}, {ID: DTLBWalks, State: NoPermission, Reason: noRight}}},
		"Intel without the right to": {most, append(gone(noRight, WalkCyclesLoad, WalkCyclesStore, Cycles), gone(noRight, walks...)...), nil,
			[]Miss{{ID: WalkCyclesPct, State: NoPermission, Reason: noRight}, {ID: WalkCeilingPct, State: NoPermission, Reason: noRight}}},
		"Intel with few counters": {slices.Concat(most, metricsOf(Cycles, WalkCyclesLoad, WalkCyclesPct)),
			append(gone("too few", WalkCyclesStore), gone("too few", WalkUserInstr)...), nil,
			[]Miss{{ID: WalkCyclesStore, State: NotCounted, Reason: "too few"}, {ID: WalkCeilingPct, State: NotCounted, Reason: "too few"}}},
		"nothing visible": {most, nil, errors.New("not visible"), []Miss{{ID: WalkCyclesPct, Reason: "not visible"}}},
	} {
		if got := perfMisses(c.opened, c.missing, c.err); !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestParsePerfScope(t *testing.T) {
	for _, s := range []string{"", "system", "cgroup", "server"} {
		if p, err := ParsePerfScope(s); err != nil || string(p) != s {
			t.Errorf("%q: %v, %v", s, p, err)
		}
	}
	if _, err := ParsePerfScope("machine"); err == nil {
		t.Error("an unknown scope is taken")
	}
}

func TestRatioMetricsNameWhatTheCPUCounts(t *testing.T) {
	opened := metricsOf(DTLBLoads, DTLBLoadMisses, Instructions, WalkUserCycles)
	for i := range opened {
		opened[i].Scope = "system wide"
	}
	got := map[string]Metric{}
	for _, m := range ratioMetrics(opened, perf.CPU{Vendor: "AuthenticAMD"}) {
		got[m.ID] = m
	}
	if len(got) != 4 || !strings.Contains(got[DTLBMissPct].Meaning, "first level") || got[DTLBMissesPerKInstr].Scope != "system wide" ||
		got[DTLBMissesPerTxn].Scope != "system wide" || strings.Contains(got[WalkCeilingPct].Meaning, "virtual machine") {
		t.Errorf("%+v", got)
	}
	guest := perf.CPU{Vendor: "GenuineIntel", Family: 6, Model: 0x6a, Hypervisor: true}
	for _, m := range ratioMetrics(opened, guest) {
		if m.ID == WalkCeilingPct && !strings.Contains(m.Meaning, "inside this virtual machine it is no bound") {
			t.Errorf("the ceiling in a virtual machine: %q", m.Meaning)
		}
	}
}
