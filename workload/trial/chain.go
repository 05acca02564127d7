package trial

import "pgtlb/probes"

// wholeEvery is how many samples there are from one that is written in full to the
// next: what a damaged line can take with it. One in 60 of a hundred backends
// costs a tenth of the file.
const wholeEvery = 60

// chain is what both the writer and the reader of a run know of the samples so
// far, so that the next one can be written as what has changed (see delta.go). Its
// zero value knows nothing: the next sample has to come in full.
type chain struct {
	last *probes.Sample
	// bases are, by place, what the next batches are held against: of each probe
	// the last batch that had readings or backends, which is not that of the sample
	// before where a read came too late.
	bases []*probes.Batch
	whole int // samples since one in full, itself included
}

// add takes in the next sample, which is kept and must not change any more. full
// tells that it was written in full.
func (c *chain) add(s *probes.Sample, full bool) {
	if full {
		c.bases, c.whole = nil, 0
	}
	bases := make([]*probes.Batch, len(s.Batches))
	for i := range s.Batches {
		b := &s.Batches[i]
		bases[i] = b
		if old := c.base(i, b.Probe); old != nil && len(b.Readings)+len(b.Backends) == 0 {
			bases[i] = old
		}
	}
	c.last, c.bases = s, bases
	c.whole++
}

// base is what the batch of a probe at a place is held against; nil where there is
// nothing.
func (c *chain) base(place int, probe string) *probes.Batch {
	if place < len(c.bases) && c.bases[place].Probe == probe {
		return c.bases[place]
	}
	return nil
}

// follows tells whether a sample can be written as what has changed. One of
// another time zone cannot: the difference would not tell of it.
func (c *chain) follows(s *probes.Sample) bool {
	if c.last == nil || c.whole >= wholeEvery {
		return false
	}
	_, was := c.last.At.Zone()
	_, is := s.At.Zone()
	return was == is
}
