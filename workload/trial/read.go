package trial

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pgtlb/probes"
)

// longestLine bounds what one line of a run file may take of memory; a sample
// of 5,000 backends has about 2 MB.
const longestLine = 16 << 20

// Read reads a run file. What it must leave out (a line cut in the middle, a
// damaged line) is in Run.Warnings; an error means that the file is no run, or
// one of a newer format.
func Read(path string) (*Run, error) { return readEach(path, nil) }

// readEach is Read of a run that may be too long to be held: each is given every sample
// in place of the run. With nil the run has them.
func readEach(path string, each func(*probes.Sample)) (*Run, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading run: %w", err)
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && !st.Mode().IsRegular() {
		return nil, fmt.Errorf("reading run: %s is not a file", path)
	}
	run, err := parseEach(f, each)
	if err != nil {
		return nil, fmt.Errorf("reading run %s: %w", path, err)
	}
	if name, ok := strings.CutSuffix(filepath.Base(path), Extension); ok {
		run.Meta.Name = name // the header has the one from before it was renamed
	}
	return run, nil
}

// Frames derives what the samples of a run say: one frame for each sample, of
// which the first knows levels only.
func Frames(run *Run) []probes.Frame {
	if run == nil {
		return nil
	}
	frames := make([]probes.Frame, len(run.Samples))
	var d probes.Deriver
	for i := range run.Samples {
		frames[i] = d.Next(&run.Samples[i])
	}
	return frames
}

// parseRun reads a run from its lines.
func parseRun(r io.Reader) (*Run, error) { return parseEach(r, nil) }

// parseEach is parseRun as readEach is Read.
func parseEach(r io.Reader, each func(*probes.Sample)) (*Run, error) {
	in := newLineReader(r)
	meta, err := readHeader(in)
	if err != nil {
		return nil, err
	}
	p := newRunParser(*meta)
	p.each = each
	for {
		text, whole, err := in.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := p.take(text, whole, in.number); err != nil {
			return nil, err
		}
	}
	p.run.Warnings = p.damaged.warnings()
	return p.run, nil
}

// runParser makes a run line by line.
type runParser struct {
	run     *Run
	chain   *chain
	delta   deltaReader
	damaged damage
	// each is given every sample in place of the run, which then holds none.
	each func(*probes.Sample)
	// backends are those of all samples that the run holds.
	backends int
}

// mostBackends bounds the backends of all samples of a run, some gigabytes: a line of
// a few bytes may take over thousands from the sample before.
const mostBackends = 20_000_000

func newRunParser(meta Meta) *runParser {
	c := &chain{}
	return &runParser{run: &Run{Meta: meta}, chain: c, delta: deltaReader{c: c}}
}

// Gaps says what of a run is not there: what the reader left out, and the end.
func (run *Run) Gaps() []string {
	gaps := slices.Clone(run.Warnings)
	if run.End == nil {
		gaps = append(gaps, "the recording was interrupted: the file has no footer")
	}
	return gaps
}

// take adds one line to the run, or to the damage. An error means that the file
// does not hold one run.
func (p *runParser) take(text []byte, whole bool, number int) error {
	var l line
	ended := p.run.End != nil
	switch {
	case text == nil:
		p.damaged.add(number, "is too long")
	case len(bytes.TrimSpace(text)) == 0:
	case !ended && bytes.HasPrefix(text, []byte(deltaStart)):
		s, err := readDelta(&p.delta, text)
		switch {
		case err == nil:
			p.add(s, false, number)
		case errors.Is(err, errNoBase) || errors.Is(err, errNotLater):
			p.damaged.add(number, err.Error())
		default:
			p.unreadable(whole, number)
		}
	case decode(text, &l) != nil:
		p.unreadable(whole, number)
	case l.Header != nil:
		return errSeveral
	case l.Tags != nil:
		p.run.Tags = slices.Compact(slices.Sorted(slices.Values(*l.Tags)))
	case ended:
		p.damaged.add(number, "is behind the footer")
	case l.Sample != nil:
		p.add(l.Sample, true, number)
	case l.Background != nil:
		p.run.Background = append(p.run.Background, *l.Background)
	case l.End != nil:
		p.run.End = l.End
	default:
		p.damaged.add(number, "is of an unknown kind")
	}
	return nil
}

// errSeveral is given where one run was asked for and there are more.
var errSeveral = errors.New(`the file holds more than one run: "pgtlb runs import FILE" puts them among the recorded ones`)

// unreadable takes note of a line that is no good; a last one was cut.
func (p *runParser) unreadable(whole bool, number int) {
	if whole {
		p.damaged.add(number, "could not be read")
	} else {
		p.damaged.cut = number
	}
}

// add adds a sample, unless it is not later than the one before.
func (p *runParser) add(s *probes.Sample, full bool, number int) {
	if last := p.chain.last; last != nil && s.T <= last.T {
		p.damaged.add(number, errNotLater.Error())
		return
	}
	if p.each != nil {
		p.chain.add(s, full)
		p.each(s)
		return
	}
	for i := range s.Batches {
		p.backends += len(s.Batches[i].Backends)
	}
	if p.backends > mostBackends {
		p.damaged.add(number, fmt.Sprintf("goes beyond %d backends in all, which is as much as is read", mostBackends))
		return
	}
	p.chain.add(s, full)
	p.run.Samples = append(p.run.Samples, *s)
}

// decode reads one line.
func decode(text []byte, l *line) error {
	*l = line{}
	return json.Unmarshal(text, l)
}

// readHeader reads the first line and judges whether this program can go on.
func readHeader(in *lineReader) (*Meta, error) {
	text, _, err := in.next()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty")
	}
	if err != nil {
		return nil, err
	}
	// The schema is looked at first: a newer header may not fit this one's types.
	var probe struct {
		Header *struct {
			Schema int `json:"schema"`
		} `json:"header"`
	}
	if json.Unmarshal(text, &probe) != nil || probe.Header == nil || probe.Header.Schema < 1 {
		return nil, errors.New("not a pgtlb run: the first line is not the header of one")
	}
	if probe.Header.Schema > Schema {
		return nil, fmt.Errorf("written by a newer pgtlb: format %d, this one reads up to %d", probe.Header.Schema, Schema)
	}
	var l line
	if err := decode(text, &l); err != nil {
		return nil, fmt.Errorf("the header is damaged: %w", err)
	}
	return l.Header, nil
}

// damage collects what a reader leaves out, so that a badly damaged file gives
// one sentence for each kind and not one for each line.
type damage struct {
	cut   int // the number of the last line, if it ends in the middle
	kinds []string
	first map[string]int
	count map[string]int
}

func (d *damage) add(number int, kind string) {
	if d.first == nil {
		d.first, d.count = map[string]int{}, map[string]int{}
	}
	if d.count[kind] == 0 {
		d.kinds = append(d.kinds, kind)
		d.first[kind] = number
	}
	d.count[kind]++
}

func (d *damage) warnings() []string {
	var out []string
	for _, kind := range d.kinds {
		w := fmt.Sprintf("line %d %s and was left out", d.first[kind], kind)
		if more := d.count[kind] - 1; more > 0 {
			w += fmt.Sprintf(", as were %d later ones", more)
		}
		out = append(out, w)
	}
	if d.cut > 0 {
		out = append(out, fmt.Sprintf("line %d, the last, is cut in the middle and was left out", d.cut))
	}
	return out
}

// lineReader reads lines of at most longestLine bytes.
type lineReader struct {
	r      *bufio.Reader
	number int // of the line read last, from 1
	buf    []byte
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 1<<16)}
}

// next returns the next line without its end; whole is false for a last line
// that has none. A line that is too long comes as nil. The line is valid until
// the next call.
func (l *lineReader) next() (text []byte, whole bool, err error) {
	l.buf = l.buf[:0]
	tooLong, any := false, false
	for {
		part, err := l.r.ReadSlice('\n')
		any = any || len(part) > 0
		if tooLong = tooLong || len(l.buf)+len(part) > longestLine; !tooLong {
			l.buf = append(l.buf, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && (!errors.Is(err, io.EOF) || !any) {
			return nil, false, err
		}
		l.number++
		if tooLong {
			return nil, err == nil, nil
		}
		return bytes.TrimSuffix(l.buf, []byte("\n")), err == nil, nil
	}
}
