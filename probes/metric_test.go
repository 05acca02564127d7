package probes

import (
	"testing"

	"pgtlb/probes/perf"
)

// Every scope of the catalogue and of perf events has its word; what has no scope is
// counted by perf, which sets it.
func TestScopesHaveTheirWord(t *testing.T) {
	for scope, want := range map[string]string{
		perf.System().String(): "machine", perf.Cgroup("/sys/fs/cgroup/system.slice/postgresql.service").String(): "cgroup", perf.Tree(77).String(): "server",
		"clients of the load": "load", "client backends of the server": "server", "all databases": "server", "all but the server": "others", "": "",
	} {
		if got := (Metric{Scope: scope}).Covers(); got != want {
			t.Errorf("%q covers %q, want %q", scope, got, want)
		}
	}
	for _, m := range Catalogue() {
		if m.Scope != "" && m.Covers() == "" {
			t.Errorf("%s: the scope %q has no word", m.ID, m.Scope)
		}
	}
	for id, want := range map[string]string{TPS: "load", LatencyP99: "load", ServerTPS: "server", PageTables: "machine", PageTableMaxBackend: "server", CPUKernel: "machine", PageFaults: ""} {
		if got := MustLookup(id).Covers(); got != want {
			t.Errorf("%s covers %q, want %q", id, got, want)
		}
	}
}
