package calibrate

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pgtlb/probes"
	"pgtlb/workload/script"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "write golden files anew")

func value(v float64) *float64 { return &v }

func same(a, b *float64) bool {
	return a == nil && b == nil || a != nil && b != nil && math.Abs(*a-*b) < 1e-9
}

func text(v *float64) string {
	if v == nil {
		return "none"
	}
	return fmt.Sprint(*v)
}

func TestSpread(t *testing.T) {
	given := []float64{103, 98, 100, 107}
	if got := spreadOf(given); *got != (Spread{Median: 101.5, Least: 98, Most: 107}) {
		t.Errorf("%+v", *got)
	}
	if !slices.Equal(given, []float64{103, 98, 100, 107}) {
		t.Errorf("the caller's values are sorted: %v", given)
	}
	if got := spreadOf([]float64{3, 1, 2}); *got != (Spread{2, 1, 3}) {
		t.Errorf("%+v", *got)
	}
	if got := spreadOf(nil); got != nil {
		t.Errorf("of nothing: %+v", *got)
	}
	for _, c := range []struct {
		what      string
		got, want *float64
	}{
		{"range", Spread{Median: 200, Least: 190, Most: 210}.rangePct(), value(10)},
		{"range around 0", Spread{Least: -1, Most: 1}.rangePct(), nil},
		{"variation", variationPct([]float64{98, 100, 102}), value(2)}, // sample deviation 2, mean 100
		{"variation of equals", variationPct([]float64{5, 5}), value(0)},
		{"variation of one", variationPct([]float64{98}), nil},
		{"variation around 0", variationPct([]float64{-1, 1}), nil},
		{"quotient", quotient(value(3), value(4)), value(0.75)},
		{"quotient by 0", quotient(value(3), value(0)), nil},
		{"quotient of none", quotient(nil, value(4)), nil},
		{"per transaction", perTransaction(3*time.Millisecond, 1000), value(3)},
		{"per transaction of less than nothing", perTransaction(-time.Millisecond, 1000), nil},
	} {
		if !same(c.got, c.want) {
			t.Errorf("%s: %s, want %s", c.what, text(c.got), text(c.want))
		}
	}
}

func TestRoundsAreABBA(t *testing.T) {
	order := ""
	run := func(name string) func() error { return func() error { order += name; return nil } }
	for round := range 4 {
		if err := inTurn(round, run("A"), run("B")); err != nil {
			t.Fatal(err)
		}
	}
	if order != "ABBAABBA" {
		t.Errorf("order %s", order)
	}
	order = ""
	broken := errors.New("broken")
	if err := inTurn(1, run("A"), func() error { return broken }); !errors.Is(err, broken) || order != "" {
		t.Errorf("after an error: %v, ran %q", err, order)
	}
}

func TestSchedule(t *testing.T) {
	o := Options{Clients: []int{8, 80}, Modes: []script.Mode{script.Prepared, script.Simple, script.Extended}, Rounds: 2}
	for _, c := range []struct {
		only    Part
		pgbench bool
		want    int
	}{{"", true, 30}, {"", false, 6}, {Driver, true, 24}, {AA, false, 2}, {Probes, true, 4}} {
		o.Only = c.only
		if got := o.runs(c.pgbench); got != c.want {
			t.Errorf("%q, pgbench %v: %d runs, want %d", c.only, c.pgbench, got, c.want)
		}
	}
	began := time.Unix(1000, 0)
	s := schedule{left: 10, began: began, each: 5 * time.Second}
	if got := s.rest(began); got != 50*time.Second {
		t.Errorf("at the start: %v", got)
	}
	s.ran(2)
	if got := s.rest(began.Add(12 * time.Second)); got != 48*time.Second {
		t.Errorf("after two runs of 6 s: %v", got)
	}
}

func TestThreadsOfASetting(t *testing.T) {
	for _, c := range []struct{ threads, clients, want int }{{4, 8, 4}, {8, 2, 2}, {0, 1, 1}} {
		o := Options{Threads: c.threads}
		if got := o.setting(c.clients, script.Extended); got != (Setting{c.clients, c.want, "extended"}) {
			t.Errorf("%d threads for %d clients: %+v", c.threads, c.clients, got)
		}
	}
}

func TestParsePart(t *testing.T) {
	if p, err := ParsePart("aa"); p != AA || err != nil {
		t.Errorf("%v, %v", p, err)
	}
	if _, err := ParsePart("wire"); err == nil || !strings.Contains(err.Error(), `"wire"; there are driver, aa and probes`) {
		t.Errorf("%v", err)
	}
}

func TestAround(t *testing.T) {
	duration := func(d time.Duration) *time.Duration { return &d }
	before := moment{own: time.Second, server: duration(10 * time.Second),
		machine: &probes.CPUTime{Busy: 100 * time.Second, Idle: 50 * time.Second, Steal: time.Second, HasSteal: true}}
	// 8 s of CPU time later: 6 busy, of them 1.5 ours, 3 the server's, 0.7 pgbench's; 0.4 stolen, 1.6 idle
	after := moment{own: 2500 * time.Millisecond, server: duration(13 * time.Second), load: value(2.5),
		machine: &probes.CPUTime{Busy: 106 * time.Second, Idle: 51600 * time.Millisecond, Steal: 1400 * time.Millisecond, HasSteal: true}}
	check := func(what string, got Around, load, steal, other *float64) {
		t.Helper()
		if !same(got.LoadAvg, load) || !same(got.Steal, steal) || !same(got.Other, other) {
			t.Errorf("%s: load %s, steal %s, other %s", what, text(got.LoadAvg), text(got.Steal), text(got.Other))
		}
	}
	check("all", after.since(before, 700*time.Millisecond), value(2.5), value(5), value(10))
	check("nothing else", after.since(before, 5*time.Second), value(2.5), value(5), value(0))
	check("no time between", before.since(before, 0), nil, nil, nil)
	after.server = nil
	check("no server", after.since(before, 0), value(2.5), value(5), nil)
	after.machine.HasSteal = false
	check("no steal", after.since(before, 0), value(2.5), nil, nil)
	after.machine = nil
	check("no machine", after.since(before, 0), value(2.5), nil, nil)
}

// quiet is a round on a machine with nothing else to do, busy one beside others.
func quiet() Around { return Around{value(2.25), value(0), value(0.75)} }
func busy() Around  { return Around{value(6.5), value(12), value(34.5)} }

// known is a report with known answers.
func known() *Report {
	set := Setting{8, 1, "prepared"}
	run := func(tps, cpu float64) Measured { return Measured{tps, value(cpu)} }
	watched := func(tps, aside float64, samples int) WatchedRun {
		return WatchedRun{run(tps, 6), samples, value(aside)}
	}
	return &Report{
		Machine: probes.Host{Hostname: "db1", CPUModel: "Some CPU", CPUs: 2, Kernel: "6.1.0", Arch: "amd64"},
		Server:  "15.18", Pgbench: "15.18", Rows: 1_000_000, Pages: "4kB", Rounds: 3, Seconds: 4,
		Warnings: []string{}, Unavailable: []probes.Miss{},
		Driver: []Against{{Setting: set, Pairs: []DriverPair{
			{true, run(41_200, 6), run(40_000, 8), quiet()},
			{false, run(49_000, 7), run(50_000, 8), busy()},
			{true, run(42_800, 6.4), run(40_000, 8), quiet()},
		}}},
		AA: &Identical{Setting: set, Runs: []IdenticalRun{{run(49_000, 6), quiet()}, {run(50_000, 6), quiet()}, {run(51_000, 6), quiet()}}},
		Probes: &Watching{Setting: set, Pairs: []WatchPair{
			{true, watched(49_800, 0.9, 4), watched(50_000, 0.2, 0), quiet()},
			{false, watched(50_150, 0.8, 5), watched(50_000, 0.2, 0), quiet()},
			{true, watched(49_400, 1.1, 4), watched(50_000, 0.2, 0), quiet()},
		}},
	}
}

func TestVerdict(t *testing.T) {
	r := known()
	r.sum()
	want := []string{
		"pgtlb's driver reaches 1.03 (0.98..1.07) of pgbench's TPS at 0.80 (0.75..0.88) of its client CPU: 8 clients, 1 thread, prepared",
		"identical runs differ by up to 4 %: a smaller difference between two runs is not a result here (3 runs of 4 s: too few to rely on)",
		"what watching costs in TPS is not distinguishable from 0 here: −0.3..1.2 % (identical runs differ by up to 4 %); the probes take 0.70 % of one CPU in pgtlb itself",
	}
	if !slices.Equal(r.Verdict, want) {
		t.Errorf("verdict:\n%s", strings.Join(r.Verdict, "\n"))
	}
	wantWarnings := []string{
		"driver, 8 clients, 1 thread, prepared: other processes used more than 10 % of the CPUs in round 2 (34.5 % at most): take the machine for yourself and repeat",
		"driver, 8 clients, 1 thread, prepared: the hypervisor took away more than 10 % of the CPUs in round 2 (12.0 % at most): take the machine for yourself and repeat",
	}
	if !slices.Equal(r.Warnings, wantWarnings) {
		t.Errorf("warnings:\n%s", strings.Join(r.Warnings, "\n"))
	}
	if len(r.Unavailable) > 0 {
		t.Errorf("unavailable: %+v", r.Unavailable)
	}
	if !same(r.AA.CVPct, value(2)) {
		t.Errorf("coefficient of variation %s", text(r.AA.CVPct))
	}
}

// TestVerdictOfLittle: what one round cannot say is missing with the reason,
// and is not 0.
func TestVerdictOfLittle(t *testing.T) {
	r := known()
	r.Driver[0].Pairs = r.Driver[0].Pairs[:1]
	r.Driver[0].Pairs[0].Pgbench.CPU = nil
	r.AA.Runs = r.AA.Runs[:1]
	r.Probes.Pairs = r.Probes.Pairs[:1]
	r.Probes.Pairs[0].Unwatched.Aside = nil
	r.Interrupted = true
	r.sum()
	want := []string{
		"pgtlb's driver reaches 1.03 (one round) of pgbench's TPS: 8 clients, 1 thread, prepared",
		"watching costs 0.4 % of TPS (one round)",
		"interrupted: these are the rounds that were complete",
	}
	if !slices.Equal(r.Verdict, want) {
		t.Errorf("verdict:\n%s", strings.Join(r.Verdict, "\n"))
	}
	if r.AA.SpreadPct != nil || r.AA.CVPct != nil || r.Driver[0].CPURatio != nil || r.Probes.OwnCPU != nil {
		t.Errorf("figures that were not measured: %+v %+v %+v", r.AA, r.Driver[0].CPURatio, r.Probes.OwnCPU)
	}
	var missing []string
	for _, m := range r.Unavailable {
		missing = append(missing, m.ID)
	}
	if !slices.Equal(missing, []string{"aa", "probes.own_cpu_pct"}) {
		t.Errorf("unavailable: %+v", r.Unavailable)
	}
}

// TestVerdictWithinNoise: what identical runs differ by, and a cost below 0, is
// told as no result, and a CPU time below the clock's resolution as a bound.
func TestVerdictWithinNoise(t *testing.T) {
	setting := Setting{8, 1, "prepared"}
	for _, c := range []struct {
		name  string
		cost  []float64 // percent of TPS, by round
		own   []float64 // percent of one CPU, by round
		floor *float64
		other bool // the identical runs had another setting
		want  string
	}{
		{"a gain", []float64{-39.9}, []float64{-0.07}, nil, false,
			"what watching costs in TPS is not distinguishable from 0 here: −39.9 %, one round; the probes take less than 1.00 % of one CPU in pgtlb itself"},
		{"a gain in each round", []float64{-3, -1}, []float64{2, 3}, value(0.5), false,
			"what watching costs in TPS is not distinguishable from 0 here: −3.0..−1.0 % (identical runs differ by up to 0.500 %); the probes take 2.50 % of one CPU in pgtlb itself"},
		{"within the noise", []float64{1, 2}, []float64{-3, 4}, value(2.5), false,
			"what watching costs in TPS is not distinguishable from 0 here: 1.0..2.0 % (identical runs differ by up to 2.50 %); the probes take less than 4.00 % of one CPU in pgtlb itself"},
		{"beyond the noise", []float64{1, 3}, nil, value(2.5), false, "watching costs 2.0 % of TPS (1.0..3.0 %)"},
		{"the noise of another setting", []float64{1, 2}, nil, value(2.5), true, "watching costs 1.5 % of TPS (1.0..2.0 %)"},
	} {
		r := &Report{Seconds: 1, Probes: &Watching{Setting: setting, Pairs: make([]WatchPair, len(c.cost)), CostPct: spreadOf(c.cost), OwnCPU: spreadOf(c.own)}}
		if c.floor != nil {
			r.AA = &Identical{Setting: setting, Runs: make([]IdenticalRun, fewRounds), SpreadPct: c.floor}
			if c.other {
				r.AA.Clients++
			}
		}
		if got := r.sentences(); got[len(got)-1] != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got[len(got)-1], c.want)
		}
	}
	against := Against{Setting: setting, Pairs: make([]DriverPair, 2), TPSRatio: &Spread{1.01, 0.99, 1.03}}
	r := &Report{Driver: []Against{against}, AA: &Identical{Setting: setting, Runs: make([]IdenticalRun, fewRounds), SpreadPct: value(3.5)}}
	want := []string{
		"pgtlb's driver reaches 1.01 (0.99..1.03) of pgbench's TPS: 8 clients, 1 thread, prepared; its TPS are not distinguishable from pgbench's here (identical runs differ by up to 3.50 %)",
		"identical runs differ by up to 3.50 %: a smaller difference between two runs is not a result here",
	}
	if got := r.sentences(); !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}

func TestText(t *testing.T) {
	r := known()
	r.sum()
	var got bytes.Buffer
	if err := WriteText(&got, r); err != nil {
		t.Fatal(err)
	}
	const path = "testdata/calibration.txt"
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%s differs from what is written now (go test -update writes it anew, then look at the change):\n%s", path, got.String())
	}
}

// TestTextHasEveryRowOfTheJSON: a row of text for each round, and the summary.
func TestTextHasEveryRowOfTheJSON(t *testing.T) {
	r := known()
	r.sum()
	tables := r.tables()
	if len(tables) != 3 {
		t.Fatalf("%d tables", len(tables))
	}
	for i, rounds := range []int{len(r.Driver[0].Pairs), len(r.AA.Runs), len(r.Probes.Pairs)} {
		if got := len(tables[i].rows); got != 1+rounds+3 {
			t.Errorf("%s: %d rows for %d rounds", tables[i].title, got, rounds)
		}
		heads := len(tables[i].rows[0])
		for _, row := range tables[i].rows[:1+rounds] {
			if len(row) != heads {
				t.Errorf("%s: %q has %d cells under %d headings", tables[i].title, row, len(row), heads)
			}
		}
	}
}

// The keys are a contract: scripts read them.
func TestKeys(t *testing.T) {
	r := known()
	r.sum()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	at := func(path ...any) any {
		var v any = all
		for _, p := range path {
			switch p := p.(type) {
			case string:
				v = v.(map[string]any)[p]
			case int:
				v = v.([]any)[p]
			}
		}
		return v
	}
	measured := "cpu_us_per_txn tps"
	beside := "load_avg other_cpu_pct steal_pct"
	for _, c := range []struct {
		path []any
		want string
	}{
		{nil, "aa driver interrupted machine pages pgbench_version probes rounds rows seconds server_version unavailable verdict warnings"},
		{[]any{"driver", 0}, "clients cpu_ratio mode ours pairs pgbench threads tps_ratio"},
		{[]any{"driver", 0, "pairs", 0}, "ours ours_first pgbench " + beside},
		{[]any{"driver", 0, "pairs", 0, "ours"}, measured},
		{[]any{"driver", 0, "pairs", 0, "pgbench"}, measured},
		{[]any{"driver", 0, "ours"}, measured},
		{[]any{"driver", 0, "tps_ratio"}, "least median most"},
		{[]any{"aa"}, "clients cv_pct mode runs spread_pct threads " + measured},
		{[]any{"aa", "runs", 0}, beside + " " + measured},
		{[]any{"probes"}, "clients cost_pct mode own_cpu_pct pairs threads tps_ratio unwatched watched"},
		{[]any{"probes", "pairs", 0}, "unwatched watched watched_first " + beside},
		{[]any{"probes", "pairs", 0, "watched"}, "aside_cpu_pct samples " + measured},
	} {
		m, ok := at(c.path...).(map[string]any)
		want := strings.Fields(c.want)
		slices.Sort(want)
		if got := slices.Sorted(maps.Keys(m)); !ok || !slices.Equal(got, want) {
			t.Errorf("%v has the keys %q, want %q", c.path, got, want)
		}
	}
}
