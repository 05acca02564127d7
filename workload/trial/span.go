package trial

import (
	"slices"
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
// without deriving frames. They are exact for a run that is nothing but its load,
// and close for others. Its zero value has seen nothing.
type span struct {
	samples          int
	first, last      moment
	started, stopped bool
}

// moment is what a span keeps of a sample.
type moment struct {
	t    time.Duration
	done map[string]float64 // transactions by load
}

// add takes in the next sample.
func (p *span) add(s *probes.Sample) {
	m := moment{s.T, transactions(s)}
	if p.samples == 0 {
		p.first = m
	}
	p.samples++
	if !p.started && marked(s, probes.LoadStarted) || marked(s, probes.LoadWarmed) {
		p.first, p.started = m, true
	}
	if !p.stopped {
		p.last, p.stopped = m, marked(s, probes.LoadStopped)
	}
}

func (p *span) totals() totals {
	t := totals{Samples: p.samples, Seconds: max(0, (p.last.t - p.first.t).Seconds())}
	if n, ok := finished(p.first.done, p.last.done); ok && t.Seconds > 0 {
		t.TPS = n / t.Seconds
	}
	return t
}

// finished adds up what each load's transactions grew by; it is not known where
// a load is missing at one end.
func finished(from, to map[string]float64) (n float64, ok bool) {
	for label, at := range to {
		was, there := from[label]
		if !there || at < was {
			return 0, false
		}
		n += at - was
	}
	return n, len(to) > 0 && len(from) == len(to)
}

func marked(s *probes.Sample, kind probes.MarkKind) bool {
	return slices.ContainsFunc(s.Marks, func(m probes.Mark) bool { return m.Kind == kind })
}

// transactions are the transaction counters of a sample by load.
func transactions(s *probes.Sample) map[string]float64 {
	by := map[string]float64{}
	for _, b := range s.Batches {
		for _, r := range b.Readings {
			if r.ID == probes.Transactions {
				by[r.Label] = r.Value
			}
		}
	}
	return by
}
