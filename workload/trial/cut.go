package trial

import (
	"iter"
	"time"

	"pgtlb/probes"
)

// stretch is an hour of a day or a day of a week on the clock, as a recording meets
// it once: 2026-11-30 14:00, or that whole day.
type stretch struct {
	key   string // tells stretches apart
	group string // what it is one of: "14:00", "Monday"
	order int    // of the group
}

// shortest are how long a piece must be so that it can stand for its stretch.
const (
	shortestOfHour = 15 * time.Minute
	shortestOfDay  = 12 * time.Hour
)

// clockwork says how recordings are cut.
type clockwork struct {
	of       func(time.Time) stretch
	whole    time.Duration // usual length of a stretch
	shortest time.Duration // of a piece
	unit     string        // what a stretch is called
	enough   int           // seconds after which each group has a piece
}

// hours cuts by the hours of the day at a place. Where clocks are put back an hour
// comes twice on one day; both are one stretch.
func hours(where *time.Location) clockwork {
	return clockwork{whole: time.Hour, shortest: shortestOfHour, unit: "hour", enough: 86_400, of: func(at time.Time) stretch {
		at = at.In(where)
		return stretch{key: at.Format("Mon 2006-01-02 15:00"), group: at.Format("15:00"), order: at.Hour()}
	}}
}

// weekdays cuts by the days of the week, from Monday on.
func weekdays(where *time.Location) clockwork {
	return clockwork{whole: 24 * time.Hour, shortest: shortestOfDay, unit: "day", enough: 7 * 86_400, of: func(at time.Time) stretch {
		at = at.In(where)
		return stretch{key: at.Format("Mon 2006-01-02"), group: at.Weekday().String(), order: (int(at.Weekday()) + 6) % 7}
	}}
}

// piece is what a recording says about one stretch.
type piece struct {
	stretch
	from    time.Time
	summary *Summary
}

// cutting are the pieces of a recording, in the order of time.
type cutting struct {
	pieces []piece
	// short are pieces that are too short to stand for their stretch.
	short []piece
	// gaps and back are time that is in no piece: between samples that are too far
	// apart, and after the clock had been set back into a stretch that was over.
	gaps, back time.Duration
}

// longestGap is the longest time between two samples that tells of a stretch: more than
// a person can ask for, so that something kept pgtlb from looking.
const longestGap = 2 * probes.MaxInterval

// cut makes the pieces of a recording over its load, or over all of it where there is
// none. Each has one number per metric, as Summarize makes it of a run. An interval
// that begins in one stretch and ends in another belongs to neither. A recording that
// lies in one stretch is one piece, however short: somebody chose its length; and one
// shorter than a piece must be is what it has in the stretch that has most of it.
func cut(frames iter.Seq[probes.Frame], by clockwork) cutting {
	c := cutter{by: by, left: map[string]bool{}}
	for f := range frames {
		if !c.add(&f) {
			break
		}
	}
	c.close()
	out := cutting{gaps: c.gaps, back: c.back}
	all, longest := 0.0, 0
	for i, p := range c.pieces {
		if all += p.summary.Seconds; p.summary.Seconds > c.pieces[longest].summary.Seconds {
			longest = i
		}
	}
	for i, p := range c.pieces {
		switch {
		case len(c.pieces) == 1, p.summary.Seconds >= by.shortest.Seconds(), all < by.shortest.Seconds() && i == longest:
			out.pieces = append(out.pieces, p)
		default:
			out.short = append(out.short, p)
		}
	}
	return out
}

// cutter makes the pieces frame by frame, so that no more than one piece is under way
// at a time.
type cutter struct {
	by     clockwork
	load   loadWatch
	pieces []piece
	left   map[string]bool // keys of the pieces
	open   piece           // that is under way
	sum    *Accumulator    // of it; nil where none is
	// before is the frame that ends where the next one begins; nil for the first.
	before     *probes.Frame
	gaps, back time.Duration
}

// add takes in the next frame; false tells that no later one counts.
func (c *cutter) add(f *probes.Frame) bool {
	begins, counts, more := c.load.next(f)
	switch {
	case begins: // what was before is not of the load
		*c = cutter{by: c.by, load: c.load, left: map[string]bool{}, before: boundary(f)}
	case counts:
		c.take(f)
	}
	return more
}

// boundary is what a window that begins at the end of a frame needs of it.
func boundary(f *probes.Frame) *probes.Frame {
	return &probes.Frame{T: f.T, Values: f.Values}
}

func (c *cutter) take(f *probes.Frame) {
	at := c.by.of(f.At)
	begin := f.At.Add(-f.Elapsed)
	across := c.by.of(begin).key != at.key
	gap := f.Elapsed > longestGap
	open := c.sum != nil && c.open.key == at.key
	if c.left[at.key] && !open {
		c.back += f.Elapsed
		c.before = boundary(f)
		return
	}
	if gap {
		c.gaps += f.Elapsed
	}
	switch {
	case open && (across || gap):
		c.sum.Begin(*f)
	case open:
		c.sum.Add(*f)
	default:
		c.close()
		c.left[at.key] = true
		c.sum, c.open = NewAccumulator(), piece{stretch: at, from: begin}
		switch {
		case across || gap:
			c.open.from = f.At
			c.sum.Begin(*f)
		case c.before != nil:
			c.sum.Begin(*c.before)
			c.sum.Add(*f)
		default:
			c.sum.Add(*f)
		}
	}
	c.before = boundary(f)
}

// close ends the piece that is under way. Histograms of every transaction are not
// kept: a week has too many, and the percentiles are among the figures.
func (c *cutter) close() {
	if c.sum == nil {
		return
	}
	c.open.summary = c.sum.Summary()
	c.open.summary.Latency = nil
	if c.open.summary.Seconds > 0 {
		c.pieces = append(c.pieces, c.open)
	}
	c.sum = nil
}
