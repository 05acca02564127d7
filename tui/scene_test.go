package tui

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

// cutShort is the state with one more frame, as a sample at a mark leaves it: a
// few milliseconds with nothing, or far too much, in them.
func cutShort(st trial.State, v float64) trial.State {
	last := *st.Last()
	f := probes.Frame{Seq: last.Seq + 1, At: last.At, T: last.T + 5*time.Millisecond, Elapsed: 5 * time.Millisecond,
		TooShort: true, Values: map[probes.Key]probes.Value{}, Backends: []probes.BackendRow{{Backend: last.Backends[0].Backend,
			Rates: &probes.BackendRates{MinorFaults: v}}}}
	for k := range last.Values {
		f.Values[k] = probes.Value{V: v, Delta: v}
	}
	st.History = append(st.History[:len(st.History):len(st.History)], f)
	return st
}

// textOf is what stands on a screen but for the lines of the charts, which move
// with the time.
func textOf(t *testing.T, screen string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r >= 0x2800 && r <= 0x28ff {
			return -1
		}
		return r
	}, onTerminal(t, screen, 120, 40))
}

func TestRestOfAnIntervalIsNotShownAsNow(t *testing.T) {
	st := demo{seconds: 60, loads: 2, pmu: true}.state()
	for _, v := range []float64{0, 777e12} {
		got, want := Snapshot(cutShort(st, v), Options{}, 120, 40), Snapshot(st, Options{}, 120, 40)
		if textOf(t, got) != textOf(t, want) {
			t.Errorf("a sample at a mark changes the screen:\n%s", onTerminal(t, got, 120, 40))
		}
	}
	if s := Snapshot(cutShort(st, 777e12), Options{}, 120, 40, "v"); strings.Contains(s, "777 T") {
		t.Error("the table of values shows it")
	}
}

func TestRestOfAnIntervalBreaksNoLine(t *testing.T) {
	frame := func(end, length time.Duration, short bool) probes.Frame {
		return probes.Frame{T: end, Elapsed: length, TooShort: short,
			Values: map[probes.Key]probes.Value{{ID: probes.TPS}: {V: 1}}}
	}
	ps := points([]probes.Frame{
		frame(time.Second, time.Second, false),
		frame(1200*time.Millisecond, 200*time.Millisecond, true),
		frame(2200*time.Millisecond, time.Second, false),
		frame(4400*time.Millisecond, 200*time.Millisecond, true), // after a gap
		frame(5400*time.Millisecond, time.Second, false),
	}, 0, probes.TPS, "")
	if len(ps) != 3 || !ps[0].gap || ps[1].gap || !ps[2].gap {
		t.Errorf("points %+v: want three, a gap before the last only", ps)
	}
}

func TestLoadThatJustJoinedHasNoFigureYet(t *testing.T) {
	st := demo{seconds: 60, loads: 2, pmu: true}.state()
	for _, id := range []string{probes.TPS, probes.LatencyP99} {
		st.Last().Values[probes.Key{ID: id, Label: "join-aggregate"}] = probes.Value{Missing: "first sample: a rate needs two"}
	}
	sc := newScene(&st, 60, false)
	for _, p := range []pane{sc.tpsPane(), sc.latencyPane()} {
		if !slices.ContainsFunc(p.legend, func(n named) bool { return n.name == "join-aggregate" && n.value == "n/a" }) {
			t.Errorf("%s: legend %+v, want join-aggregate n/a", p.title, p.legend)
		}
	}
}
