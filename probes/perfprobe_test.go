package probes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
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

func TestWidestScope(t *testing.T) {
	const noRight = "counting system wide needs CAP_PERFMON while kernel.perf_event_paranoid is 2"
	const fewFiles = "1408 file descriptors are needed for all events, there is room for 700"
	denied := []Miss{{ID: PageFaults, State: NoPermission, Reason: noRight, Remedy: "setcap"}}
	probe := func(short string, ids ...string) *perfProbe {
		return &perfProbe{set: &perf.Set{}, short: short, metrics: metricsOf(ids...)}
	}
	for _, c := range []struct {
		name   string
		opens  map[PerfScope]*perfProbe
		asked  []PerfScope
		taken  PerfScope // PerfAuto for none
		why    string
		misses int
	}{
		{"permitted", map[PerfScope]*perfProbe{PerfSystem: probe("", PageFaults), PerfServer: probe("", PageFaults)},
			[]PerfScope{PerfSystem}, PerfSystem, "", 0},
		{"not permitted", map[PerfScope]*perfProbe{PerfServer: probe("", PageFaults)},
			[]PerfScope{PerfSystem, PerfCgroup, PerfServer}, PerfServer, "not system wide: " + noRight + " (setcap)", 0},
		{"not permitted, but the cgroup", map[PerfScope]*perfProbe{PerfCgroup: probe("", PageFaults), PerfServer: probe("", PageFaults)},
			[]PerfScope{PerfSystem, PerfCgroup}, PerfCgroup, "not system wide: " + noRight + " (setcap)", 0},
		{"too few descriptors for the machine", map[PerfScope]*perfProbe{PerfSystem: probe(fewFiles, PageFaults),
			PerfCgroup: probe(fewFiles, PageFaults), PerfServer: probe("", PageFaults, CyclesUser)},
			[]PerfScope{PerfSystem, PerfCgroup, PerfServer}, PerfServer, "not system wide: " + fewFiles, 0},
		{"too few descriptors for each", map[PerfScope]*perfProbe{PerfSystem: probe(fewFiles, PageFaults, CyclesUser), PerfServer: probe(fewFiles, PageFaults)},
			[]PerfScope{PerfSystem, PerfCgroup, PerfServer}, PerfSystem, "", 0},
		{"nothing", nil, []PerfScope{PerfSystem, PerfCgroup, PerfServer}, PerfAuto, "", 1},
	} {
		var asked []PerfScope
		got, misses := widest([]PerfScope{PerfSystem, PerfCgroup, PerfServer}, func(s PerfScope) (*perfProbe, []Miss) {
			asked = append(asked, s)
			if p := c.opens[s]; p != nil {
				return p, nil
			}
			return nil, denied
		})
		if got != c.opens[c.taken] || len(misses) != c.misses || !slices.Equal(asked, c.asked) {
			t.Errorf("%s: %+v, misses %v, asked %v", c.name, got, misses, asked)
		}
		if got != nil && got.why != c.why {
			t.Errorf("%s: %q, want %q", c.name, got.why, c.why)
		}
	}
}

// The root cgroup holds every process: that is no scope of a server's.
func TestPerfOfTheRootCgroup(t *testing.T) {
	roots := Roots{Proc: filepath.Join(t.TempDir(), "proc")}
	stat := "77 (postgres) S 1 77 77 0 -1 4194560 1 0 0 0 1 1 0 0 20 0 1 0 4000 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n"
	for path, text := range map[string]string{"77/cgroup": "0::/\n", "77/stat": stat, "self/cgroup": "0::/\n", "self/mountinfo": onlyV2} {
		file := roots.ProcPath(path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	p, misses := OpenPerf(t.Context(), roots, PerfCgroup, 77)
	if p != nil || len(misses) == 0 || misses[0].State != NotThere || !strings.Contains(misses[0].Reason, "root cgroup") {
		t.Errorf("%v, %+v", p, misses)
	}
	if got := autoScopes(roots, 77); !slices.Equal(got, []PerfScope{PerfSystem, PerfServer}) {
		t.Errorf("to choose from: %v", got)
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
