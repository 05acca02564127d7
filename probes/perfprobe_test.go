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
	// Every event is a metric or a miss, and never both.
	for _, id := range perfIDs() {
		isMetric := slices.ContainsFunc(p.Metrics(), func(m Metric) bool { return m.ID == id && m.Scope == "system wide" })
		isMiss := slices.ContainsFunc(misses, func(m Miss) bool { return m.ID == id && m.Reason != "" })
		if isMetric == isMiss {
			t.Errorf("%s: metric %v, miss %v", id, isMetric, isMiss)
		}
	}
}

func TestPerfOfAServerThatIsNotHere(t *testing.T) {
	p, misses := OpenPerf(context.Background(), SystemRoots(), PerfServer, 0)
	if p != nil || len(misses) != len(perfIDs()) || !strings.Contains(misses[0].Reason, "not visible") {
		t.Errorf("%v, %+v", p, misses)
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
		DTLBLoads: "no such event", DTLBMissPct: "no such event", WalkCyclesPct: "AMD has none", Cycles: "AMD has none",
		CyclesUser: "the rest", PageFaults: "", DTLBLoadMisses: "",
	} {
		if got[id] != want {
			t.Errorf("%s: %q, want %q", id, got[id], want)
		}
	}
}

func TestParsePerfScope(t *testing.T) {
	for _, s := range []string{"", "system", "server"} {
		if p, err := ParsePerfScope(s); err != nil || string(p) != s {
			t.Errorf("%q: %v, %v", s, p, err)
		}
	}
	if _, err := ParsePerfScope("cgroup"); err == nil {
		t.Error("an unknown scope is taken")
	}
}

func TestRatioMetricsNameWhatTheCPUCounts(t *testing.T) {
	opened := metricsOf(DTLBLoads, DTLBLoadMisses, Instructions)
	for i := range opened {
		opened[i].Scope = "system wide"
	}
	got := ratioMetrics(opened, perf.CPU{Vendor: "AuthenticAMD"})
	if len(got) != 2 || got[0].ID != DTLBMissPct || !strings.Contains(got[0].Meaning, "first level") || got[1].Scope != "system wide" {
		t.Errorf("%+v", got)
	}
}
