package trial

import (
	"errors"
	"os"
	"sync"

	"pgtlb/probes"
)

// recording is the run being written, if any. The sampler's goroutine appends;
// whoever starts or stops a load opens and closes.
type recording struct {
	mu  sync.Mutex
	rec *Recorder
}

// open begins a run file; the one before must be closed.
func (r *recording) open(dir string, meta Meta) (*Recorder, error) {
	rec, err := Create(dir, meta)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rec = rec
	return rec, nil
}

// append writes a sample to the open run.
func (r *recording) append(s *probes.Sample) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rec == nil {
		return nil
	}
	return r.rec.Append(s)
}

// appendBackground writes what went on beside the open run; it is dropped where
// there is none.
func (r *recording) appendBackground(b Background) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rec == nil {
		return nil
	}
	return r.rec.AppendBackground(b)
}

// take hands the open run over, nil when there is none; what is appended from
// then on is in no run.
func (r *recording) take() *Recorder {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec := r.rec
	r.rec = nil
	return rec
}

// discard removes the open run: it holds nothing that could be looked at.
func (r *recording) discard() error {
	rec := r.take()
	if rec == nil {
		return nil
	}
	return errors.Join(rec.Close(End{}), os.Remove(rec.Path()))
}

// close ends the open run with its footer.
func (r *recording) close(end End) error {
	rec := r.take()
	if rec == nil {
		return nil
	}
	return rec.Close(end)
}
