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
	// texts are the queries since the last sample in full, in the order in which they
	// came, and numbers their places: one that comes again is written as its number.
	texts   []string
	numbers map[string]int
}

// mostTexts bounds the queries that are known by their number; those that come later
// are written as they are.
const mostTexts = 4096

// add takes in the next sample, which is kept and must not change any more. full
// tells that it was written in full.
func (c *chain) add(s *probes.Sample, full bool) {
	if full {
		c.bases, c.whole = nil, 0
		c.texts, c.numbers = nil, nil
	}
	bases := make([]*probes.Batch, len(s.Batches))
	for i := range s.Batches {
		b := &s.Batches[i]
		bases[i] = b
		if old := c.base(i, b.Probe); old != nil && len(b.Readings)+len(b.Backends) == 0 {
			bases[i] = old
		}
		for j := range b.Backends {
			c.learn(b.Backends[j].Query)
		}
	}
	c.last, c.bases = s, bases
	c.whole++
}

// learn gives a query a number.
func (c *chain) learn(query string) {
	if _, known := c.numbers[query]; known || query == "" || len(c.texts) >= mostTexts {
		return
	}
	if c.numbers == nil {
		c.numbers = map[string]int{}
	}
	c.numbers[query] = len(c.texts)
	c.texts = append(c.texts, query)
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

// sampleWriter makes the lines of samples, one after the other. Its zero value begins
// with one in full.
type sampleWriter struct {
	chain chain
	buf   []byte
}

// line is the line of the next sample, which is kept and must not change any more. It
// is valid until the next call.
func (w *sampleWriter) line(s *probes.Sample) (text []byte, err error) {
	full := !w.chain.follows(s)
	if full {
		text, err = appendJSON(w.buf[:0], line{Sample: s})
	} else {
		text, err = appendDelta(w.buf[:0], &w.chain, s)
	}
	if err != nil {
		return nil, err
	}
	w.buf = text
	w.chain.add(s, full)
	return text, nil
}
