package tui

import (
	"strings"
	"testing"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

// TestSkippedRefreshes are told in words that need no knowledge of the program.
func TestSkippedRefreshes(t *testing.T) {
	for n, want := range map[uint64]string{0: "", 1: "1 refresh left out: slow terminal", 1234: "1,234 refreshes left out: slow terminal"} {
		st := demo{seconds: 20}.state()
		st.Dropped = n
		screen := onTerminal(t, Snapshot(st, Options{}, 240, 40), 240, 40)
		if !strings.Contains(screen, want) || n == 0 && strings.Contains(screen, "left out") {
			t.Errorf("%d: no %q on\n%s", n, want, screen)
		}
	}
}

// In an interval in which a load ran its driver worked too, also where the load has
// stopped since: that is no dear watching.
func TestOwnCostOfAnIntervalWithALoad(t *testing.T) {
	st := &trial.State{}
	for _, c := range []struct {
		values map[probes.Key]probes.Value
		want   string
	}{
		{nil, "own CPU 39.6 %: above 1.50 %"},
		{map[probes.Key]probes.Value{{ID: probes.TPS}: {V: 1}}, "own CPU incl. driver 39.6 %"},
	} {
		sc := &scene{st: st, last: &probes.Frame{OwnCPUPct: 39.6, Values: c.values}}
		if got := costFigs(sc)[0].text; got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
