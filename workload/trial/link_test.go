package trial

import (
	"slices"
	"testing"

	"pgtlb/probes"
)

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
