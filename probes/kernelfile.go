package probes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
)

// source is a Probe over files of the kernel: it is opened by reading once, and
// offers the metrics that this first read found.
type source struct {
	name    string
	metrics []Metric
	read    func() ([]Reading, []Miss, error)
	files   []*kernelFile // that read reads
	direct  bool          // the kernel itself makes all of them
}

// openSource reads once to find out which of the wanted metrics are there.
// Those that are not come back with the reason; the probe is nil when there are
// none at all. The files are those that it reads.
func openSource(name string, wanted []Metric, read func() ([]Reading, []Miss, error), files ...*kernelFile) (Probe, []Miss) {
	readings, misses, err := read()
	s := &source{name: name, read: read, files: files, direct: len(files) > 0}
	for _, f := range files {
		s.direct = s.direct && madeByKernel(f.path)
	}
	var missing []Miss
	for _, m := range wanted {
		if hasReading(readings, m.ID) {
			s.metrics = append(s.metrics, m)
			continue
		}
		missing = append(missing, missFor(m.ID, misses, err))
	}
	if len(s.metrics) == 0 {
		_ = s.Close() // of files that were opened for reading
		return nil, missing
	}
	return s, missing
}

func hasReading(readings []Reading, id string) bool {
	return slices.ContainsFunc(readings, func(r Reading) bool { return r.ID == id })
}

// missFor returns the miss that says most about why a metric has no reading.
func missFor(id string, misses []Miss, err error) Miss {
	for _, m := range misses {
		if m.ID == id {
			return m
		}
	}
	var u *Unavailable
	switch {
	case errors.As(err, &u):
		return Miss{ID: id, State: u.State, Reason: u.Reason, Remedy: u.Remedy}
	case err != nil:
		return Miss{ID: id, Reason: err.Error()}
	}
	return Miss{ID: id, State: NotThere, Reason: "the source does not have it"}
}

func (s *source) Name() string      { return s.name }
func (s *source) Metrics() []Metric { return slices.Clone(s.metrics) }
func (s *source) instant() bool     { return s.direct }

// Close closes the files.
func (s *source) Close() error {
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.close())
	}
	return errors.Join(errs...)
}

// Read reads the files again. A metric that was there when the probe was opened
// and is not there now is a miss.
func (s *source) Read(context.Context) (Batch, error) {
	readings, misses, err := s.read()
	b := Batch{Probe: s.name, Readings: readings}
	for _, m := range s.metrics {
		if !hasReading(readings, m.ID) {
			b.Misses = append(b.Misses, missFor(m.ID, misses, err))
		}
	}
	return b, err
}

// unreadable turns the error of reading a kernel file into an Unavailable in
// words a person can act on. ifAbsent is the reason when the file is not there.
func unreadable(path string, err error, ifAbsent string) error {
	u := &Unavailable{What: path}
	switch {
	case errors.Is(err, fs.ErrNotExist) && runtime.GOOS != "linux":
		u.State, u.Reason = NotThere, "unavailable on this system ("+runtime.GOOS+")"
	case errors.Is(err, fs.ErrNotExist):
		u.State, u.Reason = NotThere, ifAbsent
		if u.Reason == "" {
			u.Reason = "there is no " + path
		}
	case errors.Is(err, fs.ErrPermission):
		u.State, u.Reason = NoPermission, "the kernel refuses to open "+path
	default:
		return fmt.Errorf("reading %s: %w", path, err)
	}
	return u
}

// kernelFile is a small file of the kernel that is read again and again: it stays
// open, and its content comes into the same memory. Opening one costs more than
// reading it.
type kernelFile struct {
	path string
	f    *os.File
	b    []byte
}

// read returns the content; it is valid until the next call.
func (k *kernelFile) read() ([]byte, error) {
	if k.f == nil {
		f, err := os.Open(k.path)
		if err != nil {
			return nil, err
		}
		k.f = f
	}
	if k.b == nil {
		k.b = make([]byte, 4096)
	}
	for n := 0; ; {
		m, err := k.f.ReadAt(k.b[n:], int64(n))
		n += m
		switch {
		case err == io.EOF:
			return k.b[:n], nil
		case err != nil:
			return nil, errors.Join(err, k.close()) // opened anew the next time
		}
		k.b = append(k.b, make([]byte, len(k.b))...)
	}
}

func (k *kernelFile) close() error {
	if k.f == nil {
		return nil
	}
	f := k.f
	k.f = nil
	return f.Close()
}

// parseDecimal reads a decimal number that fits 64 bits. It takes bytes, so
// that reading a file per process and second costs no allocation.
func parseDecimal(b []byte) (uint64, bool) {
	if len(b) == 0 {
		return 0, false
	}
	var n uint64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		d := uint64(c - '0')
		if n > (1<<64-1-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, true
}

// metricsOf looks ids of this package up in the catalogue.
func metricsOf(ids ...string) []Metric {
	out := make([]Metric, len(ids))
	for i, id := range ids {
		out[i] = MustLookup(id)
	}
	return out
}
