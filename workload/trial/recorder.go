package trial

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"pgtlb/probes"
	"pgtlb/workload/experiment"
)

// Extension ends the name of every run file.
const Extension = ".ndjson"

// line is one line of a run file: one of its parts is set, Totals beside End. The
// line of a sample that is written as what has changed has a form of its own
// (delta.go).
type line struct {
	Header     *Meta          `json:"header,omitempty"`
	Sample     *probes.Sample `json:"sample,omitempty"`
	Background *Background    `json:"background,omitempty"`
	End        *End           `json:"end,omitempty"`
	// Totals are what a list of runs shows, so that it need not read the samples.
	Totals *totals `json:"totals,omitempty"`
	// Tags take the place of those of earlier lines. Other than the rest they may
	// stand behind the footer.
	Tags *[]string `json:"tags,omitempty"`
}

// file is what a Recorder needs of *os.File.
type file interface {
	io.WriteSeeker
	io.Closer
	Truncate(size int64) error
	Sync() error
}

// Recorder appends a run to its file as it happens: a header line, one line for
// each sample, a footer. Each line is one write, so that a program that dies
// leaves whole lines and at most one that is cut. While it is open the file is
// locked, so that others can tell a run that is being recorded from one that was
// interrupted. Its methods are called by one goroutine.
type Recorder struct {
	f       file
	path    string
	meta    Meta
	size    int64 // bytes of whole lines
	stopped bool
	lost    int // samples that came after the recording stopped
	samples sampleWriter
	span    span
	buf     []byte
	// queries are what became of the texts of the last minutes; see query.
	queries map[judged]string
}

// judged is a text, and what the probe that saw all of it says of secrets in it.
type judged struct {
	text   string
	secret bool
}

// Create makes a new run file in dir, which it makes too (0700) where it is
// missing, and writes the header. The file is readable by its owner only. An
// empty meta.Name becomes RunName(meta); a name that is taken gets a number
// behind it, also when two programs start at the same moment.
func Create(dir string, meta Meta) (*Recorder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory for runs: %w", err)
	}
	meta = withoutSecrets(meta)
	meta.Schema = schemaOf(meta)
	if meta.Created.IsZero() {
		meta.Created = time.Now()
	}
	if meta.Name == "" {
		meta.Name = RunName(meta)
	}
	f, name, err := createUnique(dir, experiment.SafeName(meta.Name))
	if err != nil {
		return nil, fmt.Errorf("creating the run file: %w", err)
	}
	if err := experiment.WaitLock(f); err != nil {
		return nil, errors.Join(fmt.Errorf("locking the run file: %w", err), f.Close(), os.Remove(f.Name()))
	}
	meta.Name = name
	r := &Recorder{f: f, path: f.Name(), meta: meta}
	if err := r.writeLine(line{Header: &meta}); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return r, nil
}

// createUnique opens name+Extension in dir for writing, or name-2, name-3 …
// where that exists already.
func createUnique(dir, name string) (*os.File, string, error) {
	for i := 1; i <= mostAlike; i++ {
		unique := numbered(name, i)
		f, err := os.OpenFile(filepath.Join(dir, unique+Extension), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			return f, unique, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, "", err
		}
	}
	return nil, "", fmt.Errorf("%d files are named %s already", mostAlike, name)
}

// mostAlike is how many runs may want the same name.
const mostAlike = 1000

// numbered is the name of the i-th run that wants this one.
func numbered(name string, i int) string {
	if i == 1 {
		return name
	}
	return name + "-" + strconv.Itoa(i)
}

// Name is the run's final name, Path its file.
func (r *Recorder) Name() string { return r.meta.Name }

// Path is the run's file.
func (r *Recorder) Path() string { return r.path }

// Append writes one sample; queries are kept where the header says so, without
// secrets, and are left out elsewhere. The first write that
// fails stops the recording: the file is cut back to its last whole line, the
// error is returned once, and what comes later is only counted.
func (r *Recorder) Append(s *probes.Sample) error {
	if r.stopped {
		r.lost++
		return nil
	}
	if r.meta.Queries {
		s = withQueries(s, r.query)
	} else {
		s = withoutQueries(s)
	}
	text, err := r.samples.line(s)
	if err == nil {
		err = r.write(text)
	}
	if err != nil {
		r.lost++
		return err
	}
	r.span.add(s)
	return nil
}

// AppendBackground writes what went on beside the run. After a write that failed
// it does nothing.
func (r *Recorder) AppendBackground(b Background) error {
	if r.stopped {
		return nil
	}
	return r.writeLine(line{Background: &b})
}

// Close writes the footer, which notes samples that could not be written, and
// closes the file. The run stays readable when the footer does not fit.
func (r *Recorder) Close(end End) error {
	if r.lost > 0 {
		note := fmt.Sprintf("%d samples at the end could not be written", r.lost)
		end.Note = strings.TrimPrefix(end.Note+"; "+note, "; ")
	}
	// Once stopped, the disk may have room again for one short line; if not,
	// the error has been reported already.
	t := r.span.totals()
	err := r.writeLine(line{End: &end, Totals: &t})
	if r.lost > 0 {
		err = nil
	}
	if serr := r.f.Sync(); err == nil && serr != nil {
		err = fmt.Errorf("writing the run to disk: %w", serr)
	}
	if cerr := r.f.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("closing the run file: %w", cerr)
	}
	return err
}

// writeLine writes a line of any kind.
func (r *Recorder) writeLine(l line) error {
	text, err := appendJSON(r.buf[:0], l)
	if err != nil {
		return err
	}
	return r.write(text)
}

// write appends one line in one write call, or leaves the file as it was.
func (r *Recorder) write(text []byte) error {
	r.buf = append(text, '\n')
	n, err := r.f.Write(r.buf)
	if err == nil {
		r.size += int64(n)
		return nil
	}
	r.stopped = true
	err = fmt.Errorf("recording stopped, the run so far is kept: %w", err)
	if n > 0 {
		err = errors.Join(err, r.cutBack())
	}
	return err
}

// cutBack removes what was written of a line that did not fit.
func (r *Recorder) cutBack() error {
	if err := r.f.Truncate(r.size); err != nil {
		return fmt.Errorf("removing half a line: %w", err)
	}
	if _, err := r.f.Seek(r.size, io.SeekStart); err != nil {
		return fmt.Errorf("removing half a line: %w", err)
	}
	return nil
}

// query is a text as it is recorded. Most come second after second.
func (r *Recorder) query(b *probes.Backend) string {
	q := judged{b.Query, b.QuerySecret}
	kept, known := r.queries[q]
	if !known {
		if r.queries == nil || len(r.queries) >= mostTexts {
			r.queries = map[judged]string{}
		}
		kept = recordedQuery(q.text, q.secret)
		r.queries[q] = kept
	}
	return kept
}

// withoutQueries copies a sample without the text of queries, which may hold
// passwords and personal data.
func withoutQueries(s *probes.Sample) *probes.Sample {
	return withQueries(s, func(*probes.Backend) string { return "" })
}

// withQueries copies a sample with other texts of queries.
func withQueries(s *probes.Sample, text func(*probes.Backend) string) *probes.Sample {
	c := *s
	c.Batches = slices.Clone(s.Batches)
	for i, b := range c.Batches {
		if b.Backends == nil {
			continue
		}
		c.Batches[i].Backends = slices.Clone(b.Backends)
		for j := range c.Batches[i].Backends {
			row := &c.Batches[i].Backends[j]
			row.Query, row.QuerySecret = text(row), false
		}
	}
	return &c
}

// RunName makes a name from the start time, the scenarios and the page mode:
// "20261130-134512-point-select-4kB".
func RunName(m Meta) string {
	parts := []string{m.Created.Local().Format("20060102-150405")}
	if label := scenarios(m); label != "" {
		parts = append(parts, label)
	} else {
		parts = append(parts, "watch")
	}
	if m.Pages != "" {
		parts = append(parts, m.Pages)
	}
	return experiment.SafeName(strings.Join(parts, "-"))
}

// scenarios names the loads of a run: "point-select+join-aggregate".
func scenarios(m Meta) string {
	names := make([]string, len(m.Loads))
	for i, l := range m.Loads {
		names[i] = l.Scenario
	}
	return strings.Join(names, "+")
}
