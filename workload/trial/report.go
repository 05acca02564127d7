package trial

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pgtlb/probes"
	"pgtlb/workload/verdict"
)

// Report is everything that a report says about a run, with or without a
// baseline, in words and numbers ready to be written. The Markdown, HTML and
// JSON writers add nothing to it.
type Report struct {
	Title string `json:"title"`
	// Sentence is the result; Verdict what may be concluded, empty without a
	// baseline.
	Sentence string `json:"sentence"`
	Verdict  string `json:"verdict,omitempty"`
	Varied   string `json:"varied,omitempty"`
	// Ceiling is what page walks leave to be won, in a sentence; empty where the CPU
	// does not count them.
	Ceiling string `json:"ceiling,omitempty"`
	// Paired tells whether there is a baseline.
	Paired bool `json:"paired"`
	// Many tells that arms of several runs are compared. Rows is then empty, and
	// charts, parts and surroundings are of the two runs that Pictured names.
	Many        bool          `json:"many,omitempty"`
	Pictured    string        `json:"pictured,omitempty"`
	Dots        *Dots         `json:"dots,omitempty"`
	Key         []ReportRow   `json:"-"` // the figures written large at the top
	Rows        []ReportRow   `json:"rows"`
	Steady      Steady        `json:"filling_and_steady"`
	Charts      []Chart       `json:"charts"`
	Bars        *Bars         `json:"backend_page_tables_kb,omitempty"`
	Facts       []FactGroup   `json:"facts"`
	Settings    []SettingRow  `json:"settings"`
	Repeat      []string      `json:"repeat"`
	Unavailable []probes.Miss `json:"unavailable"`
	Gaps        []Gap         `json:"gaps"`
	Sources     []SourceRow   `json:"sources"`
	Audit       []AuditLine   `json:"audit"`
	Warnings    []string      `json:"warnings"`
	// Queries are the texts that were seen, the baseline's first; nil unless they were
	// asked for.
	Queries []QueriesSeen `json:"queries,omitempty"`
	// Comparison holds the rows of compare --json; nil without a baseline.
	Comparison *Comparison `json:"comparison,omitempty"`
	Run        Meta        `json:"run"`
	Baseline   *Meta       `json:"baseline,omitempty"`
}

// ReportRow is one line of the table, in words.
type ReportRow struct {
	Metric string `json:"metric"`
	Title  string `json:"title"`
	Scope  string `json:"scope,omitempty"` // what the figure covers: "system wide"
	Base   Cell   `json:"base"`
	Cand   Cell   `json:"current"`
	Diff   string `json:"difference"`
	// Better is the direction of the difference: +1 better, -1 worse, 0 neither.
	Better int    `json:"better"`
	Note   string `json:"note,omitempty"`
}

// Cell is a figure: the number and, for a counter, its rate.
type Cell struct {
	Main string `json:"value"`
	Rate string `json:"rate,omitempty"`
}

// String is the cell on one line.
func (c Cell) String() string {
	if c.Rate == "" {
		return c.Main
	}
	return c.Main + " (" + c.Rate + ")"
}

// missing tells that there is no figure.
func (c Cell) missing() bool { return c.Main == noFigure }

// noFigure stands in the place of a figure that is missing.
const noFigure = "n/a"

// SourceRow says where a metric's figures came from.
type SourceRow struct {
	Title   string `json:"title"`
	Source  string `json:"source"`
	Scope   string `json:"scope,omitempty"`
	Meaning string `json:"meaning"`
}

// ReportOptions say what a report has that not every one has.
type ReportOptions struct {
	// Queries adds the texts of queries, where the runs hold them.
	Queries bool
}

// BuildReport makes the report of a run, held against base unless that is nil. What
// the two differ in beside what was varied is among the warnings.
func BuildReport(cand, base *Run, o ReportOptions) Report {
	if base == nil {
		return buildReport(cand, nil, nil, o)
	}
	cmp := compareSets(armSetOf(ArmRuns{"baseline", []*Run{base}}), []*armSet{armSetOf(ArmRuns{"current", []*Run{cand}})}, verdict.Usual(0))
	return buildReport(cand, base, &cmp, o)
}

// buildReport makes the report of one run, or of two that stand for the arms of a
// comparison.
func buildReport(cand, base *Run, cmp *Comparison, o ReportOptions) Report {
	meta := withoutSecrets(cand.Meta)
	frames := Frames(cand)
	c := Arm{Meta: meta, Summary: summaryOf(meta, frames)}
	r := Report{
		Title: RunLabel(meta), Run: meta, Paired: base != nil,
		Repeat:      repeat(meta, c.Summary.Seconds),
		Unavailable: unavailable(meta, frames, c.Summary),
		Gaps:        gaps(frames, c.Summary),
		Warnings:    runWarnings("", cand),
		Audit:       Audit(c),
	}
	var b *Arm
	var baseFrames []probes.Frame
	metas := []Meta{meta}
	if base != nil {
		baseFrames = Frames(base)
		b = &Arm{Meta: withoutSecrets(base.Meta), Summary: summaryOf(base.Meta, baseFrames)}
		metas = append(metas, b.Meta)
		r.addBase(*b, c, base, cmp)
	}
	metrics := described(metas...)
	r.Rows = reportRows(metrics, b, c, cmp)
	r.Sentence = sentence(b, c)
	r.Ceiling = ceiling(b, c)
	r.Steady = Steady{Notes: []string{}}
	if cand.Meta.ByHand == nil && (base == nil || base.Meta.ByHand == nil) { // by hand there is one figure for all the time
		r.Steady = steadyOf(metrics, b, frames, baseFrames)
	}
	r.Charts = chartsOf(metrics, frames, baseFrames)
	r.Bars = barsOf(frames, baseFrames)
	r.Facts = facts(b, c, cand, base, frames, baseFrames)
	r.Settings = settingRows(meta, r.Baseline)
	r.Sources = sources(r.Rows, metrics)
	r.Key = keyRows(r)
	if o.Queries {
		if base != nil {
			r.Queries = append(r.Queries, queriesOf(base, baseFrames))
		}
		r.Queries = append(r.Queries, queriesOf(cand, frames))
	}
	return r
}

// addBase adds what only a pair of runs has.
func (r *Report) addBase(b, c Arm, base *Run, cmp *Comparison) {
	r.Baseline = &b.Meta
	if again := repeat(b.Meta, b.Summary.Seconds); !slices.Equal(again, r.Repeat) {
		r.Repeat = append(again, r.Repeat...)
	}
	r.Title += " against " + against(c.Meta, b.Meta)
	r.Varied = Varied(b.Meta, c.Meta)
	r.Verdict = "Undecided, with " + SinglePair + "."
	r.Comparison = cmp
	r.Warnings = append(r.Warnings, runWarnings("baseline: ", base)...)
	r.Warnings = append(r.Warnings, cmp.beside...)
	for _, d := range Differs(b.Meta, c.Meta) {
		r.Warnings = append(r.Warnings, "the two runs also differ in "+d)
	}
	if r.Varied == "" && len(Differs(b.Meta, c.Meta)) == 0 {
		r.Warnings = append(r.Warnings, "nothing was varied: both runs had the same settings, so the differences show the spread")
	}
	if s, l := b.Summary.Seconds, c.Summary.Seconds; s > 0 && l > 0 && (s > 1.05*l || l > 1.05*s) {
		r.Warnings = append(r.Warnings, fmt.Sprintf(
			"the baseline covers %s, the current run %s: differences are those of rates and levels, not of totals", Seconds(s), Seconds(l)))
	}
	r.Audit = cmp.Audit
}

func prefixed(what string, lines []AuditLine) []AuditLine {
	for i := range lines {
		lines[i].Text = what + lines[i].Text
	}
	return lines
}

// against names the baseline by what sets it apart.
func against(cand, base Meta) string {
	if base.Pages != cand.Pages && base.Pages != "" && scenarios(base) == scenarios(cand) {
		return base.Pages
	}
	if RunLabel(cand) == RunLabel(base) {
		return "an earlier run of the same kind"
	}
	return RunLabel(base)
}

// sentence is the result in one sentence.
func sentence(base *Arm, cand Arm) string {
	fig := cand.Summary.Get
	if base == nil {
		return alone(cand)
	}
	subject := RunLabel(cand.Meta) + " against " + against(cand.Meta, base.Meta)
	if base.Meta.Pages != cand.Meta.Pages && base.Meta.Pages != "" && cand.Meta.Pages != "" {
		subject = "With " + pageSize(cand.Meta.Pages) + " pages instead of " + pageSize(base.Meta.Pages)
	}
	var parts []string
	for _, id := range []string{probes.TPS, probes.LatencyMean, faultsOf(base.Summary, cand.Summary), probes.DTLBMissPct, probes.PageTableMaxBackend} {
		b, c := base.Summary.Get(id), fig(id)
		if !b.OK() || !c.OK() {
			continue
		}
		row := PairRow(openedAs(cand.Meta, id), scopeOf(base.Meta, id), b, c)
		parts = append(parts, fmt.Sprintf("%s %s (%s → %s)", row.Title, row.ShortDifference(), row.EstimateText(row.Base), row.EstimateText(row.Cand)))
	}
	if len(parts) == 0 {
		return subject + ": no figure was measured in both runs."
	}
	return subject + ": " + strings.Join(parts, ", ") + "."
}

// ceiling says what page walks leave to be won: those of the baseline, where there
// is one, for it is what was to be improved.
func ceiling(base *Arm, cand Arm) string {
	of := cand
	if base != nil {
		of = *base
	}
	f := of.Summary.Get(probes.WalkCeilingPct)
	if !f.OK() {
		return ""
	}
	what := "Ceiling of page walks: "
	if base != nil {
		what = "Ceiling of page walks in the baseline: "
	}
	return what + probes.WalkCeilingText(f.Value, openedAs(of.Meta, probes.WalkCeilingPct)) + "."
}

// faultsOf chooses the page faults to speak of: the server's own where all the
// runs have them, since the machine's hold those of everything else that ran.
func faultsOf(all ...*Summary) string {
	for _, s := range all {
		if !s.Get(probes.ServerPageFaults).OK() {
			return probes.PageFaults
		}
	}
	return probes.ServerPageFaults
}

// pageSize writes a page mode for people: "2 MB".
func pageSize(mode string) string {
	if i := strings.IndexAny(mode, "kMG"); i > 0 && mode[i-1] != ' ' {
		return mode[:i] + " " + mode[i:]
	}
	return mode
}

// brief is a difference without what stands in brackets.
func brief(difference string) string {
	head, _, _ := strings.Cut(difference, " (")
	return head
}

// alone is the sentence of a run without a baseline.
func alone(a Arm) string {
	var parts []string
	for _, id := range []string{probes.TPS, probes.ServerTPS, probes.LatencyMean, probes.LatencyP99, faultsOf(a.Summary), probes.DTLBMissPct, probes.PageTableMaxBackend} {
		m := probes.MustLookup(id)
		f := a.Summary.Get(id)
		if !f.OK() || id == probes.ServerTPS && a.Summary.Get(probes.TPS).OK() {
			continue
		}
		parts = append(parts, m.Title+" "+Level(m, f.Value))
	}
	if len(parts) == 0 {
		return RunLabel(a.Meta) + ": nothing was measured."
	}
	return fmt.Sprintf("%s, over %s: %s.", RunLabel(a.Meta), Seconds(a.Summary.Seconds), strings.Join(parts, ", "))
}

// tableMetrics are the metrics of a table in the order of the result: the load
// first, then what explains it.
func tableMetrics(measured func(id string) bool) []string {
	ids := []string{probes.TPS, probes.LatencyMean, probes.LatencyP50, probes.LatencyP95, probes.LatencyP99, probes.Failed}
	if !measured(probes.TPS) {
		ids = []string{probes.ServerTPS, probes.ServerLatencyMean}
	}
	ids = append(ids, probes.ServerPageFaults, probes.ClientPageFaults, probes.PageFaults, probes.PageFaultsMinor, probes.PageFaultsMajor, probes.DTLBLoads, probes.DTLBMissPct,
		probes.DTLBMissesPerKInstr, probes.WalkCyclesPct, probes.WalkCeilingPct)
	if measured(probes.CyclesKernel) || measured(probes.CyclesUser) {
		ids = append(ids, probes.CyclesKernel, probes.CyclesUser)
	} else {
		ids = append(ids, probes.CPUKernel, probes.CPUUser)
	}
	ids = append(ids, probes.ServerPageFaultsPerTxn, probes.PageFaultsPerTxn, probes.DTLBMissesPerTxn)
	if measured(probes.CyclesKernelPerTxn) || measured(probes.CyclesUserPerTxn) {
		ids = append(ids, probes.CyclesKernelPerTxn, probes.CyclesUserPerTxn)
	} else {
		ids = append(ids, probes.CPUKernelPerTxn, probes.CPUUserPerTxn)
	}
	return append(ids, probes.PageTables, probes.PageTableMaxBackend, probes.HugetlbUsed, probes.TLBShootdowns, probes.ContextSwitches)
}

// reportRows are the lines of the table: of two runs the rows of their comparison.
func reportRows(metrics []probes.Metric, base *Arm, cand Arm, cmp *Comparison) []ReportRow {
	var baseSummary *Summary
	if base != nil {
		baseSummary = base.Summary
	}
	ids := tableMetrics(func(id string) bool { return cand.Summary.Get(id).OK() || baseSummary.Get(id).OK() })
	var rows []ReportRow
	for _, id := range ids {
		m, _ := find(metrics, id)
		compared, there := cmp.ofPair(id)
		if !there {
			compared = PairRow(m, baseScope(base, id), baseSummary.Get(id), cand.Summary.Get(id))
		}
		row, ok := reportRow(m, baseSummary, cand.Summary, compared)
		if id == probes.Failed && baseSummary.Get(id).Total == 0 && cand.Summary.Get(id).Total == 0 {
			continue
		}
		if ok || always(id) && measuredHere(base, cand) {
			rows = append(rows, row)
		}
	}
	return rows
}

// openedAs is a metric as a run had it opened.
func openedAs(meta Meta, id string) probes.Metric {
	m, ok := find(meta.Metrics, id)
	if !ok {
		m = probes.MustLookup(id)
	}
	return m
}

// baseScope is what the base's figure of a metric covers, empty without a base.
func baseScope(base *Arm, id string) string {
	if base == nil {
		return ""
	}
	return scopeOf(base.Meta, id)
}

// measuredHere tells whether one of the runs was not entered by hand: of others nobody
// expects more than what was entered.
func measuredHere(base *Arm, cand Arm) bool {
	return cand.Meta.ByHand == nil || base != nil && base.Meta.ByHand == nil
}

// always tells which rows stand in the table even where nothing was measured,
// because their absence must be seen.
func always(id string) bool {
	switch id {
	case probes.TPS, probes.LatencyMean, probes.LatencyP99, probes.PageFaults, probes.DTLBLoads, probes.DTLBMissPct,
		probes.PageTables, probes.PageTableMaxBackend:
		return true
	}
	return false
}

// reportRow is one metric in words: the row of a comparison with the totals of
// counters, or a run alone, where base is nil; ok is false where neither run measured it.
func reportRow(m probes.Metric, base, cand *Summary, compared Row) (ReportRow, bool) {
	b, c := base.Get(m.ID), cand.Get(m.ID)
	row := ReportRow{Metric: m.ID, Title: m.Title, Scope: m.Scope, Base: cell(m, b), Cand: cell(m, c)}
	notes := []string{""}
	if m.ID == probes.CPUUser || m.ID == probes.CPUKernel {
		notes[0] = "time, not cycles"
	}
	switch {
	case base != nil:
		row.Diff, row.Better = compared.Difference, compared.Direction()
		notes = append(notes, compared.Note)
	case !c.OK():
		notes = append(notes, c.Missing)
	default:
		notes = append(notes, scaledText(running(c)))
	}
	if c.Uncovered > 0 {
		notes = append(notes, Seconds(c.Uncovered)+" of the time could not be read")
	}
	if b.Uncovered > 0 {
		notes = append(notes, "baseline: "+Seconds(b.Uncovered)+" of the time could not be read")
	}
	row.Note = joinSome(notes)
	return row, b.OK() || c.OK()
}

func cell(m probes.Metric, f Figure) Cell {
	switch {
	case !f.OK():
		return Cell{Main: noFigure}
	case m.Kind == probes.Counter:
		return Cell{TotalText(m, f), Level(m, f.Value)}
	}
	return Cell{Main: Level(m, f.Value)}
}

// runWarnings are what the reader left out and what the footer tells.
func runWarnings(what string, run *Run) []string {
	out := []string{}
	for _, w := range run.Gaps() {
		out = append(out, what+w)
	}
	if run.End != nil && run.End.Note != "" {
		out = append(out, what+run.End.Note)
	}
	if e := run.Meta.Host.Emulated; e != "" {
		out = append(out, what+"measured on an emulated machine ("+e+"): its counts are real, its times are not those of hardware")
	}
	if h := run.Meta.Server.HugePages; h.FellBack() {
		w := what + "huge_pages = try fell back to small pages"
		if h.Short > 0 {
			w += fmt.Sprintf(": the pool was %s pages short", probes.Number(float64(h.Short)))
		}
		out = append(out, w)
	}
	return out
}

// sources say of the rows with a figure where that came from.
func sources(rows []ReportRow, metrics []probes.Metric) []SourceRow {
	out := []SourceRow{}
	for _, r := range rows {
		if m, ok := find(metrics, r.Metric); ok && !(r.Base.missing() && r.Cand.missing()) {
			out = append(out, SourceRow{m.Title, m.Source, m.Scope, m.Meaning})
		}
	}
	return out
}

// timeText writes a moment for people, with its zone.
func timeText(t time.Time) string { return t.Format("2006-01-02 15:04:05 MST") }
