package trial

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pgtlb/probes"
	"pgtlb/workload/verdict"
)

// Arm is one side of a comparison: a run and its one number per metric.
type Arm struct {
	Meta    Meta
	Summary *Summary
}

// ArmOf summarises a run over its load window.
func ArmOf(run *Run) Arm {
	if run.summary != nil {
		return Arm{Meta: run.Meta, Summary: withReasons(run.summary, run.Meta)}
	}
	return Arm{Meta: run.Meta, Summary: summaryOf(run.Meta, Frames(run))}
}

// summaryOf is Summarize with the reasons why metrics could not be opened.
func summaryOf(meta Meta, frames []probes.Frame) *Summary {
	s := Summarize(frames)
	if meta.ByHand != nil {
		s = meta.ByHand.summary()
	}
	return withReasons(s, meta)
}

// withReasons says of metrics that are not in a summary why they could not be opened.
func withReasons(s *Summary, meta Meta) *Summary {
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

// The verdicts of a row.
const (
	Better        Verdict = "better"
	Worse         Verdict = "worse"
	Same          Verdict = "same"    // the interval lies inside the equivalence margin
	Unclear       Verdict = "unclear" // neither a difference nor its absence is shown
	TooFewRuns    Verdict = "too_few_runs"
	NotApplicable Verdict = "n/a" // no figure, or no better side
)

// SinglePair is the sentence that stands beside every pair of single runs.
const SinglePair = "one run per side: a single pair of runs has no known spread, " +
	"so a difference may be chance; repeat both sides in alternating order to find out"

// Comparison holds one or more candidates against a base, metric by metric. Every
// run gives one number per metric.
type Comparison struct {
	// Sentence is the result: the verdict on the primary metric, in words.
	Sentence string `json:"sentence"`
	// Verdict is that of the primary metric and the first candidate.
	Verdict    Verdict         `json:"verdict"`
	Varied     string          `json:"varied,omitempty"` // "pages: 4kB → 2MB"
	Experiment string          `json:"experiment,omitempty"`
	Paired     bool            `json:"paired"` // by the blocks of an experiment
	MarginPct  float64         `json:"margin_pct"`
	Arms       []ArmName       `json:"arms"` // the base first
	Rows       []Row           `json:"rows"`
	Warnings   []string        `json:"warnings"`
	Audit      []AuditLine     `json:"audit"`
	Background []BackgroundRow `json:"background"`
	beside     []string        // of the warnings those on what went on beside the runs
}

// ArmName names an arm and says how many runs it has.
type ArmName struct {
	Name     string   `json:"name"`
	Runs     int      `json:"runs"`
	RunNames []string `json:"run_names"` // in the order in which they were made
}

// Row is one metric of a comparison. Null stands for what is not known.
type Row struct {
	Metric string        `json:"metric"`
	Title  string        `json:"title"`
	Unit   string        `json:"unit"` // of the centres
	Better probes.Better `json:"better"`
	// Scope is what the figures cover, in one word of probes.Metric.Covers: "machine",
	// "server", "load"; empty where it is not known.
	Scope    string `json:"scope"`
	CandName string `json:"cand_name"`
	// Primary marks the one metric that the comparison is about.
	Primary bool `json:"primary"`
	// Base and Cand are the medians of the runs, each with its interval.
	Base Estimate `json:"base"`
	Cand Estimate `json:"cand"`
	// DiffPct is the Hodges-Lehmann estimate of candidate / base, as a difference,
	// with its 95 % interval. Where a run has 0, which has no ratio, or the metric is in
	// percent, it is the difference relative to the base's median, without an interval.
	DiffPct   *float64 `json:"diff_pct"`
	DiffLoPct *float64 `json:"diff_lo_pct"`
	DiffHiPct *float64 `json:"diff_hi_pct"`
	// DiffPP is candidate − base in percentage points, for metrics in percent only.
	DiffPP   *float64 `json:"diff_pp,omitempty"`
	DiffLoPP *float64 `json:"diff_lo_pp,omitempty"`
	DiffHiPP *float64 `json:"diff_hi_pp,omitempty"`
	P        *float64 `json:"p"`
	// SmallestP is the least p that as many runs could give.
	SmallestP *float64 `json:"smallest_p"`
	// PAdjusted is P adjusted by Holm's method for all that was asked at once: the
	// primary metric for the candidates, the others for one another.
	PAdjusted *float64 `json:"p_adjusted"`
	N         int      `json:"n"` // pairs, or runs of the smaller arm
	// NoiseFloorPct is what identical runs differed by, (most − least) / median.
	NoiseFloorPct *float64 `json:"noise_floor_pct"`
	// InsideNoiseFloor tells of a difference that is at most the noise floor, whatever its p.
	InsideNoiseFloor bool `json:"inside_noise_floor"`
	// DetectablePct is the difference that 80 of 100 further comparisons of as many
	// runs would find under the same rule, noise floor included. Of the primary metric
	// with several candidates the rule is the first step of Holm's method for all of
	// them, its strictest.
	DetectablePct *float64 `json:"detectable_pct"`
	Verdict       Verdict  `json:"verdict"`
	// Hint marks a verdict on a metric that was not asked about, which holds for this
	// metric alone: its adjusted p is above 0.05, and it is not so far beyond the noise
	// floor that this does not matter (verdict.Outcome.Clear).
	Hint       bool   `json:"hint"`
	clear      bool   // see verdict.Outcome.Clear
	heldBack   bool   // significant alone, and inside the noise floor
	unlike     bool   // the sides do not cover the same thing
	Note       string `json:"note"`
	Difference string `json:"difference"`         // in words: "+7.93 %", "÷27 (27 times fewer)"
	Interval   string `json:"interval,omitempty"` // in words: "+6.1 % … +9.8 %"
}

// Estimate is an arm's centre and the interval around it.
type Estimate struct {
	Center *float64 `json:"center"`
	Lo     *float64 `json:"lo"`
	Hi     *float64 `json:"hi"`
}

// CompareOptions say how to judge.
type CompareOptions struct {
	// Margin is the relative difference below which arms count as the same; 0 means
	// 1 %.
	Margin float64
	// Force compares runs that differ in more than what was varied, and warns.
	Force bool
}

// NotAlikeError says why runs cannot be compared.
type NotAlikeError struct {
	Base, Cand string
	Differs    []string
}

func (e *NotAlikeError) Error() string {
	return fmt.Sprintf("comparing %s with %s: they differ in more than what was varied, so no difference could be blamed on it:\n  %s\n--force compares them all the same",
		e.Base, e.Cand, strings.Join(e.Differs, "\n  "))
}

// CompareArms holds candidates against a base. Runs of one experiment that share a
// block are pairs; others are compared as two lists. The order in which the runs are
// given does not matter.
func CompareArms(base ArmRuns, cands []ArmRuns, o CompareOptions) (Comparison, error) {
	for _, a := range append([]ArmRuns{base}, cands...) {
		if len(a.Runs) == 0 {
			return Comparison{}, fmt.Errorf("comparing: %s has no runs", a.Name)
		}
	}
	rule := verdict.Usual(0)
	if o.Margin > 0 {
		rule.Margin = o.Margin
	}
	b, all := armSetOf(base), make([]*armSet, len(cands))
	for i := range cands {
		all[i] = armSetOf(cands[i])
		if differs := notAlike(b, all[i]); len(differs) > 0 && !o.Force {
			return Comparison{}, &NotAlikeError{b.name, all[i].name, differs}
		}
	}
	return compareSets(b, all, rule), nil
}

// compareSets compares arms that may be compared.
func compareSets(base *armSet, cands []*armSet, rule verdict.Rule) Comparison {
	c := Comparison{MarginPct: 100 * rule.Margin, Arms: []ArmName{base.named()}, Rows: []Row{}, Warnings: []string{}, Audit: []AuditLine{}, Background: []BackgroundRow{}}
	for i, m := range cands {
		c.Arms = append(c.Arms, m.named())
		c.add(base, m, rule, len(cands))
		if i == 0 {
			c.Varied = variedText(base.meta(), m.meta())
		}
	}
	c.adjust()
	c.judge()
	return c
}

// variedText is Varied, and of an experiment also where the value was set in the
// load's sessions, whose settings are not the server's.
func variedText(base, cand Meta) string {
	value := func(m Meta) string { // without what tells the arms of an A/A apart
		v, _, _ := strings.Cut(m.Step.Arm, " (")
		return v
	}
	if v := Varied(base, cand); v != "" || !sameExperiment(base, cand) || value(base) == value(cand) {
		return v
	}
	return fmt.Sprintf("%s: %s → %s", cand.Step.Factor, base.Step.Arm, cand.Step.Arm)
}

// add adds what one of so many candidates shows.
func (c *Comparison) add(base, cand *armSet, rule verdict.Rule, candidates int) {
	for _, d := range notAlike(base, cand) {
		c.warn("the two also differ in " + d)
	}
	if len(base.arms) == 1 && len(cand.arms) == 1 {
		c.warn(SinglePair)
	}
	p := pairing(base, cand)
	if p.experiment != "" {
		c.Paired, c.Experiment = true, p.experiment
	}
	var told []string // by the pairing already
	identical := identicalRuns(base, cand).cameToAnEnd(&told)
	metrics := described(append(cand.metas(), base.metas()...)...)
	primary := primaryMetric(base, cand)
	for _, m := range metrics {
		q := question{metric: m, base: p.base.figures(m.ID), cand: p.cand.figures(m.ID), pairs: p.pairs, identical: identical.values(m.ID), asked: 1, rule: rule}
		if m.ID == primary {
			q.asked = candidates
		}
		if r, ok := q.answer(); ok {
			r.CandName, r.Primary = cand.name, m.ID == primary
			r.sameScope(base.covers(m.ID), cand.covers(m.ID))
			c.Rows = append(c.Rows, r)
		}
	}
	for _, w := range p.warnings {
		c.warn(w)
	}
	b, d := p.base.typical(), p.cand.typical()
	audit := append(append(prefixed(base.name+": ", Audit(b)), prefixed(cand.name+": ", Audit(d))...), AuditPair(b, d)...)
	for _, a := range audit {
		if !a.OK {
			c.warn(a.Text)
		}
	}
	if len(base.arms) == 1 && len(cand.arms) == 1 {
		audit = append(audit, AuditLine{Text: "one run per arm: undecided"}) // SinglePair is the warning
	}
	c.Audit = append(c.Audit, audit...)
	for _, w := range append(suspicious(base, primary), suspicious(cand, primary)...) {
		c.warn(w)
	}
	rows, changed := backgroundOf(base, cand)
	c.Background = append(c.Background, rows...)
	for _, w := range append(changed, notQuiet(base, cand)...) {
		c.warn(w)
		c.beside = append(c.beside, w)
	}
}

// sameScope takes the verdict on figures back that do not cover the same thing, as
// events counted of the machine on one side and of the server on the other.
func (r *Row) sameScope(base, cand string) {
	if base == cand || base == "" || cand == "" || r.Base.Center == nil || r.Cand.Center == nil {
		return
	}
	r.Scope, r.Verdict, r.unlike = base+", "+cand, NotApplicable, true
	r.P, r.SmallestP, r.DetectablePct = nil, nil, nil // it is not among what was asked
	r.note("the base's figure is of the " + base + ", the other of the " + cand + ": not the same thing was counted")
}

// warn adds a warning once.
func (c *Comparison) warn(text string) {
	if !slices.Contains(c.Warnings, text) {
		c.Warnings = append(c.Warnings, text)
	}
}

// primaryMetric is the one that a comparison is about: TPS where both arms have it.
// Under a given rate (-R) TPS is what was put in, and latency is what came of it.
func primaryMetric(base, cand *armSet) string {
	ids := []string{probes.TPS, probes.ServerTPS, probes.LatencyMean, probes.ServerLatencyMean}
	if base.paced() || cand.paced() {
		ids = []string{probes.LatencyMean, probes.ServerLatencyMean, probes.TPS, probes.ServerTPS}
	}
	for _, id := range ids {
		if len(base.values(id)) > 0 && len(cand.values(id)) > 0 {
			return id
		}
	}
	return ""
}

// adjust fills in the adjusted p values.
func (c *Comparison) adjust() {
	for _, primary := range []bool{true, false} {
		var at []int
		var p []float64
		for i, r := range c.Rows {
			if r.Primary == primary && r.P != nil && r.Better != probes.Neither {
				at, p = append(at, i), append(p, *r.P)
			}
		}
		for k, adjusted := range verdict.Holm(p) {
			r := &c.Rows[at[k]]
			r.PAdjusted = &adjusted
			if primary && len(p) > 1 {
				r.withdraw(len(p))
			}
			r.Hint = !primary && r.differs() && adjusted > usualAlpha() && !r.clear
		}
	}
}

// differs tells whether the verdict is that one side is better.
func (r *Row) differs() bool { return r.Verdict == Better || r.Verdict == Worse }

// withdraw takes a verdict back that does not hold for all candidates asked about.
func (r *Row) withdraw(candidates int) {
	alpha := usualAlpha()
	if *r.PAdjusted <= alpha || !r.differs() {
		return
	}
	r.Verdict = Unclear
	if r.SmallestP != nil && *r.SmallestP*float64(candidates) > alpha {
		r.Verdict = TooFewRuns
	}
	r.note(fmt.Sprintf("p %s is %s adjusted for %d candidates: not a result", PText(*r.P), PText(*r.PAdjusted), candidates))
}

// usualAlpha is the highest p of a result.
func usualAlpha() float64 { return verdict.Usual(0).Alpha }

// note adds a remark to a row.
func (r *Row) note(text string) { r.Note = joinSome([]string{r.Note, text}) }

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
// runs that measured each metric had them. Where the run tells no scope, as one
// entered by hand or of before there were as many, it is the catalogue's.
func described(metas ...Meta) []probes.Metric {
	all := probes.Catalogue()
	for i := range all {
		for _, meta := range metas {
			if m, ok := find(meta.Metrics, all[i].ID); ok {
				all[i].Source, all[i].Scope = m.Source, cmp.Or(m.Scope, all[i].Scope)
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
