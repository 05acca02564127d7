package trial

import (
	"time"

	"pgtlb/probes"
)

// totals are the figures of a run that a list shows, kept in its footer.
type totals struct {
	Samples int     `json:"samples"`
	Seconds float64 `json:"seconds"`
	TPS     float64 `json:"tps,omitempty"` // of all loads; 0 where it is not known
}

// span finds the length and the throughput of a run from its samples, one by one,
// without deriving frames: those of Summarize over the load window (TestListedTPS). Its
// zero value has seen nothing.
type span struct {
	samples          int
	running          int           // loads
	first, last      time.Duration // of the window
	started, stopped bool
	loads            map[string]*loadSpan
}

// loadSpan is what one load has done in the window so far. Each reading covers the
// time since the one before, whichever sample that was in.
type loadSpan struct {
	done    float64
	at      time.Duration // of the reading
	grown   float64
	covered time.Duration
}

// add takes in the next sample.
func (p *span) add(s *probes.Sample) {
	p.samples++
	if p.stopped {
		return
	}
	begins := p.samples == 1
	ends := false
	for _, m := range s.Marks {
		switch m.Kind {
		case probes.LoadStarted:
			begins = begins || !p.started
			p.started = true
			p.running++
		case probes.LoadWarmed:
			begins = begins || p.started
		case probes.LoadStopped:
			p.running--
			ends = true
		}
	}
	if begins {
		p.first, p.loads = s.T, map[string]*loadSpan{}
	}
	p.last = s.T
	p.read(s)
	p.stopped = ends && p.running <= 0
}

// read takes in how far each load is.
func (p *span) read(s *probes.Sample) {
	for _, b := range s.Batches {
		for _, r := range b.Readings {
			if r.ID != probes.Transactions {
				continue
			}
			at, was := s.T+b.Offset, p.loads[r.Label]
			if was == nil {
				was = &loadSpan{}
				p.loads[r.Label] = was
			} else if r.Value >= was.done && at > was.at && was.at >= p.first { // a late read may have begun before the window
				was.grown, was.covered = was.grown+r.Value-was.done, was.covered+at-was.at
			}
			was.done, was.at = r.Value, at
		}
	}
}

func (p *span) totals() totals {
	t := totals{Samples: p.samples, Seconds: max(0, (p.last - p.first).Seconds())}
	for _, l := range p.loads {
		if l.covered <= 0 {
			t.TPS = 0 // a part is not the whole
			break
		}
		t.TPS += l.grown / l.covered.Seconds()
	}
	return t
}
