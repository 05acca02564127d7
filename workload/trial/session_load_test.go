package trial

import (
	"testing"

	"pgtlb/workload"
)

// TestIndirectText: a connection for each transaction was asked for, and needs
// no explanation.
func TestIndirectText(t *testing.T) {
	for _, c := range []struct {
		result workload.Result
		want   string
	}{
		{workload.Result{}, ""},
		{workload.Result{Indirect: "each transaction has a connection of its own", Connections: 7}, ""},
		{workload.Result{Indirect: "the connection of client 1 of 2 is encrypted"},
			"each connection was driven by itself, not by shared threads; the client used more CPU time for it: the connection of client 1 of 2 is encrypted"},
	} {
		if got := indirectText(&c.result); got != c.want {
			t.Errorf("%+v: %q, want %q", c.result, got, c.want)
		}
	}
}
