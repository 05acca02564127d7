package probes

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Source emits samples until ctx ends: the Sampler live, a replay from a file.
type Source interface {
	// Run calls emit for each sample, from one goroutine, and returns when ctx
	// has ended and everything it started has returned.
	Run(ctx context.Context, emit func(Sample)) error
}

// ErrSamplerStopped is returned by requests to a sampler whose Run has ended.
var ErrSamplerStopped = errors.New("sampler is not running")

// Interval bounds: below the first the probes would measure themselves.
const (
	MinInterval = 100 * time.Millisecond
	MaxInterval = time.Minute
)

// How long a sample waits for its reads, and a read may take, where the interval
// is long: somebody waits for the sample of a mark, and a hung read must not
// keep a probe for minutes.
const (
	longestRead = 2 * time.Second
	longestWait = longestRead + 200*time.Millisecond // for the news that it was too long
)

// Sampler reads all its probes at a steady interval. Each probe has one read in
// flight at most and a deadline; a read that is late comes with the next
// sample, so nothing is lost and nobody waits for it.
type Sampler struct {
	interval time.Duration
	requests chan request
	stopped  chan struct{}
}

// request is done by the goroutine of Run between two ticks.
type request struct {
	do   func(ctx context.Context, r *run) error
	done chan error // has room for the outcome: nobody may be waiting any more
}

// NewSampler returns a sampler that ticks every interval once Run is called.
func NewSampler(interval time.Duration) *Sampler {
	return &Sampler{
		interval: clampInterval(interval),
		requests: make(chan request),
		stopped:  make(chan struct{}),
	}
}

func clampInterval(d time.Duration) time.Duration {
	return max(MinInterval, min(d, MaxInterval))
}

// Add gives the sampler one more probe from the next sample on. Its name must
// be new.
func (s *Sampler) Add(ctx context.Context, p Probe) error {
	return s.ask(ctx, func(ctx context.Context, r *run) error { return r.add(ctx, p) })
}

// Remove takes the probe of that name out, cancels its read and returns when
// none is in flight any more. The caller closes it. With ctx's error the probe is
// out, or will be, but may still be read.
func (s *Sampler) Remove(ctx context.Context, name string) error {
	var gone chan struct{}
	err := s.ask(ctx, func(_ context.Context, r *run) error {
		gone = r.remove(name)
		return nil
	})
	if err != nil || gone == nil {
		return err
	}
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the last read of probe %s: %w", name, ctx.Err())
	}
}

// Mark takes a sample at once that carries the marks, and returns when it has
// been emitted: after longestWait at most, once the sampler gets to it. The next
// tick follows one interval later.
func (s *Sampler) Mark(ctx context.Context, marks ...Mark) error {
	return s.ask(ctx, func(_ context.Context, r *run) error {
		r.sample(marks)
		return nil
	})
}

// SetInterval changes the time between ticks, within MinInterval and MaxInterval.
func (s *Sampler) SetInterval(ctx context.Context, d time.Duration) error {
	return s.ask(ctx, func(_ context.Context, r *run) error {
		r.interval = clampInterval(d)
		if next := time.Now().Add(r.interval); next.Before(r.due) {
			r.due = next
		}
		return nil
	})
}

// ask has Run's goroutine do something and waits for its outcome, or for the end
// of ctx; what it was asked for is done all the same.
func (s *Sampler) ask(ctx context.Context, do func(context.Context, *run) error) error {
	q := request{do, make(chan error, 1)}
	select {
	case s.requests <- q:
		select {
		case err := <-q.done:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	case <-s.stopped:
		return ErrSamplerStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Run samples until ctx ends, then takes one last sample and waits for every
// read in flight. It may be called once.
func (s *Sampler) Run(ctx context.Context, emit func(Sample)) error {
	now := time.Now()
	r := &run{interval: s.interval, start: now, due: now, emit: emit, results: make(chan result)}
	defer close(s.stopped)
	defer r.end()
	// Reads outlive ctx by the last sample; each has a deadline of its own.
	reads := context.WithoutCancel(ctx)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			r.sample(nil)
			return nil
		case q := <-s.requests:
			q.done <- q.do(reads, r)
		case <-timer.C:
			r.sample(nil)
		case res := <-r.results:
			r.finish(res)
		}
		timer.Reset(time.Until(r.due))
	}
}

// run is the state of one Run, touched by its goroutine alone.
type run struct {
	interval time.Duration
	start    time.Time
	due      time.Time // of the next tick
	seq      uint64
	emit     func(Sample)
	readers  []*reader
	results  chan result
	wg       sync.WaitGroup
}

// instant is a Probe that can tell that its Read waits for nobody: its files are
// made by the kernel when they are read. The sampler reads it itself; to wake a
// goroutine for each would cost more than most of these reads. Files of the same
// names that a program makes, as lxcfs does in containers, may hang.
type instant interface{ instant() bool }

// reader is one probe with the goroutine that reads it.
type reader struct {
	probe   Probe
	trigger chan time.Duration // the deadline of one read; closed to end; nil for an instant
	cancel  context.CancelFunc // ends a read in flight
	gone    chan struct{}      // closed when the goroutine has returned
	busy    bool
	begun   time.Time
	// done is a finished read that no sample has taken yet.
	done *Batch
}

type result struct {
	from  *reader
	batch Batch
}

func (r *run) add(ctx context.Context, p Probe) error {
	for _, other := range r.readers {
		if other.probe.Name() == p.Name() {
			return fmt.Errorf("adding probe: there is one named %q already", p.Name())
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	rd := &reader{probe: p, cancel: cancel, gone: make(chan struct{})}
	r.readers = append(r.readers, rd)
	if i, ok := p.(instant); ok && i.instant() {
		close(rd.gone)
		return nil
	}
	rd.trigger = make(chan time.Duration)
	r.wg.Go(func() {
		defer close(rd.gone)
		for deadline := range rd.trigger {
			r.results <- result{rd, readOnce(ctx, p, deadline)}
		}
	})
	return nil
}

// readOnce reads a probe within a deadline.
func readOnce(ctx context.Context, p Probe, deadline time.Duration) Batch {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	begun := time.Now()
	b, err := p.Read(ctx)
	b.Probe, b.Took = p.Name(), time.Since(begun)
	if err != nil {
		b.Misses = append(b.Misses, missing(p, b, err)...)
	}
	return b
}

// missing lists the metrics of a probe that its batch does not hold, with the
// error as the reason.
func missing(p Probe, b Batch, err error) []Miss {
	there := map[string]bool{}
	for _, r := range b.Readings {
		there[r.ID] = true
	}
	for _, m := range b.Misses {
		there[m.ID] = true
	}
	var out []Miss
	for _, m := range p.Metrics() {
		if !there[m.ID] {
			out = append(out, missFor(m.ID, nil, err))
		}
	}
	return out
}

// remove takes a reader out and returns what is closed when it has read for the
// last time; nil where there is none of that name.
func (r *run) remove(name string) chan struct{} {
	for i, rd := range r.readers {
		if rd.probe.Name() == name {
			rd.let()
			r.readers = append(r.readers[:i:i], r.readers[i+1:]...)
			return rd.gone
		}
	}
	return nil
}

// let ends the reader's goroutine, once its read in flight has returned.
func (rd *reader) let() {
	rd.cancel()
	if rd.trigger != nil {
		close(rd.trigger)
	}
}

// finish keeps the outcome of a read until a sample takes it.
func (r *run) finish(res result) {
	res.batch.Offset = res.from.begun.Sub(r.start) // made relative by sample
	res.from.done, res.from.busy = &res.batch, false
}

// sample reads every probe and emits what came in time. A probe whose late
// read ended since the last sample gives that read instead of a new one.
func (r *run) sample(marks []Mark) {
	now := time.Now()
	deadline := min(max(r.interval, time.Second), longestRead)
	for _, rd := range r.readers {
		if rd.trigger != nil && !rd.busy && rd.done == nil {
			rd.busy, rd.begun = true, time.Now()
			rd.trigger <- deadline
		}
	}
	for _, rd := range r.readers {
		if rd.trigger == nil {
			rd.begun = time.Now()
			r.finish(result{rd, readOnce(context.Background(), rd.probe, deadline)})
		}
	}
	r.await(min(r.interval*8/10, longestWait))
	s := Sample{Seq: r.seq, At: now, T: now.Sub(r.start), Marks: marks, OwnCPU: OwnCPU()}
	for _, rd := range r.readers {
		if rd.done == nil {
			s.Batches = append(s.Batches, lateBatch(rd))
			continue
		}
		b := *rd.done
		b.Offset -= s.T
		s.Batches = append(s.Batches, b)
		rd.done = nil
	}
	r.seq++
	r.due = r.due.Add(r.interval)
	if marks != nil || time.Since(r.due) > 0 {
		r.due = now.Add(r.interval)
	}
	r.emit(s)
}

// await collects results until every read has ended or patience is over.
func (r *run) await(patience time.Duration) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for r.anyBusy() {
		select {
		case res := <-r.results:
			r.finish(res)
		case <-timer.C:
			return
		}
	}
}

func (r *run) anyBusy() bool {
	for _, rd := range r.readers {
		if rd.busy {
			return true
		}
	}
	return false
}

// lateBatch says of each metric of a probe that its read has not ended.
func lateBatch(rd *reader) Batch {
	b := Batch{Probe: rd.probe.Name()}
	reason := fmt.Sprintf("its read has not ended after %d ms", time.Since(rd.begun).Milliseconds())
	for _, m := range rd.probe.Metrics() {
		b.Misses = append(b.Misses, Miss{ID: m.ID, Reason: reason})
	}
	return b
}

// end lets the readers go and waits for them; what they still read is for no
// sample.
func (r *run) end() {
	for _, rd := range r.readers {
		rd.let()
	}
	gone := make(chan struct{})
	go func() {
		r.wg.Wait()
		close(gone)
	}()
	for {
		select {
		case <-r.results:
		case <-gone:
			return
		}
	}
}
