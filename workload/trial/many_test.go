package trial

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgtlb/probes"
)

// handRun is a run with these figures and no samples.
func handRun(name string, metrics map[string]float64, change ...func(*Meta)) *Run {
	m := Meta{Schema: Schema, Name: name, Kind: "load", Created: time.Date(2026, 11, 30, 13, 0, 0, 0, time.UTC),
		Loads:  []LoadMeta{{Scenario: "point-select", Clients: 8}},
		ByHand: &ByHand{LoadS: 30, CounterWindowS: 30, Metrics: metrics}}
	for _, c := range change {
		c(&m)
	}
	return &Run{Meta: m, End: &End{Reason: "finished"}}
}

// abba makes an experiment in the order A B, B A …: identical runs of A first, then
// the blocks. tps gives the runs of each arm.
func abba(identical, a, b []float64) (base, cand ArmRuns) {
	base, cand = ArmRuns{Name: "4kB"}, ArmRuns{Name: "2MB"}
	position := 0
	add := func(arm *ArmRuns, block int, tps float64) {
		position++
		arm.Runs = append(arm.Runs, handRun(fmt.Sprintf("run-%02d", position), map[string]float64{
			probes.TPS: tps, probes.PageFaultsMajor: float64(position % 2), probes.DTLBMissPct: 2.5 + tps/1e6,
		}, func(m *Meta) {
			m.Created = m.Created.Add(time.Duration(position) * time.Minute)
			m.Pages = arm.Name
			m.Step = &StepMeta{Experiment: "pages", Factor: "huge_pages", Arm: arm.Name, Block: block, Position: position}
		}))
	}
	for _, v := range identical {
		add(&base, 0, v)
	}
	for i := range a {
		if i%2 == 0 {
			add(&base, i+1, a[i])
			add(&cand, i+1, b[i])
			continue
		}
		add(&cand, i+1, b[i])
		add(&base, i+1, a[i])
	}
	return base, cand
}

func mustCompare(t *testing.T, base ArmRuns, cands ...ArmRuns) Comparison {
	t.Helper()
	c, err := CompareArms(base, cands, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func rowOf(t *testing.T, c Comparison, metric string) Row {
	t.Helper()
	i := slices.IndexFunc(c.Rows, func(r Row) bool { return r.Metric == metric })
	if i < 0 {
		t.Fatalf("no row of %s", metric)
	}
	return c.Rows[i]
}

func times(f float64, runs []float64) []float64 {
	var out []float64
	for _, v := range runs {
		out = append(out, v*f)
	}
	return out
}

// measuredExperiment has seven pairs in the order A B, B A …, each run with samples,
// two of them identical before the first.
func measuredExperiment() []ArmRuns {
	rng := rand.New(rand.NewPCG(3, 4))
	arms := []ArmRuns{{Name: "4kB"}, {Name: "2MB"}}
	for position := range 16 {
		block := position / 2
		at := position % 2
		if block%2 == 0 {
			at = 1 - at
		}
		if block == 0 {
			at = 0
		}
		b := []builder{published4kB(), published2MB()}[at]
		b.tps *= 1 + 0.004*rng.NormFloat64()
		b.latency += time.Duration(rng.IntN(3)) * time.Microsecond
		b.counters[probes.PageFaults] *= 1 + 0.1*rng.Float64()
		b.counters[probes.CPUSteal] = 0.01 + float64(at)
		b.counters[probes.CPUIdle] = 0.4
		b.meta.Name = fmt.Sprintf("pages-%02d-%s", position+1, arms[at].Name)
		b.meta.Created = b.meta.Created.Add(time.Duration(position) * time.Minute)
		b.meta.Command = "pgtlb experiment --lab --vary huge_pages=4kB,2MB --scenario point-select --pairs 7"
		b.meta.Step = &StepMeta{Experiment: "pages", Factor: "huge_pages", Arm: arms[at].Name, Block: block, Position: position + 1}
		run := b.run()
		sessions := 3 * at
		run.Background = []Background{{Sessions: &sessions}}
		arms[at].Runs = append(arms[at].Runs, run)
	}
	return arms
}

// The published pair, entered by hand: every figure here is written in the source
// that it comes from, none is computed by the code under test.
func TestPublishedPairByHand(t *testing.T) {
	form := func(name, pages string, tps, latency, faults, loads, miss, kernel, user float64) *Run {
		run, err := ParseByHand(fmt.Appendf(nil, `{"name": %q, "scenario": "point-select", "clients": 8, "load_s": 30, "counter_window_s": 25, "pages": %q,
			"metrics": {"tps": %v, "latency_mean_ms": %v, "page_faults": %v, "dtlb_loads": %v, "dtlb_miss_pct": %v, "cycles_kernel": %v, "cycles_user": %v}}`,
			name, pages, tps, latency, faults, loads, miss, kernel, user))
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
	base := form("point-4kB", "4kB", 54263, 0.147, 1397551, 67.08e9, 2.73, 180.46e9, 407.13e9)
	cand := form("point-2MB", "2MB", 58564, 0.137, 1044, 69.36e9, 2.49, 163.42e9, 422.89e9)
	c := mustCompare(t, ArmRuns{"4 kB", []*Run{base}}, ArmRuns{"2 MB", []*Run{cand}})
	for metric, want := range map[string]string{
		probes.TPS: "+7.93 %", probes.LatencyMean: "−6.80 %", probes.PageFaults: "÷1,338 (1,338 times fewer)", probes.DTLBMissPct: "−0.24 pp",
		probes.CyclesKernel: "−9.44 %", probes.CyclesUser: "+3.87 %",
	} {
		r := rowOf(t, c, metric)
		if r.Difference != want || r.Verdict != TooFewRuns || r.P != nil {
			t.Errorf("%s: %q, %s, p %v; want %q", metric, r.Difference, r.Verdict, r.P, want)
		}
	}
	if !strings.HasPrefix(c.Sentence, "Undecided, one run per side has no known spread") || c.Verdict != TooFewRuns {
		t.Errorf("sentence %q, verdict %s", c.Sentence, c.Verdict)
	}
	var audit []string
	for _, a := range c.Audit {
		audit = append(audit, a.String())
	}
	for _, want := range []string{
		"WARNING: one run per arm: undecided",
		"WARNING: 4 kB: windows: 25 s of counters beside 30 s of load",
		"ok: cycle budget: user + kernel 23.5 G cycles/s against 23.5 G cycles/s (−0.2 %)",
		"ok: Little's law: TPS from 54,263 to 58,564, +7.93 %, with as many clients means mean latency −7.34 %; measured −6.80 %",
		"is −0.24 percentage points, which is −8.8 %",
	} {
		if !strings.Contains(strings.Join(audit, "\n"), want) {
			t.Errorf("the audit lacks %q:\n%s", want, strings.Join(audit, "\n"))
		}
	}
	r := BuildReport(cand, base, ReportOptions{})
	if len(r.Rows) != 7 || len(r.Sources) != 7 || r.Rows[0].Diff != "+7.93 %" || len(r.Charts) > 0 {
		t.Errorf("report: %+v, sources %+v", r.Rows, r.Sources)
	}
	for _, s := range r.Sources {
		if s.Source != "entered by hand" {
			t.Errorf("%s comes from %s", s.Title, s.Source)
		}
	}
	var text strings.Builder
	if err := WriteMarkdown(&text, r); err != nil {
		t.Fatal(err)
	}
	for _, never := range []string{"started", "Page tables at the end", "Filling", "n/a"} {
		if strings.Contains(text.String(), never) {
			t.Errorf("the report says %q:\n%s", never, text.String())
		}
	}
	for _, want := range []string{"| entered ", "totals over 25 s", "entered by hand: one figure per metric, no samples"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, text.String())
		}
	}
	dated, err := ParseByHand([]byte(`{"name": "a", "scenario": "x", "clients": 1, "load_s": 1, "metrics": {"tps": 1}, "created": "2025-03-01T12:00:00Z"}`))
	if err != nil {
		t.Fatal(err)
	}
	if facts := recordingFacts(ArmOf(dated), dated); !slices.Contains(facts, "started") || !slices.Contains(facts, "2025-03-01 12:00:00 UTC") {
		t.Errorf("of a run with a date: %q", facts)
	}
}

func TestVerdictsOfManyRuns(t *testing.T) {
	a := []float64{1000, 1004, 996, 1002, 998, 1001}
	wobble := []float64{1.002, 0.999, 1.001, 0.998, 1.002, 1.0}
	by := func(f float64) []float64 {
		var out []float64
		for i := range a {
			out = append(out, a[i]*f*wobble[i])
		}
		return out
	}
	for _, c := range []struct {
		name    string
		a, b    []float64
		want    Verdict
		inside  bool
		smaller string // stands in the sentence
	}{
		{"better", a, by(1.05), Better, false, "Better: 2MB against 4kB, TPS +"},
		{"worse", a, by(0.95), Worse, false, "Worse: 2MB against 4kB, TPS −"},
		{"same", a, by(1), Same, true, "The same: 2MB against 4kB, TPS differs by less than 1 %"},
		{"inside the noise floor", a, by(1.02), Unclear, true, "identical runs differ by 3 %, so this is not a result"},
		{"unclear", a, []float64{950, 1060, 980, 1010, 940, 1080}, Unclear, true, "would have been seen in 80 of 100"},
		{"too few", a[:5], by(1.05)[:5], TooFewRuns, false, "Undecided, too few runs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			base, cand := abba([]float64{1000, 985, 1015}, c.a, c.b)
			got := mustCompare(t, base, cand)
			r := rowOf(t, got, probes.TPS)
			if r.Verdict != c.want || r.InsideNoiseFloor != c.inside || !strings.Contains(got.Sentence, c.smaller) {
				t.Errorf("%s, inside %v, %q\n%+v", r.Verdict, r.InsideNoiseFloor, got.Sentence, r)
			}
			if !got.Paired || got.Experiment != "pages" || !r.Primary || r.N != len(c.a) || math.Abs(*r.SmallestP-2/math.Pow(2, float64(r.N))) > 1e-12 {
				t.Errorf("paired %v, %+v", got.Paired, r)
			}
		})
	}
}

// The smallest p of six pairs is 2/64, and the centre of equal ratios is that ratio.
func TestPairedKnownAnswer(t *testing.T) {
	a := []float64{1000, 900, 1100, 1050, 950, 1020}
	base, cand := abba(nil, a, times(1.25, a))
	c := mustCompare(t, base, cand)
	r := rowOf(t, c, probes.TPS)
	near(t, "p", *r.P, 0.03125)
	near(t, "adjusted", *r.PAdjusted, 0.03125)
	near(t, "difference", *r.DiffPct, 25)
	near(t, "lower end", *r.DiffLoPct, 25)
	near(t, "noise floor", *r.NoiseFloorPct, 100*200./1010)
	if r.Verdict != Better || r.Difference != "+25.00 %" {
		t.Errorf("%+v", r)
	}
	if m := rowOf(t, c, probes.PageFaultsMajor); m.DiffLoPct != nil || !strings.Contains(m.Note, "0, which has no ratio") {
		t.Errorf("major faults: %+v", m)
	}
	if m := rowOf(t, c, probes.DTLBMissPct); m.DiffPP == nil || m.DiffLoPP == nil || m.Primary {
		t.Errorf("miss rate: %+v", m)
	}
}

// Stored runs of no experiment are two lists: Mann and Whitney's p of 4 against 4
// that do not overlap is 2/70.
func TestUnpairedKnownAnswer(t *testing.T) {
	list := func(name string, tps ...float64) ArmRuns {
		arm := ArmRuns{Name: name}
		for i, v := range tps {
			arm.Runs = append(arm.Runs, handRun(fmt.Sprintf("%s-%d", name, i), map[string]float64{probes.TPS: v}))
		}
		return arm
	}
	c := mustCompare(t, list("a", 100, 101, 102, 103), list("b", 110, 111, 112, 113))
	r := rowOf(t, c, probes.TPS)
	near(t, "p", *r.P, 2./70)
	if c.Paired || r.Verdict != Better || r.N != 4 {
		t.Errorf("%+v", r)
	}
	if three := mustCompare(t, list("a", 100, 101, 102), list("b", 110, 111, 112)); three.Verdict != TooFewRuns {
		t.Errorf("three runs per arm: %s", three.Verdict)
	}
}

// The order in which runs are given does not matter, and with the arms exchanged the
// ratio is the inverse, p the same and the verdict the opposite.
func TestOrderAndExchange(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	opposite := map[Verdict]Verdict{Better: Worse, Worse: Better}
	for range 30 {
		n := 3 + rng.IntN(6)
		var identical, a, b []float64
		effect := 1 + 0.1*(rng.Float64()-0.5)
		for i := range n {
			a, b = append(a, 1000*(1+0.01*rng.NormFloat64())), append(b, 1000*effect*(1+0.01*rng.NormFloat64()))
			if i < 3 {
				identical = append(identical, 1000*(1+0.01*rng.NormFloat64()))
			}
		}
		base, cand := abba(identical, a, b)
		c := mustCompare(t, base, cand)
		shuffled := func(arm ArmRuns) ArmRuns {
			arm.Runs = slices.Clone(arm.Runs)
			rng.Shuffle(len(arm.Runs), func(i, j int) { arm.Runs[i], arm.Runs[j] = arm.Runs[j], arm.Runs[i] })
			return arm
		}
		if again := mustCompare(t, shuffled(base), shuffled(cand)); comparisonJSON(t, again) != comparisonJSON(t, c) {
			t.Fatalf("another order gives\n%s\nnot\n%s", comparisonJSON(t, again), comparisonJSON(t, c))
		}
		r, x := rowOf(t, c, probes.TPS), rowOf(t, mustCompare(t, cand, base), probes.TPS)
		near(t, "inverse", (1+*r.DiffPct/100)*(1+*x.DiffPct/100), 1)
		near(t, "p", *x.P, *r.P)
		want := r.Verdict
		if o, ok := opposite[want]; ok {
			want = o
		}
		if x.Verdict != want {
			t.Errorf("%s, exchanged %s", r.Verdict, x.Verdict)
		}
	}
}

func TestUnlikeRunsAreRefused(t *testing.T) {
	base, cand := abba(nil, []float64{1000, 1001}, []float64{1000, 1001})
	cand.Runs[0].Meta.Host.Kernel = "6.19"
	cand.Runs[1].Meta.Host.Kernel = "6.19"
	_, err := CompareArms(base, []ArmRuns{cand}, CompareOptions{})
	if err == nil || !strings.Contains(err.Error(), "kernel (none) against 6.19") || !strings.Contains(err.Error(), "--force") {
		t.Errorf("%v", err)
	}
	c, err := CompareArms(base, []ArmRuns{cand}, CompareOptions{Force: true})
	if err != nil || len(c.Warnings) == 0 || c.Warnings[0] != "the two also differ in kernel (none) against 6.19" {
		t.Errorf("%v, %q", err, c.Warnings)
	}
	base.Runs[1].Meta.Pages = "1GB"
	if _, err := CompareArms(base, []ArmRuns{cand}, CompareOptions{}); err == nil || !strings.Contains(err.Error(), "within 4kB: pages: 4kB → 1GB") {
		t.Errorf("within an arm: %v", err)
	}
	if _, err := CompareArms(ArmRuns{Name: "none"}, []ArmRuns{cand}, CompareOptions{}); err == nil {
		t.Error("an arm without runs was compared")
	}
}

func TestSuspiciousRunsAreTold(t *testing.T) {
	drifting := []float64{1000, 980, 960, 940, 920, 900}
	two := []float64{1000, 1200, 1001, 1201, 999, 1199}
	far := []float64{1000, 1001, 999, 1000, 1002, 700}
	for want, runs := range map[string][]float64{"drift: the TPS of 4kB changed by −6.1 %": drifting,
		"TPS of 4kB falls into two groups, around 1,000 and 1,200": two, "TPS of 4kB lies far from the others: run-12 (700, the median is 1,000)": far} {
		base, cand := abba(nil, runs, runs)
		if c := mustCompare(t, base, cand); !strings.Contains(strings.Join(c.Warnings, "\n"), want) {
			t.Errorf("no %q in %q", want, c.Warnings)
		}
	}
	base, cand := abba(nil, two, two)
	n := 5
	for _, r := range cand.Runs {
		r.Background = []Background{{Sessions: &n, Top: []Busy{{Name: "rsync", CPUPct: 40}}}}
	}
	zero := 0
	for _, r := range base.Runs {
		r.Background = []Background{{Sessions: &zero, Top: []Busy{{Name: "cron", CPUPct: 1}}}}
	}
	c := mustCompare(t, base, cand)
	for _, want := range []string{"other sessions 0 against 5", "CPU of the busiest other processes 1 % of one CPU against 40 % of one CPU"} {
		if !strings.Contains(strings.Join(c.Warnings, "\n"), want) {
			t.Errorf("no %q in %q", want, c.Warnings)
		}
	}
	cand.Runs[2].End = nil
	cand.Runs[3].Meta.Step.Block = 9
	cand.Runs[4].End = &End{Reason: "load failed: connection lost"}
	c = mustCompare(t, base, cand)
	for _, want := range []string{"was interrupted", "is no part of a pair"} {
		if !strings.Contains(strings.Join(c.Warnings, "\n"), want) {
			t.Errorf("no %q in %q", want, c.Warnings)
		}
	}
	if r := rowOf(t, c, probes.TPS); r.N != 4 {
		t.Errorf("%d pairs, want 4", r.N)
	}
}

// Of a repeated step the last run counts.
func TestRepeatedStepCountsOnce(t *testing.T) {
	base, cand := abba(nil, []float64{100, 100}, []float64{110, 110})
	again := *cand.Runs[0]
	again.Meta.Step = &StepMeta{Experiment: "pages", Arm: "2MB", Block: 1, Position: 9, OutOfOrder: true}
	again.Meta.Name, again.Meta.Created = "run-09", again.Meta.Created.Add(time.Hour)
	again.Meta.ByHand = &ByHand{LoadS: 30, CounterWindowS: 30, Metrics: map[string]float64{probes.TPS: 121}}
	cand.Runs = append(cand.Runs, &again)
	r := rowOf(t, mustCompare(t, base, cand), probes.TPS)
	near(t, "difference", *r.DiffPct, 100*(math.Sqrt(1.1*1.21)-1))
	if r.N != 2 {
		t.Errorf("%d pairs", r.N)
	}
}

func TestPIsNeverZero(t *testing.T) {
	for want, p := range map[string]float64{"< 0.001": 1e-9, "0.031": 0.03125, "0.33": 1. / 3, "1.00": 1} {
		if got := PText(p); got != want {
			t.Errorf("%v: %q, want %q", p, got, want)
		}
	}
}

func TestGrouped(t *testing.T) {
	base, cand := abba(nil, []float64{1, 2}, []float64{3, 4})
	runs := append(base.Runs, cand.Runs...)
	for i, r := range runs {
		r.Meta.Created = time.Date(2026, 11, 29+i%2, 9+12*(i%2), 0, 0, 0, time.UTC) // Sunday and Monday
		r.Meta.ByHand.Started = r.Meta.Created
		r.Tags = []string{[]string{"night", "day"}[i%2]}
	}
	for by, want := range map[string][]string{ByHour: {"09:00", "21:00"}, ByWeekday: {"Monday", "Sunday"}, ByTag: {"day", "night"}} {
		clock, err := clockworkOf(by, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		g, err := grouped(runs, clock)
		if err != nil || !slices.Equal(armNames(g.Arms), want) || len(g.Arms[0].Runs) != 2 || len(g.Warnings) > 0 {
			t.Errorf("%s: %v, %q, %v", by, armNames(g.Arms), g.Warnings, err)
		}
		if _, err := grouped(runs[:1], clock); err == nil {
			t.Errorf("%s: one group was compared", by)
		}
	}
	if _, err := clockworkOf("moon", time.UTC); err == nil {
		t.Error("groups by the moon")
	}
}

func comparisonJSON(t *testing.T, c Comparison) string {
	t.Helper()
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
