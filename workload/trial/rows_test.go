package trial

import (
	"slices"
	"strings"
	"testing"

	"pgtlb/probes"
	"pgtlb/workload/verdict"
)

// opened are metrics as a run had them, with these scopes.
func opened(scopes map[string]string) func(*Meta) {
	return func(m *Meta) {
		for _, id := range keys(scopes, nil) {
			o := probes.MustLookup(id)
			o.Scope = scopes[id]
			m.Metrics = append(m.Metrics, o)
		}
	}
}

// Each row says what its figures cover, and gives no verdict where the sides cover
// different things.
func TestRowsSayTheirScope(t *testing.T) {
	list := func(name string, scopes map[string]string) ArmRuns {
		arm := ArmRuns{Name: name}
		for i := range 6 {
			arm.Runs = append(arm.Runs, handRun(name+string(rune('a'+i)), map[string]float64{probes.TPS: 100 + float64(i), probes.PageFaults: 1000 + float64(i),
				probes.ServerPageFaults: 900 + float64(i), probes.CPUKernel: 3, probes.PageTableOthers: 7}, opened(scopes)))
		}
		return arm
	}
	perf := func(scope string) map[string]string { return map[string]string{probes.PageFaults: scope} }
	c := mustCompare(t, list("a", perf("system wide")), list("b", perf("system wide")))
	for id, want := range map[string]string{probes.TPS: "load", probes.PageFaults: "machine", probes.ServerPageFaults: "server", probes.CPUKernel: "machine", probes.PageTableOthers: "others"} {
		if r := rowOf(t, c, id); r.Scope != want {
			t.Errorf("%s covers %q, want %q", id, r.Scope, want)
		}
	}
	c = mustCompare(t, list("a", perf("system wide")), list("b", perf("postmaster 77 and its children")))
	r := rowOf(t, c, probes.PageFaults)
	if r.Scope != "machine, server" || r.Verdict != NotApplicable || !strings.Contains(r.Note, "not the same thing was counted") {
		t.Errorf("%+v", r)
	}
	if r := rowOf(t, mustCompare(t, list("a", perf("postmaster 7 and its children")), list("b", perf("postmaster 77 and its children"))), probes.PageFaults); r.Scope != "server" || r.Note != "" {
		t.Errorf("%+v", r)
	}
}

// A verdict on another metric that does not hold among all that were asked is a hint,
// and its row says so in every form.
func TestHintsAreMarkedInTheirRow(t *testing.T) {
	arms := measuredExperiment()
	c := mustCompare(t, arms[0], arms[1:]...)
	hints := 0
	for _, r := range c.Rows {
		want := !r.Primary && (r.Verdict == Better || r.Verdict == Worse) && *r.PAdjusted > 0.05 && !r.clear
		if r.Hint != want || strings.HasSuffix(r.VerdictText(), " (hint)") != want {
			t.Errorf("%s: hint %v, %q, adjusted p %v", r.Metric, r.Hint, r.VerdictText(), r.PAdjusted)
		}
		if want {
			hints++
		}
	}
	if hints == 0 || !strings.Contains(comparisonJSON(t, c), `"hint":true`) {
		t.Error("there is no hint")
	}
	var text, md, html strings.Builder
	r := BuildArmsReport(arms[0], arms[1:], c, ReportOptions{})
	for _, err := range []error{c.WriteText(&text, false), WriteMarkdown(&md, r), WriteHTML(&html, r)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(html.String(), ">÷41, better<") || !strings.Contains(c.Sentence, "For certain, beside it: ") || !strings.Contains(c.Sentence, "largest backend page table ÷41") {
		t.Errorf("what lies far beyond the noise floor is not said to be certain: %s", c.Sentence)
	}
	for name, s := range map[string]string{"text": text.String(), "Markdown": md.String(), "HTML": html.String()} {
		if n := strings.Count(s, "better (hint)"); n < hints {
			t.Errorf("%s marks %d rows of %d", name, n, hints)
		}
	}
}

// Alike notes stand once, with all their metrics, and what further runs would have
// found is one line.
func TestAlikeNotesAreOne(t *testing.T) {
	detectable := map[string]float64{probes.TPS: 7, probes.LatencyMean: 1129}
	c := Comparison{Arms: []ArmName{{Name: "a"}, {Name: "b"}}}
	for _, id := range []string{probes.TPS, probes.LatencyMean, probes.CyclesUser, probes.ContextSwitches} {
		m := probes.MustLookup(id)
		r := Row{Metric: id, Title: m.Title, CandName: "b", Verdict: Unclear}
		if pct, ok := detectable[id]; ok {
			r.DetectablePct = &pct
		}
		if m.Better == probes.Neither {
			r.Verdict, r.Note = NotApplicable, "differs; neither side is the better one"
		}
		c.Rows = append(c.Rows, r)
	}
	want := []string{"cycles:u, context switches: differs; neither side is the better one",
		"80 of 100 such comparisons would have seen a difference of: TPS 7 %, latency mean ×12"}
	if got := c.Notes("b", false); !slices.Equal(got, want) {
		t.Errorf("notes are %q, want %q", got, want)
	}
}

// With several candidates the difference that would have been seen is that of the
// strictest step of Holm's method: never smaller than with one, and still there.
func TestDetectableOfSeveralCandidates(t *testing.T) {
	a := []float64{1000, 1004, 996, 1002, 998, 1001, 999, 1003}
	b := []float64{1010, 980, 1030, 970, 1020, 990, 1015, 985}
	base, cand := abba(nil, a, b)
	other := cand
	other.Name = "1GB"
	one := rowOf(t, mustCompare(t, base, cand), probes.TPS)
	two := rowOf(t, mustCompare(t, base, cand, other), probes.TPS)
	if one.DetectablePct == nil || two.DetectablePct == nil || *two.DetectablePct <= *one.DetectablePct {
		t.Fatalf("one candidate: %v, two: %v", one.DetectablePct, two.DetectablePct)
	}
	var pairs []verdict.Pair
	for i := range a {
		pairs = append(pairs, verdict.Pair{Base: a[i], Cand: b[i]})
	}
	rule := verdict.Usual(*two.NoiseFloorPct / 100)
	rule.Alpha /= 2
	near(t, "detectable", *two.DetectablePct, 100*verdict.DetectablePaired(pairs, rule))
	if c := mustCompare(t, base, cand, other); !strings.Contains(c.Sentence, "at p 0.025, its share of 0.05 for 2 candidates") {
		t.Error(c.Sentence)
	}
}

// A machine that was disturbed beside both sides alike is told, with who disturbed it.
func TestADisturbedMachineIsTold(t *testing.T) {
	for _, c := range []struct {
		name        string
		busy, steal float64 // percent of one CPU, of which there are two; seconds a second
		server      int     // the postmaster's pid
		want        string
	}{
		{"quiet", 19, 0.1, 7, ""},
		{"other processes", 60, 0, 7, "this machine was not quiet: other processes used at least 30 % of the CPUs beside the runs of 4kB, 30 % beside those of 2MB " +
			"(more than 10 % is much), most of it rsync, cron; take the machine for yourself and repeat"},
		{"the server's own may be among them", 60, 0, 0, ""},
		{"stolen", 0, 0.5, 7, "this machine was not quiet: the hypervisor took away 25 % of the CPUs beside the runs of 4kB, 25 % beside those of 2MB " +
			"(more than 10 % is much); take the machine for yourself and repeat"},
	} {
		base, cand := abba(nil, []float64{100, 101}, []float64{100, 101})
		for _, r := range slices.Concat(base.Runs, cand.Runs) {
			r.Meta.Host.CPUs, r.Meta.Server.PostmasterPid = 2, c.server
			r.Meta.ByHand.Metrics[probes.CPUSteal] = c.steal * r.Meta.ByHand.CounterWindowS
			if c.busy > 0 {
				r.Background = []Background{{Top: []Busy{{Name: "cron", CPUPct: 10}, {Name: "rsync", CPUPct: c.busy - 10}}}}
			}
		}
		var got string
		for _, w := range mustCompare(t, base, cand).Warnings {
			if strings.HasPrefix(w, "this machine was not quiet") {
				got += w
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Too many busy clients mean something else than too few.
func TestLittlesLawBothWays(t *testing.T) {
	for _, c := range []struct {
		name         string
		tps, latency float64
		rate         float64
		want         string // empty where the check holds
	}{
		{"fits", 1000, 8, 0, ""},
		{"too few", 1000, 4, 0, "the clients also spent time outside transactions"},
		{"too many", 1000, 16, 0, "there are no more than that: the latencies are not of the same transactions"},
		{"too many at a rate", 1000, 16, 500, "under a given rate latencies count from the scheduled start"},
	} {
		run := handRun("a", map[string]float64{probes.TPS: c.tps, probes.LatencyMean: c.latency}, func(m *Meta) { m.Loads[0].Rate = c.rate })
		a := Audit(ArmOf(run))[0]
		if a.OK != (c.want == "") || !strings.Contains(a.Text, c.want) {
			t.Errorf("%s: %+v, want %q", c.name, a, c.want)
		}
	}
}

// A pair whose sides do not cover the same thing has no direction, no verdict and no p,
// and is not among what was asked at once.
func TestAPairOfUnlikeScopesHasNoDirection(t *testing.T) {
	m := probes.MustLookup(probes.PageFaults)
	m.Scope = "postmaster 7 and its children"
	for scope, want := range map[string]int{"": 1, m.Scope: 1, "system wide": 0} {
		r := PairRow(m, scope, Figure{Value: 1000}, Figure{Value: 10})
		if r.Direction() != want || (r.Verdict == NotApplicable) != (want == 0) || (r.Note == "") != (want == 1) {
			t.Errorf("base of %q: direction %d, %s, note %q", scope, r.Direction(), r.Verdict, r.Note)
		}
	}
}

// A figure that some runs of a list lack says in how many it was measured.
func TestARowOfSomeRunsSaysSo(t *testing.T) {
	m := probes.MustLookup(probes.LatencyP99)
	none := Figure{Missing: "of only 12 transactions"}
	r, _ := question{metric: m, base: []Figure{{Value: 1}, none, {Value: 2}}, cand: []Figure{{Value: 1}, {Value: 3}}, asked: 1, rule: verdict.Usual(0)}.answer()
	if !strings.Contains(r.Note, "measured in 2 of 3 runs of the base and 2 of 2 of the other") {
		t.Errorf("note %q", r.Note)
	}
	r, _ = question{metric: m, base: []Figure{{Value: 1}}, cand: []Figure{{Value: 3}}, asked: 1, rule: verdict.Usual(0)}.answer()
	if strings.Contains(r.Note, "measured in") {
		t.Errorf("note %q", r.Note)
	}
}

// An amount that is nothing beside its interval comes of rounding.
func TestAmount(t *testing.T) {
	m := probes.MustLookup(probes.PageFaultsMajor)
	for v, want := range map[float64]string{0: "equal", 6.8e-6: "equal", 0.48: "+0.480/s", -2: probes.Minus + "2/s"} {
		if got := amount(m, v, verdict.Interval{Lo: -2, Hi: 0.48}); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}
