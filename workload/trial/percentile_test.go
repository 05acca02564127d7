package trial

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgtlb/probes"
)

// A percentile stands on at least 10 transactions beyond it.
func TestPercentilesNeedTransactions(t *testing.T) {
	for _, c := range []struct {
		n       int
		missing []string // percentiles that are not there
		few     string   // what bench calls too few
	}{
		{12, []string{probes.LatencyP50, probes.LatencyP95, probes.LatencyP99}, "p50 p90 p95 p99"},
		{20, []string{probes.LatencyP95, probes.LatencyP99}, "p90 p95 p99"},
		{199, []string{probes.LatencyP95, probes.LatencyP99}, "p95 p99"},
		{200, []string{probes.LatencyP99}, "p99"},
		{999, []string{probes.LatencyP99}, "p99"},
		{1000, nil, ""},
	} {
		h := probes.NewHistogram()
		for i := range c.n {
			h.Record(time.Duration(1+i) * time.Millisecond)
		}
		a := NewAccumulator()
		a.Add(probes.Frame{Elapsed: time.Second, Hists: map[string]*probes.Histogram{"point-select": h}})
		s := a.Summary()
		for _, id := range []string{probes.LatencyMean, probes.LatencyP50, probes.LatencyP95, probes.LatencyP99} {
			f := s.Get(id)
			if missing := slices.Contains(c.missing, id); f.OK() == missing || missing && !strings.HasPrefix(f.Missing, "of only ") {
				t.Errorf("%s of %d transactions: %+v", id, c.n, f)
			}
		}
		l := latencyMS(h)
		if got := strings.Join(l.TooFewFor, " "); got != c.few || (l.few() != "") != (c.few != "") {
			t.Errorf("%d transactions are too few for %q (%q), want %q", c.n, got, l.few(), c.few)
		}
	}
	if got, want := fewText(0.99, 12), "of only 12 transactions: p99 needs 1,000, so that 10 lie beyond it"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
