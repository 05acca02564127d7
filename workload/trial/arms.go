package trial

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pgtlb/probes"
	"pgtlb/workload/verdict"
)

// ArmRuns are the runs of one side of a comparison.
type ArmRuns struct {
	Name string
	Runs []*Run
}

// armSet is an arm whose runs are one number per metric each, in the order in
// which they were made.
type armSet struct {
	name string
	runs []*Run
	arms []Arm
}

// armSetOf summarises the runs of an arm, of which there is at least one.
func armSetOf(a ArmRuns) *armSet {
	m := &armSet{name: probes.Clean(a.Name), runs: inTime(a.Runs)}
	for _, r := range m.runs {
		arm := ArmOf(r)
		arm.Meta = withoutSecrets(arm.Meta)
		m.arms = append(m.arms, arm)
	}
	return m
}

// inTime are runs in the order in which they were made.
func inTime(runs []*Run) []*Run {
	out := slices.Clone(runs)
	slices.SortStableFunc(out, func(a, b *Run) int {
		return cmp.Or(a.Meta.Created.Compare(b.Meta.Created), cmp.Compare(position(a.Meta), position(b.Meta)), cmp.Compare(a.Meta.Name, b.Meta.Name))
	})
	return out
}

func position(m Meta) int {
	if m.Step == nil {
		return 0
	}
	return m.Step.Position
}

// meta is that of the first run.
func (m *armSet) meta() Meta { return m.arms[0].Meta }

func (m *armSet) metas() []Meta {
	out := make([]Meta, len(m.arms))
	for i := range m.arms {
		out[i] = m.arms[i].Meta
	}
	return out
}

func (m *armSet) named() ArmName {
	n := ArmName{Name: m.name, Runs: len(m.arms)}
	for _, a := range m.arms {
		n.RunNames = append(n.RunNames, a.Meta.Name)
	}
	return n
}

// paced tells whether a load of the arm was given a rate.
func (m *armSet) paced() bool {
	return slices.ContainsFunc(m.arms, func(a Arm) bool { return paced(a.Meta) })
}

func paced(m Meta) bool {
	return slices.ContainsFunc(m.Loads, func(l LoadMeta) bool { return l.Rate > 0 })
}

// figures are a metric's, one per run.
func (m *armSet) figures(id string) []Figure {
	out := make([]Figure, len(m.arms))
	for i := range m.arms {
		out[i] = m.arms[i].Summary.Get(id)
	}
	return out
}

// values are the figures of the runs that have one.
func (m *armSet) values(id string) []float64 { return known(m.figures(id)) }

func known(figures []Figure) []float64 {
	var out []float64
	for _, f := range figures {
		if f.OK() {
			out = append(out, f.Value)
		}
	}
	return out
}

// only keeps the runs with these indices.
func (m *armSet) only(at []int) *armSet {
	out := &armSet{name: m.name}
	for _, i := range at {
		out.runs, out.arms = append(out.runs, m.runs[i]), append(out.arms, m.arms[i])
	}
	return out
}

// covers is the word for the scope in which the first run that measured a metric
// counted it; empty where none tells.
func (m *armSet) covers(id string) string {
	for _, a := range m.arms {
		if opened, ok := find(a.Meta.Metrics, id); ok {
			return opened.Covers()
		}
	}
	return ""
}

// typical is one arm with the median of each figure; the only run's own figures
// where there is one.
func (m *armSet) typical() Arm {
	if len(m.arms) == 1 {
		return m.arms[0]
	}
	s := &Summary{Figures: map[probes.Key]Figure{}}
	var seconds []float64
	for _, a := range m.arms {
		seconds = append(seconds, a.Summary.Seconds)
		for k := range a.Summary.Figures {
			s.Figures[k] = Figure{Missing: "not measured"}
		}
	}
	s.Seconds = verdict.Center(seconds).Center
	for k := range s.Figures {
		s.Figures[k] = m.middle(k)
	}
	return Arm{Meta: m.meta(), Summary: s}
}

// middle is the median of a figure over the runs that have it.
func (m *armSet) middle(k probes.Key) Figure {
	var values, totals []float64
	out := Figure{Missing: "not measured"}
	for _, a := range m.arms {
		f := a.Summary.Of(k.ID, k.Label)
		if !f.OK() {
			if len(values) == 0 {
				out.Missing = f.Missing
			}
			continue
		}
		values, totals = append(values, f.Value), append(totals, f.Total)
		out.Uncovered = max(out.Uncovered, f.Uncovered)
		if f.RunningPct > 0 && (out.RunningPct == 0 || f.RunningPct < out.RunningPct) {
			out.RunningPct = f.RunningPct
		}
	}
	if len(values) > 0 {
		out.Missing = ""
		out.Value, out.Total = verdict.Center(values).Center, verdict.Center(totals).Center
	}
	return out
}

// identicalRuns are those that give the noise floor: the arm that has the runs
// before the first change, else the base.
func identicalRuns(base, cand *armSet) *armSet {
	for _, m := range []*armSet{base, cand} {
		if slices.ContainsFunc(m.arms, func(a Arm) bool { return a.Meta.Step != nil && a.Meta.Step.Block == 0 }) {
			return m
		}
	}
	// In an experiment the arm of the first step is the one that the others are
	// held against, whichever is called the base here.
	b, c := base.meta().Step, cand.meta().Step
	if b != nil && c != nil && b.Experiment == c.Experiment && c.Position < b.Position {
		return cand
	}
	return base
}

// notAlike names what the runs of two arms differ in beside what was varied, and
// what the runs of one arm differ in.
func notAlike(base, cand *armSet) []string {
	var out []string
	add := func(what string, texts []string) {
		for _, t := range texts {
			if t = what + t; !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
	}
	for _, a := range cand.arms {
		add("", Differs(base.meta(), a.Meta))
	}
	for _, m := range []*armSet{base, cand} {
		for _, a := range m.arms[1:] {
			add("within "+m.name+": ", Differs(m.meta(), a.Meta))
			if v := Varied(m.meta(), a.Meta); v != "" {
				add("within "+m.name+": ", []string{v})
			}
		}
	}
	return out
}

// pairs are two arms with the indices of the runs that belong together.
type paired struct {
	base, cand *armSet  // those that count
	pairs      [][2]int // into them; nil where the runs are not paired
	experiment string
	warnings   []string
}

// pairing finds the runs of one experiment that share a block. Where there are
// none all runs count, as two lists.
func pairing(base, cand *armSet) paired {
	b, c := blocks(base), blocks(cand)
	var keys []blockKey
	for k := range b {
		if _, both := c[k]; both {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		p := paired{}
		p.base, p.cand = base.cameToAnEnd(&p.warnings), cand.cameToAnEnd(&p.warnings)
		return p
	}
	slices.SortFunc(keys, func(x, y blockKey) int {
		return cmp.Or(cmp.Compare(x.experiment, y.experiment), cmp.Compare(x.block, y.block))
	})
	var bs, cs []int
	p := paired{experiment: keys[0].experiment}
	for i, k := range keys {
		bs, cs = append(bs, b[k]), append(cs, c[k])
		p.pairs = append(p.pairs, [2]int{i, i})
	}
	p.base, p.cand = base.only(bs), cand.only(cs)
	for _, left := range []struct {
		m    *armSet
		used []int
	}{{base, bs}, {cand, cs}} {
		for i, a := range left.m.arms {
			if a.Meta.Step != nil && a.Meta.Step.Block == 0 || slices.Contains(left.used, i) {
				continue
			}
			p.warnings = append(p.warnings, fmt.Sprintf("run %s of %s is no part of a pair and does not count: its block has no run of the other arm, its load failed, or the step was repeated",
				probes.Clean(a.Meta.Name), left.m.name))
		}
	}
	return p
}

// cameToAnEnd leaves out runs whose load failed, and says so; where an arm has no
// other they count.
func (m *armSet) cameToAnEnd(warnings *[]string) *armSet {
	var good []int
	var failed []string
	for i, r := range m.runs {
		if loadFailed(r) {
			failed = append(failed, probes.Clean(r.Meta.Name))
		} else {
			good = append(good, i)
		}
	}
	if len(failed) == 0 {
		return m
	}
	text := fmt.Sprintf("the load failed in %s of %s: ", strings.Join(failed, ", "), m.name)
	if len(good) == 0 {
		*warnings = append(*warnings, text+"the figures are those of the time before it did")
		return m
	}
	*warnings = append(*warnings, text+"left out")
	return m.only(good)
}

type blockKey struct {
	experiment string
	block      int
}

// blocks finds the run of each block; of a repeated step the last one.
func blocks(m *armSet) map[blockKey]int {
	out := map[blockKey]int{}
	for i, a := range m.arms {
		if s := a.Meta.Step; s != nil && s.Block > 0 && !loadFailed(m.runs[i]) {
			out[blockKey{s.Experiment, s.Block}] = i
		}
	}
	return out
}

// loadFailed tells of a run whose load did not come to its end.
func loadFailed(r *Run) bool { return r.End != nil && r.End.loadFailed() }
