package trial

import (
	"fmt"

	"pgtlb/probes"
)

// Arm is one side of a comparison: a run and its one number per metric.
type Arm struct {
	Meta    Meta
	Summary *Summary
}

// ArmOf summarises a run over its load window.
func ArmOf(run *Run) Arm {
	return Arm{Meta: run.Meta, Summary: summaryOf(run.Meta, Frames(run))}
}

// summaryOf is Summarize with the reasons why metrics could not be opened.
func summaryOf(meta Meta, frames []probes.Frame) *Summary {
	s := Summarize(frames)
	if meta.ByHand != nil {
		s = meta.ByHand.summary()
	}
	for _, u := range meta.Unavailable {
		k := probes.Key{ID: u.ID}
		if f, there := s.Figures[k]; !there || !f.OK() {
			s.Figures[k] = Figure{Missing: u.Text()}
		}
	}
	return s
}

// Verdict is what the runs at hand allow to say about a difference.
type Verdict string

// The verdicts that a comparison of two single runs can come to.
const (
	TooFewRuns    Verdict = "too_few_runs"
	NotApplicable Verdict = "n/a"
)

// SinglePair is the sentence that stands beside every pair of single runs.
const SinglePair = "one run per side: a single pair of runs has no known spread, " +
	"so a difference may be chance; repeat both sides in alternating order to find out"

// Comparison holds two arms against each other, metric by metric.
type Comparison struct {
	Arms     []ArmName `json:"arms"`
	Rows     []Row     `json:"rows"`
	Warnings []string  `json:"warnings"`
}

// ArmName names an arm and says how many runs it has.
type ArmName struct {
	Name string `json:"name"`
	Runs int    `json:"runs"`
}

// Row is one metric of a comparison. Null stands for what is not known.
type Row struct {
	Metric     string        `json:"metric"`
	Title      string        `json:"title"`
	Unit       string        `json:"unit"` // of the centres
	Better     probes.Better `json:"better"`
	Base       Estimate      `json:"base"`
	Cand       Estimate      `json:"cand"`
	DiffPct    *float64      `json:"diff_pct"`
	DiffLoPct  *float64      `json:"diff_lo_pct"`
	DiffHiPct  *float64      `json:"diff_hi_pct"`
	P          *float64      `json:"p"`
	N          int           `json:"n"` // runs in each arm
	Verdict    Verdict       `json:"verdict"`
	Note       string        `json:"note"`
	Difference string        `json:"difference"` // in words: "+7.93 %", "÷27 (27 times fewer)"
}

// Estimate is an arm's centre and the interval around it.
type Estimate struct {
	Center *float64 `json:"center"`
	Lo     *float64 `json:"lo"`
	Hi     *float64 `json:"hi"`
}

// Compare holds a candidate against a base. Each is a single run, which has no
// spread: the rows carry no interval and no p, and no verdict but that.
func Compare(base, cand Arm) Comparison {
	c := Comparison{
		Arms:     []ArmName{{base.Meta.Name, 1}, {cand.Meta.Name, 1}},
		Rows:     []Row{},
		Warnings: []string{SinglePair},
	}
	for _, m := range described(cand.Meta, base.Meta) {
		b, d := base.Summary.Get(m.ID), cand.Summary.Get(m.ID)
		if b.OK() || d.OK() {
			c.Rows = append(c.Rows, compareRow(m, b, d))
		}
	}
	for _, d := range Differs(base.Meta, cand.Meta) {
		c.Warnings = append(c.Warnings, "the two also differ in "+d)
	}
	for _, a := range AuditPair(base, cand) {
		if !a.OK {
			c.Warnings = append(c.Warnings, a.Text)
		}
	}
	return c
}

func compareRow(m probes.Metric, base, cand Figure) Row {
	d := Difference(m, base, cand)
	r := Row{
		Metric: m.ID, Title: m.Title, Unit: rateUnit(m), Better: m.Better, N: 1,
		Verdict: TooFewRuns, Difference: d.Long, Note: d.Why,
	}
	if base.OK() {
		r.Base.Center = &base.Value
	}
	if cand.OK() {
		r.Cand.Center = &cand.Value
	}
	if d.Known {
		r.DiffPct = &d.Pct
	}
	if !base.OK() || !cand.OK() {
		r.Verdict = NotApplicable
	}
	if pct := min(running(base), running(cand)); pct < leastRunning && r.Note == "" {
		r.Note = fmt.Sprintf("counted only %.0f %% of the time and scaled up", pct)
	}
	return r
}

// leastRunning is the share of time in percent below which a perf counter's
// figure says so.
const leastRunning = 90

// running is the share of time that a figure was counted; what perf does not
// count was always there.
func running(f Figure) float64 {
	if f.RunningPct == 0 {
		return 100
	}
	return f.RunningPct
}

// rateUnit is the unit of a figure's Value.
func rateUnit(m probes.Metric) string {
	if m.Kind == probes.Counter {
		return m.Unit + "/s"
	}
	return m.Unit
}

// described returns the catalogue with source and scope as the first of the
// runs that measured each metric had them.
func described(metas ...Meta) []probes.Metric {
	all := probes.Catalogue()
	for i := range all {
		for _, meta := range metas {
			if m, ok := find(meta.Metrics, all[i].ID); ok {
				all[i].Source, all[i].Scope = m.Source, m.Scope
				break
			}
		}
	}
	return all
}

func find(metrics []probes.Metric, id string) (probes.Metric, bool) {
	for _, m := range metrics {
		if m.ID == id {
			return m, true
		}
	}
	return probes.Metric{}, false
}
