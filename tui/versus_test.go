package tui

import (
	"strings"
	"testing"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

// The colour follows the metric's better side, the words say how far.
func TestDifference(t *testing.T) {
	for _, c := range []struct {
		id        string
		base, run float64
		text      string
		st        style
	}{
		{probes.TPS, 58564, 54263, "−7.34 %", stBad},
		{probes.TPS, 54263, 58564, "+7.93 %", stGood},
		{probes.LatencyP99, 0.35, 0.30, "−14.29 %", stGood},
		{probes.DTLBMissPct, 2.49, 2.73, "+0.24 pp", stBad},
		{probes.PageFaults, 55902, 41.78, "÷1,338", stGood},
		{probes.CyclesUser, 100, 110, "+10.00 %", stPlain},
	} {
		got := difference(trial.PairRow(probes.MustLookup(c.id), "", trial.Figure{Value: c.base}, trial.Figure{Value: c.run}))
		if got.text != c.text || got.st != c.st {
			t.Errorf("%s from %v to %v: %q in style %d, want %q in %d", c.id, c.base, c.run, got.text, got.st, c.text, c.st)
		}
	}
}

// A figure that is missing is never a number, and has no difference.
func TestVersusWithoutFigures(t *testing.T) {
	st := demo{seconds: 60, loads: 1, compare: true}.state()
	sc := newScene(&st, 60, false)
	figs := sc.versus(probes.DTLBMissPct)
	if len(figs) != 2 || figs[0].text != "run n/a" || figs[1].text != "│ base n/a" {
		t.Errorf("got %v", figs)
	}
	st.Compare = false
	if figs := sc.versus(probes.TPS); figs != nil {
		t.Errorf("not comparing, and yet %v", figs)
	}
}

// The two runs lie over each other from the start of their loads on, and what
// came after the run's end is not in view.
func TestComparisonIsAlignedAtLoadStart(t *testing.T) {
	st := demo{seconds: 60, loads: 1, compare: true}.state()
	idle := demo{}.frames(90, false, 5)[60:]
	st.History = append(append([]probes.Frame{}, st.History...), idle...)
	run := *st.Run
	run.Active = false
	st.Run = &run
	sc := newScene(&st, 60, false)
	cur, base := sc.line(probes.PageTables, "", stOne, '*'), sc.baseline(probes.PageTables, "")
	if cur.points[0].x != 1 || base.points[0].x != 1 {
		t.Errorf("the first points are at %v and %v s, want 1 s after load start", cur.points[0].x, base.points[0].x)
	}
	if last := cur.points[len(cur.points)-1].x; last != 54 {
		t.Errorf("the run's last point is at %v s, want 54", last)
	}
	if sc.x0 != 0 || sc.x1 < 54 {
		t.Errorf("axis from %v to %v", sc.x0, sc.x1)
	}
}

// What the screen says of run and baseline is what pgtlb compare prints of the same
// figures: title, difference, verdict, scope.
func TestScreenPrintsTheRowsOfAComparison(t *testing.T) {
	metrics := []map[string]float64{
		{probes.TPS: 54263, probes.LatencyMean: 0.147, probes.PageFaults: 1397551, probes.DTLBMissPct: 2.73, probes.PageTables: 434176},
		{probes.TPS: 58564, probes.LatencyMean: 0.137, probes.PageFaults: 1044, probes.DTLBMissPct: 2.49, probes.PageTables: 2970},
	}
	arms := []trial.ArmRuns{{Name: "base"}, {Name: "run"}}
	st := demo{seconds: 60, loads: 1, pmu: true, compare: true}.state()
	run, base := *st.Run, *st.Baseline
	for i := range arms {
		r := trial.Run{End: &trial.End{Reason: "finished"}, Meta: trial.Meta{Name: arms[i].Name, Loads: []trial.LoadMeta{{Scenario: "point-select", Clients: 8}},
			ByHand: &trial.ByHand{LoadS: 25, CounterWindowS: 25, Metrics: metrics[i]}}}
		arms[i].Runs = []*trial.Run{&r}
		s := trial.ArmOf(&r).Summary
		if i == 0 {
			base.Summary = s
		} else {
			run.Summary = s
		}
	}
	st.Run, st.Baseline = &run, &base
	c, err := trial.CompareArms(arms[0], arms[1:], trial.CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sc := newScene(&st, 60, false)
	rows := map[string]valueRow{}
	for _, r := range valueRows(sc) {
		rows[r.title] = r
	}
	if len(c.Rows) != len(metrics[0]) {
		t.Fatalf("%d rows", len(c.Rows))
	}
	for _, want := range c.Rows {
		got, ok := rows[strings.TrimSpace(want.Title+" "+unitText(probes.MustLookup(want.Metric)))]
		if !ok || got.diff.text != want.ShortDifference() || got.verdict != want.VerdictText() || want.Verdict != trial.TooFewRuns || got.scope != want.Scope {
			t.Errorf("all values say %+v, compare %+v", got, want)
		}
		figs := sc.versus(want.Metric)
		if len(figs) != 3 || figs[2].text != "│ "+want.ShortDifference() {
			t.Errorf("a pane says %v, compare %q", figs, want.ShortDifference())
		}
	}
}
