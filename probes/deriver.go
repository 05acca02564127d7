package probes

import (
	"slices"
	"time"
)

// Deriver turns samples into frames, in their order. Its zero value is ready.
// It is pure: what it remembers comes from the samples alone, so a recorded run
// gives the same frames as the live one. Of each counter it keeps the last
// reading there was: after a read that came too late or failed, the next value
// covers all the time since the last one, and says so.
type Deriver struct {
	began  bool
	t      time.Duration // of the sample before, as ownCPU
	ownCPU time.Duration
	probes map[string]*memory
	values int // of the frame before: room for those of the next
	// recent are the lengths of the last intervals, newest last.
	recent []time.Duration
}

// memory is what one probe read last.
type memory struct {
	counters map[Key]past
	// backends are the processes that the last batch listed; nil before the first.
	backends   map[ident]*Backend
	backendsAt time.Duration
	looked     time.Time // backendsAt by the wall clock
}

// past is an earlier reading of a counter. Its probe's read began at that time
// on the clock of Sample.T.
type past struct {
	Reading
	at time.Duration
}

// Next returns the frame that ends with cur. The first frame knows levels only.
// A counter that went backwards, or that was not there before, has no figure
// but a reason.
func (d *Deriver) Next(cur *Sample) Frame {
	f := Frame{
		Seq: cur.Seq, At: cur.At, T: cur.T, Marks: cur.Marks,
		Values: make(map[Key]Value, d.values), ProbeTime: together(cur.Batches),
	}
	if d.began {
		f.Elapsed = cur.T - d.t
		if f.Elapsed > 0 && cur.OwnCPU >= d.ownCPU {
			f.OwnCPUPct = 100 * float64(cur.OwnCPU-d.ownCPU) / float64(f.Elapsed)
		}
		f.TooShort = d.tooShort(f.Elapsed)
	}
	d.began, d.t, d.ownCPU = true, cur.T, cur.OwnCPU
	// A probe that was taken out starts anew when it comes back.
	old := d.probes
	d.probes = make(map[string]*memory, len(cur.Batches))
	m := maker{frame: &f, groups: map[Key]string{}}
	for i := range cur.Batches {
		b := &cur.Batches[i]
		mem := old[b.Probe]
		if mem == nil {
			mem = &memory{counters: map[Key]past{}}
		}
		d.probes[b.Probe] = mem
		m.batch(mem, b, cur.T+b.Offset)
	}
	m.wholes()
	m.load()
	m.server()
	m.ratios()
	m.transactions()
	m.remainder()
	d.values = len(f.Values)
	return f
}

// remembered is how many intervals tell what is usual: marks come in pairs when
// loads change, so two short intervals among five are no surprise.
const remembered = 5

// tooShort tells whether an interval is less than a quarter of the usual one.
func (d *Deriver) tooShort(elapsed time.Duration) bool {
	d.recent = append(d.recent, elapsed)
	d.recent = d.recent[max(0, len(d.recent)-remembered):]
	sorted := slices.Sorted(slices.Values(d.recent))
	return elapsed < sorted[len(sorted)/2]/4
}
