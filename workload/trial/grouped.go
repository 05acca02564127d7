package trial

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pgtlb/probes"
)

// The ways to group runs of one kind.
const (
	ByHour    = "hour"
	ByWeekday = "weekday"
	ByTag     = "tag"
)

// Grouping are arms made of runs, or of pieces of them, and what a person must know
// before a verdict on them is believed.
type Grouping struct {
	Arms     []ArmRuns
	Warnings []string
}

// Grouped reads what a person named and groups it: by the hour of the day or the day of
// the week at a place, where a recording that goes on over several is cut, or by tag.
// The first group, in the order of the clock, of the week or of the alphabet, is the
// base.
func (s *Store) Grouped(words []string, by string, where *time.Location) (Grouping, error) {
	clock, err := clockworkOf(by, where)
	if err != nil {
		return Grouping{}, err
	}
	read := Read
	if clock != nil { // a week is too long to be held
		read = func(path string) (*Run, error) { return readCut(path, *clock) }
	}
	arms, err := s.arms(words, read)
	if err != nil {
		return Grouping{}, err
	}
	var runs []*Run
	for _, a := range arms {
		runs = append(runs, a.Runs...)
	}
	return grouped(runs, clock)
}

// grouped makes arms of runs, by tag where there is no clock.
func grouped(runs []*Run, clock *clockwork) (Grouping, error) {
	if clock == nil {
		return groupedByTag(runs)
	}
	return groupedByClock(runs, *clock)
}

// clockworkOf is how recordings are cut, nil where they are not.
func clockworkOf(by string, where *time.Location) (*clockwork, error) {
	var c clockwork
	switch by {
	case ByHour:
		c = hours(where)
	case ByWeekday:
		c = weekdays(where)
	case ByTag:
		return nil, nil
	default:
		return nil, fmt.Errorf("--by %s: it is %s, %s or %s", by, ByHour, ByWeekday, ByTag)
	}
	return &c, nil
}

// readCut reads a run and cuts it on the way, so that no more than one sample is held.
func readCut(path string, by clockwork) (*Run, error) {
	var run *Run
	var err error
	c := cut(func(yield func(probes.Frame) bool) {
		var d probes.Deriver
		more := true
		run, err = readEach(path, func(s *probes.Sample) {
			if more {
				more = yield(d.Next(s))
			}
		})
	}, by)
	if err != nil {
		return nil, err
	}
	run.cutting = &c
	return run, nil
}

// Compare holds the groups against the first one.
func (g Grouping) Compare(o CompareOptions) (Comparison, error) {
	c, err := CompareArms(g.Arms[0], g.Arms[1:], o)
	c.Warnings = append(slices.Clone(g.Warnings), c.Warnings...)
	return c, err
}

func groupedByTag(runs []*Run) (Grouping, error) {
	arms := armsOf(inTime(runs), tagOf)
	slices.SortStableFunc(arms, func(a, b ArmRuns) int { return cmp.Compare(a.Name, b.Name) })
	if len(arms) < 2 {
		return Grouping{}, errors.New("all runs are of " + arms[0].Name + ": there is nothing to hold against it")
	}
	return Grouping{Arms: arms}, nil
}

// tagOf are a run's tags.
func tagOf(r *Run) string {
	if len(r.Tags) == 0 {
		return "(no tag)"
	}
	return strings.Join(r.Tags, " ")
}

// groupedByClock makes arms of runs, and of the pieces of those that go on over several
// stretches of the clock. Each piece counts as one run.
func groupedByClock(runs []*Run, by clockwork) (Grouping, error) {
	var g grouper
	for _, r := range inTime(runs) {
		g.add(r, by)
	}
	arms := armsOf(g.runs, func(r *Run) string { return g.groups[r].group })
	slices.SortStableFunc(arms, func(a, b ArmRuns) int {
		return cmp.Compare(g.groups[a.Runs[0]].order, g.groups[b.Runs[0]].order)
	})
	switch {
	case len(arms) == 0:
		return Grouping{}, fmt.Errorf("nothing is left to compare: %s", strings.Join(g.warnings(by), "; "))
	case len(arms) == 1:
		text := fmt.Sprintf("all that was recorded is of %s: there is nothing to hold against it. One long recording is cut by the clock: pgtlb record -T %d", arms[0].Name, by.enough)
		for _, w := range g.warnings(by) {
			text += "\n" + w
		}
		return Grouping{}, errors.New(text)
	}
	return Grouping{Arms: arms, Warnings: g.warnings(by)}, nil
}

// grouper collects the runs that count, and what is to be said of the others.
type grouper struct {
	runs   []*Run
	groups map[*Run]stretch

	several          int      // recordings of which more than one piece counts
	short, partial   []string // pieces, named
	empty, endless   []string // runs, named
	undated          []string // runs entered by hand
	gaps, back       time.Duration
	gapped, wentBack []string
}

// add takes in a run, as a whole or in pieces.
func (g *grouper) add(r *Run, by clockwork) {
	if h := r.Meta.ByHand; h != nil {
		if h.Started.IsZero() { // Created is when it was typed in
			g.undated = append(g.undated, probes.Clean(r.Meta.Name))
			return
		}
		g.put(r, by.of(h.Started))
		return
	}
	c := r.cutting
	if c == nil {
		made := cut(slices.Values(Frames(r)), by)
		c = &made
	}
	name := probes.Clean(r.Meta.Name)
	if c.gaps > 0 {
		g.gaps, g.gapped = g.gaps+c.gaps, append(g.gapped, name)
	}
	if c.back > 0 {
		g.back, g.wentBack = g.back+c.back, append(g.wentBack, name)
	}
	switch len(c.pieces) + len(c.short) {
	case 0:
		g.empty = append(g.empty, name)
		return
	case 1:
		whole := *r
		whole.Samples, whole.summary = nil, c.pieces[0].summary
		g.put(&whole, c.pieces[0].stretch)
		return
	}
	if r.End == nil || r.End.loadFailed() {
		g.endless = append(g.endless, name)
	}
	for _, p := range c.short {
		g.short = append(g.short, fmt.Sprintf("%s %s (%s)", name, p.key, Seconds(p.summary.Seconds)))
	}
	if len(c.pieces) > 1 {
		g.several++
	}
	for _, p := range c.pieces {
		if p.summary.Seconds < wholeEnough*by.whole.Seconds() {
			g.partial = append(g.partial, fmt.Sprintf("%s %s (%s)", name, p.key, Seconds(p.summary.Seconds)))
		}
		g.put(pieceRun(r, p, by), p.stretch)
	}
}

// wholeEnough is the share of its stretch from which on a piece counts as all of it.
const wholeEnough = 0.9

// pieceRun is a piece as a comparison takes runs.
func pieceRun(r *Run, p piece, by clockwork) *Run {
	out := &Run{Meta: r.Meta, Tags: r.Tags, End: &End{Reason: "cut by the clock"}, summary: p.summary}
	out.Meta.Name += " " + p.key
	out.Meta.Created = p.from
	for _, b := range r.Background {
		if by.of(b.At).key == p.key {
			out.Background = append(out.Background, b)
		}
	}
	return out
}

func (g *grouper) put(r *Run, of stretch) {
	if g.groups == nil {
		g.groups = map[*Run]stretch{}
	}
	g.runs, g.groups[r] = append(g.runs, r), of
}

// warnings are what a person must know of how the groups came about.
func (g *grouper) warnings(by clockwork) []string {
	var out []string
	if g.several > 0 {
		out = append(out, fmt.Sprintf("the clock cut %s into pieces, each of which counts as one run; neighbouring pieces of one recording are no independent runs, since what goes on at "+
			"the end of one goes on at the beginning of the next: p and intervals promise more than they hold, so look whether recordings of other days or weeks show the same",
			probes.Plural(g.several, "recording")))
	}
	add := func(text string, names []string) {
		if len(names) > 0 {
			out = append(out, text+few(names))
		}
	}
	add(fmt.Sprintf("left out, since less than %s of the %s was recorded: ", Seconds(by.shortest.Seconds()), by.unit), g.short)
	add(fmt.Sprintf("these pieces have only a part of their %s: ", by.unit), g.partial)
	add("nothing was measured in ", g.empty)
	add("left out, since nobody entered when they were measured (created): ", g.undated)
	add("these recordings were interrupted, or their load failed; the pieces before that count: ", g.endless)
	add(fmt.Sprintf("%s between samples that are more than %s apart are in no piece: ", Seconds(g.gaps.Seconds()), Seconds(longestGap.Seconds())), g.gapped)
	add(fmt.Sprintf("%s after the clock had been set back are in no piece: ", Seconds(g.back.Seconds())), g.wentBack)
	return out
}

// few names the first of many.
func few(names []string) string {
	const most = 5
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}
