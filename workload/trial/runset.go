package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"pgtlb/probes"
)

// runSet is the run being recorded and the loads in it. A run has the same
// loads from its start to its end: when one joins or leaves, the run is closed
// and another begun, so that every run can be compared. While a load is being
// started, its prewarm and its connecting clients are in nobody's run.
//
// Its methods are called by jobs; they take turns.
type runSet struct {
	mu     sync.Mutex
	coming []*drive // being started
	active []*drive // at work
	open   bool     // a run is being recorded
	since  time.Time
}

// expect announces a load that is about to prewarm and connect.
func (r *runSet) expect(ctx context.Context, s *Session, d *drive) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d.left {
		return
	}
	r.coming = append(r.coming, d)
	r.close(ctx, s, d.meta.Scenario+" is being started")
}

// join adds a load whose clients are ready to send. It tells whether the load
// may go on: one that was stopped meanwhile may not.
func (r *runSet) join(ctx context.Context, s *Session, d *drive) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d.left {
		return false
	}
	r.coming = without(r.coming, d)
	if err := s.sampler.Add(ctx, d.meter); err != nil {
		s.post(func() { s.notify(true, err.Error()) })
	}
	r.active = append(r.active, d)
	r.begin(ctx, s)
	return true
}

// leave takes loads out; the others go on in a run of their own.
func (r *runSet) leave(ctx context.Context, s *Session, reason string, drives ...*drive) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.ContainsFunc(drives, func(d *drive) bool { return slices.Contains(r.active, d) }) {
		r.close(ctx, s, reason)
	}
	for _, d := range drives {
		d.left = true
		if !slices.Contains(r.active, d) {
			continue
		}
		if err := s.sampler.Remove(ctx, d.meter.Name()); err != nil && !errors.Is(err, probes.ErrSamplerStopped) {
			s.post(func() { s.notify(true, err.Error()) })
		}
	}
	r.active, r.coming = without(r.active, drives...), without(r.coming, drives...)
	r.begin(ctx, s)
}

// all lists the loads at work or being started.
func (r *runSet) all() []*drive {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Concat(r.active, r.coming)
}

func without(list []*drive, drop ...*drive) []*drive {
	return slices.DeleteFunc(slices.Clone(list), func(d *drive) bool { return slices.Contains(drop, d) })
}

// close takes the last sample of the run under way and writes its footer.
func (r *runSet) close(ctx context.Context, s *Session, reason string) {
	if !r.open {
		return
	}
	r.open = false
	short := time.Since(r.since) < shortestRun
	err := s.sampler.Mark(ctx, marks(probes.LoadStopped, r.active)...)
	if short {
		err = errors.Join(err, s.rec.discard())
	} else {
		err = errors.Join(err, s.rec.close(End{At: time.Now(), Reason: reason}))
	}
	s.post(func() {
		if err != nil {
			s.notify(true, "ending the run: "+err.Error())
		}
		s.runClosed(short)
	})
}

// shortestRun is the length below which a run is not kept: it would only stand
// in front of the real ones.
const shortestRun = 250 * time.Millisecond

// begin opens a run file and takes its first sample, unless nothing runs or
// more loads are coming.
func (r *runSet) begin(ctx context.Context, s *Session) {
	if r.open || len(r.active) == 0 || len(r.coming) > 0 || ctx.Err() != nil {
		return
	}
	host, hostErr := probes.ReadHost(s.o.Roots) // its pools may have changed
	var meta Meta
	ok := s.query(func() {
		if hostErr == nil {
			s.st.Host = host
		}
		meta = s.meta(r.active)
	})
	if !ok {
		return
	}
	r.open, r.since = true, time.Now()
	rec, err := s.rec.open(s.o.Store.Dir(), meta)
	next := RunState{Label: RunLabel(meta)}
	if err == nil {
		next.Name, next.Path = rec.Name(), rec.Path()
		for _, d := range r.active {
			d.run = rec.Name()
		}
	}
	s.post(func() {
		if err != nil {
			s.notify(true, "this run is not recorded: "+err.Error())
		} else {
			s.recorded = append(s.recorded, next.Name)
		}
		s.tl.next, s.runMeta = &next, meta
		s.compareMeta()
	})
	if err := s.sampler.Mark(ctx, marks(probes.LoadStarted, r.active)...); err != nil {
		s.post(func() { s.notify(true, "starting the run: "+err.Error()) })
	}
}

func marks(kind probes.MarkKind, active []*drive) []probes.Mark {
	var m []probes.Mark
	for _, d := range active {
		m = append(m, probes.Mark{Kind: kind, Label: d.meta.Scenario})
	}
	return m
}

// meta describes a run that begins now.
func (s *Session) meta(active []*drive) Meta {
	m := Meta{Step: s.stepMeta(), Queries: s.o.Queries, Created: time.Now(), Program: s.o.Program, Kind: "load", Host: s.st.Host,
		Server: s.st.Server, Lab: s.o.Mode == InLab, Dataset: s.st.Dataset, Pages: s.st.Pages, Interval: s.st.Interval,
		Metrics: s.st.Metrics, Unavailable: s.st.Unavailable, Counting: s.st.Counting, Command: s.o.Command}
	for _, d := range active {
		m.Loads = append(m.Loads, d.meta)
		m.Metrics = append(slices.Clone(m.Metrics), d.meter.Metrics()...)
	}
	m.Schema = schemaOf(m)
	return m
}

// RunLabel names a run for people: "point-select, 8 clients, 4kB".
func RunLabel(m Meta) string {
	var parts []string
	for _, l := range m.Loads {
		parts = append(parts, fmt.Sprintf("%s, %d clients", l.Scenario, l.Clients))
	}
	label := strings.Join(parts, " + ")
	if label == "" {
		label = "no load"
	}
	if m.Pages != "" {
		label += ", " + m.Pages
	}
	return label
}
