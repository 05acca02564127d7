package trial

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgtlb/probes"
)

// onePair compares two single runs.
func onePair(t *testing.T, base, cand *Run) Comparison {
	t.Helper()
	c, err := CompareArms(ArmRuns{"base", []*Run{base}}, []ArmRuns{{"cand", []*Run{cand}}}, CompareOptions{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCompareOfSingleRunsGivesNoVerdict(t *testing.T) {
	c := onePair(t, published4kB().run(), published2MB().run())
	if len(c.Rows) == 0 {
		t.Fatal("no rows")
	}
	for _, r := range c.Rows {
		if r.Verdict != TooFewRuns || r.N != 1 || r.P != nil || r.Base.Lo != nil || r.Cand.Hi != nil || r.DiffLoPct != nil {
			t.Errorf("%s: one run per side gave %+v", r.Metric, r)
		}
	}
	i := slices.IndexFunc(c.Rows, func(r Row) bool { return r.Metric == probes.TPS })
	near(t, "difference", *c.Rows[i].DiffPct, 100*(58564.-54263)/54263)
	if !slices.Contains(c.Warnings, SinglePair) || len(c.Warnings) != 1 {
		t.Errorf("warnings are %q", c.Warnings)
	}
	haveKeys(t, "comparison", c, "sentence", "verdict", "varied", "paired", "margin_pct", "arms", "rows", "warnings", "audit", "background")
	haveKeys(t, "an arm", c.Arms[0], "name", "runs", "run_names")
	haveKeys(t, "a row", c.Rows[i], "metric", "title", "unit", "better", "base", "cand", "diff_pct", "diff_lo_pct", "diff_hi_pct",
		"p", "n", "verdict", "note", "difference",
		"cand_name", "primary", "scope", "hint", "smallest_p", "p_adjusted", "noise_floor_pct", "inside_noise_floor", "detectable_pct")
	haveKeys(t, "base", c.Rows[i].Base, "center", "lo", "hi")
}

func TestCompareKeepsTheReasonOfWhatIsMissing(t *testing.T) {
	cand := published2MB()
	delete(cand.counters, probes.CyclesUser)
	cand.misses = []probes.Miss{{ID: probes.CyclesUser, Reason: "perf_event_paranoid is 3"}}
	c := onePair(t, published4kB().run(), cand.run())
	i := slices.IndexFunc(c.Rows, func(r Row) bool { return r.Metric == probes.CyclesUser })
	if i < 0 {
		t.Fatal("the row is gone")
	}
	if r := c.Rows[i]; r.Verdict != NotApplicable || r.Cand.Center != nil || r.Note != "perf_event_paranoid is 3" {
		t.Errorf("row is %+v", r)
	}
	text, err := json.Marshal(c.Rows[i])
	if err != nil || !strings.Contains(string(text), `"cand":{"center":null`) {
		t.Errorf("JSON is %s, %v", text, err)
	}
}

func TestDiffers(t *testing.T) {
	base := publishedMeta("4kB", "off")
	pages := publishedMeta("2MB", "on")
	pages.Host.Pools = []probes.Pool{{PageKB: 2048, Total: 22_000}}
	pages.Server.Settings = append(slices.Clone(pages.Server.Settings), probes.Setting{Name: "data_directory", Value: "/tmp/x"})
	work := publishedMeta("4kB", "off")
	work.Server.Settings = append(slices.Clone(work.Server.Settings), probes.Setting{Name: "work_mem", Value: "64MB"})
	two := publishedMeta("4kB", "off")
	two.Server.Settings = append(slices.Clone(work.Server.Settings), probes.Setting{Name: "jit", Value: "off"})
	other := publishedMeta("2MB", "on")
	other.Dataset = &Dataset{Rows: 1_000_000, Seed: 1}
	other.Host.Kernel = "6.19.0-amd64"
	other.Host.THP = map[string]string{"enabled": "always", "defrag": "madvise", "shmem_enabled": "never"}
	other.Server.Version = "18.1"
	other.Loads = []LoadMeta{{Scenario: "point-select", Version: 2, Clients: 16, Seed: 1}}
	for name, c := range map[string]struct {
		cand    Meta
		varied  string
		differs []string
	}{
		"same":         {base, "", nil},
		"pages":        {pages, "pages: 4kB → 2MB", nil},
		"one setting":  {work, "work_mem: (default) → 64MB", nil},
		"two settings": {two, "", []string{"setting jit (default) against off", "setting work_mem (default) against 64MB"}},
		"much": {other, "pages: 4kB → 2MB", []string{
			"kernel 6.18.0-amd64 against 6.19.0-amd64", "THP enabled madvise against always", "server version 17.6 against 18.1",
			"the version of point-select 1 against 2", "clients of point-select 8 against 16", "rows 180,000,000 against 1,000,000",
		}},
	} {
		if got := Varied(base, c.cand); got != c.varied {
			t.Errorf("%s: varied %q, want %q", name, got, c.varied)
		}
		if got := Differs(base, c.cand); !slices.Equal(got, c.differs) {
			t.Errorf("%s: differs in %q, want %q", name, got, c.differs)
		}
	}
}

func TestAuditsFindWhatDoesNotFit(t *testing.T) {
	b := published4kB()
	b.meta.Loads[0].Clients = 10 // 8 of them were busy
	b.counters[probes.Cycles] = 700e9 / 25
	lines := Audit(ArmOf(b.run()))
	if len(lines) != 2 || lines[0].OK || lines[1].OK {
		t.Errorf("checks are %+v", lines)
	}
	slower := published2MB()
	slower.counters[probes.CyclesUser] *= 0.8
	pair := AuditPair(ArmOf(published4kB().run()), ArmOf(slower.run()))
	if len(pair) != 3 || pair[0].OK || !pair[1].OK {
		t.Errorf("a broken cycle budget gave %+v", pair)
	}
	c := onePair(t, published4kB().run(), slower.run())
	if !slices.ContainsFunc(c.Warnings, func(w string) bool { return strings.HasPrefix(w, "cycle budget") }) {
		t.Errorf("the comparison does not warn: %q", c.Warnings)
	}
	bare := builder{meta: Meta{}, seconds: 5}
	if lines := Audit(ArmOf(bare.run())); len(lines) != 0 {
		t.Errorf("checks of nothing: %+v", lines)
	}
}
