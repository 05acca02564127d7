package trial

import (
	"slices"
	"testing"
	"time"

	"pgtlb/probes"
)

// A slow server is not an unreachable one, and a server that answers is no slow one.
func TestSilence(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c := probes.Contact{Answered: now.Add(-12 * time.Second)}
	if got := silence(c, now); got != "" {
		t.Errorf("of a server that answers: %q", got)
	}
	c.Silent = true
	if got := silence(c, now); got != "the server has not answered for 12 s" {
		t.Error(got)
	}
}

// What an ordinary user gets: perf events refuse page faults, /proc/vmstat has them.
func TestLackingLeavesOutWhatAnotherProbeSupplies(t *testing.T) {
	const reason = "counting system wide needs CAP_PERFMON"
	misses := []probes.Miss{{ID: probes.PageFaults, Reason: reason}, {ID: probes.PageFaultsMinor, Reason: reason},
		{ID: probes.ContextSwitches, Reason: reason}}
	opened := []probes.Metric{probes.MustLookup(probes.PageFaults), probes.MustLookup(probes.PageFaultsMinor), probes.MustLookup(probes.PageTables)}
	got := lacking(misses, opened)
	if want := []probes.Miss{{ID: probes.ContextSwitches, Reason: reason}}; !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
