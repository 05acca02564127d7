package trial

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"pgtlb/probes"
)

// errDelta is what every line of the short form that is no good gives: which
// character it was helps nobody.
var errDelta = errors.New("not what a sample is written as")

// deltaReader reads the lines that appendDelta writes.
type deltaReader struct {
	scan
	c     *chain
	hists probes.HistogramReader
	// words are the states and waits so far: few, and each thousands of times.
	words map[string]string
}

// baseOf is the Seq of the sample that a line follows.
func (d *deltaReader) baseOf(text []byte) (seq uint64, err error) {
	d.scan = scan{b: text[len(deltaStart):]}
	seq = d.unsigned()
	if d.bad {
		return 0, errDelta
	}
	return seq, nil
}

// sample reads the rest of a line, behind what baseOf has read.
func (d *deltaReader) sample() (*probes.Sample, error) {
	p := d.c.last
	var n [4]int64
	for i := range n {
		d.expect(',')
		n[i] = d.integer()
	}
	s := &probes.Sample{Seq: p.Seq + uint64(n[0]), T: p.T + time.Duration(n[1]),
		At: p.At.Add(time.Duration(n[1] + n[2])), OwnCPU: p.OwnCPU + time.Duration(n[3])}
	d.expect(',')
	s.Batches = make([]probes.Batch, 0, len(p.Batches))
	d.list(func() { s.Batches = append(s.Batches, d.batch(len(s.Batches))) })
	if d.take(',') {
		d.object(&s.Marks)
	}
	d.expect(']')
	d.expect('}')
	if d.bad || len(d.b) > 0 {
		return nil, errDelta
	}
	return s, nil
}

func (d *deltaReader) batch(place int) (b probes.Batch) {
	if d.at('{') {
		d.object(&b)
		return b
	}
	if place >= len(d.c.bases) {
		d.bad = true
		return b
	}
	base := d.c.bases[place]
	b.Probe, b.Misses = base.Probe, base.Misses
	d.expect('[')
	b.Offset = time.Duration(d.integer())
	d.expect(',')
	b.Took = time.Duration(d.integer())
	d.expect(',')
	b.Readings = d.readings(base.Readings)
	if d.take(',') {
		b.Backends = d.backends(base.Backends)
	}
	d.expect(']')
	return b
}

func (d *deltaReader) readings(base []probes.Reading) []probes.Reading {
	d.expect('[')
	out := slices.Clone(base)
	var enabled []uint64
	for i := range out {
		if d.bad {
			return nil
		}
		if i > 0 {
			d.expect(',')
		}
		r := &out[i]
		if len(r.Parts) > 0 {
			r.Parts, enabled = d.parts(r.Parts, enabled)
		} else {
			r.Value = d.value(r.Value)
		}
		if r.Hist != nil {
			d.expect(',')
			r.Hist = d.histogram()
		}
	}
	d.expect(']')
	return out
}

func (d *deltaReader) parts(base []probes.Part, enabled []uint64) (out []probes.Part, next []uint64) {
	out, next = make([]probes.Part, len(base)), make([]uint64, len(base))
	for i, was := range base {
		if i > 0 {
			d.expect(',')
		}
		value := uint64(d.integer())
		d.expect(',')
		next[i] = uint64(d.integer())
		d.expect(',')
		running := uint64(d.integer())
		if i < len(enabled) {
			next[i] += enabled[i]
		}
		out[i] = probes.Part{was[0] + value, was[1] + next[i], was[2] + running + next[i]}
	}
	return out, next
}

// value reads a value or its growth.
func (d *deltaReader) value(was float64) float64 {
	token, isWhole := d.number()
	if !isWhole {
		v, err := strconv.ParseFloat(string(token), 64)
		d.bad = d.bad || err != nil || math.IsNaN(v) || math.IsInf(v, 0)
		return v
	}
	growth := d.parse(token)
	switch {
	case growth == 0:
		return was
	case !exactWhole(was) || !exactWhole(was+float64(growth)):
		d.bad = true
	}
	return float64(int64(was) + growth)
}

func (d *deltaReader) backends(base []probes.Backend) []probes.Backend {
	out := make([]probes.Backend, 0, len(base))
	at := 0
	next := func(n int64) bool { // tells whether the base has n more
		if n < 0 || n > int64(len(base)-at) {
			d.bad = true
		}
		return !d.bad
	}
	d.list(func() {
		switch {
		case d.at('{'):
			var b probes.Backend
			d.object(&b)
			out = append(out, b)
		case d.at('['):
			if next(1) {
				out = append(out, d.changed(base[at]))
				at++
			}
		default:
			n := d.integer()
			switch {
			case n < 0 && n != math.MinInt64 && next(-n):
				at += int(-n)
			case n > 0 && next(n):
				out = append(out, base[at:at+int(n)]...)
				at += int(n)
			default:
				d.bad = true
			}
		}
	})
	if len(out) == 0 {
		return nil
	}
	return out
}

// changed reads what has changed of a process.
func (d *deltaReader) changed(b probes.Backend) probes.Backend {
	d.expect('[')
	which := d.integer()
	mem, use := memOf(&b), useOf(&b)
	for i, n := range backendNumbers(&mem, &use) {
		if which&(1<<i) == 0 {
			continue
		}
		if there := i < 4 && b.Mem != nil || i >= 4 && b.Use != nil; !there {
			d.bad = true
			return b
		}
		d.expect(',')
		*n += uint64(d.integer())
	}
	const ofMem, ofUse = 0x0f, 0xf0
	if which&ofMem != 0 {
		b.Mem = &mem
	}
	if which&ofUse != 0 {
		b.Use = &use
	}
	if which&(1<<changedState) != 0 {
		d.expect(',')
		b.State = d.word()
	}
	if which&(1<<changedWait) != 0 {
		d.expect(',')
		b.Wait = d.word()
	}
	d.expect(']')
	return b
}

// word reads a string of which there are few different ones.
func (d *deltaReader) word() string {
	raw := d.raw()
	if w, ok := d.words[string(raw)]; ok {
		return w
	}
	var w string
	if json.Unmarshal(raw, &w) != nil {
		d.bad = true
		return ""
	}
	if d.words == nil {
		d.words = map[string]string{}
	}
	d.words[string(raw)] = w
	return w
}

func (d *deltaReader) histogram() *probes.Histogram {
	raw := d.raw()
	if d.bad {
		return nil
	}
	h, err := d.hists.Read(raw)
	d.bad = err != nil
	return h
}

// object reads any JSON value.
func (d *deltaReader) object(v any) {
	raw := d.raw()
	if d.bad {
		return
	}
	if err := json.Unmarshal(raw, v); err != nil {
		d.bad = true
	}
}

// scan goes through JSON as this program writes it, without space between the
// parts. The first thing that is not as expected makes it bad; from then on
// nothing moves.
type scan struct {
	b   []byte // what is left
	bad bool
}

func (s *scan) at(ch byte) bool { return !s.bad && len(s.b) > 0 && s.b[0] == ch }

func (s *scan) take(ch byte) bool {
	if !s.at(ch) {
		return false
	}
	s.b = s.b[1:]
	return true
}

func (s *scan) expect(ch byte) {
	if !s.take(ch) {
		s.bad = true
	}
}

// list reads an array; item reads one of its elements.
func (s *scan) list(item func()) {
	s.expect('[')
	if s.take(']') {
		return
	}
	for !s.bad {
		item()
		if s.take(']') {
			return
		}
		s.expect(',')
	}
}

// number cuts off a number and tells whether it is written as a whole one.
func (s *scan) number() (token []byte, isWhole bool) {
	n, isWhole := 0, true
	for ; n < len(s.b); n++ {
		switch ch := s.b[n]; {
		case ch >= '0' && ch <= '9', ch == '-':
			continue
		case ch == '.', ch == 'e', ch == '+':
			isWhole = false
			continue
		}
		break
	}
	if s.bad || n == 0 {
		s.bad = true
		return nil, false
	}
	token, s.b = s.b[:n], s.b[n:]
	return token, isWhole
}

// integer reads a whole number.
func (s *scan) integer() int64 {
	token, isWhole := s.number()
	if !isWhole {
		s.bad = true
		return 0
	}
	return s.parse(token)
}

// parse makes a number of its digits.
func (s *scan) parse(token []byte) int64 {
	negative := token[0] == '-'
	if negative {
		token = token[1:]
	}
	const most = 18 // digits that cannot overflow; more are rare
	if n := len(token); n == 0 || n > most {
		text := string(token)
		if negative {
			text = "-" + text
		}
		v, err := strconv.ParseInt(text, 10, 64)
		s.bad = s.bad || err != nil
		return v
	}
	var v int64
	for _, ch := range token {
		if ch == '-' {
			s.bad = true
			return 0
		}
		v = 10*v + int64(ch-'0')
	}
	if negative {
		return -v
	}
	return v
}

// unsigned reads a whole number that may be as large as a uint64.
func (s *scan) unsigned() uint64 {
	token, _ := s.number()
	v, err := strconv.ParseUint(string(token), 10, 64)
	s.bad = s.bad || err != nil
	return v
}

// raw cuts off one JSON value: an object, an array or a string.
func (s *scan) raw() []byte {
	depth, inString := 0, false
	for i := 0; i < len(s.b); i++ {
		switch ch := s.b[i]; {
		case inString && ch == '\\':
			i++
		case inString:
			inString = ch != '"'
		case ch == '"':
			inString = true
		case ch == '{' || ch == '[':
			depth++
		case ch == '}' || ch == ']':
			depth--
		case depth == 0: // nothing else begins a value here
			s.bad = true
			return nil
		}
		if depth == 0 && !inString {
			raw := s.b[:i+1]
			s.b = s.b[i+1:]
			return raw
		}
	}
	s.bad = true
	return nil
}

// readDelta reads a line of the short form, which must follow the chain.
func readDelta(d *deltaReader, text []byte) (*probes.Sample, error) {
	seq, err := d.baseOf(text)
	if err != nil {
		return nil, err
	}
	switch {
	case d.c.last == nil || seq > d.c.last.Seq:
		return nil, errNoBase
	case seq < d.c.last.Seq:
		return nil, errNotLater
	}
	s, err := d.sample()
	if err != nil {
		return nil, fmt.Errorf("reading a sample: %w", err)
	}
	return s, nil
}

// Why a line is left out although it can be read.
var (
	errNoBase   = errors.New("follows a sample that could not be read")
	errNotLater = errors.New("is not later than the one before")
)
