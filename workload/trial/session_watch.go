package trial

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// prepareWatch connects to the server that is to be watched. It is a job.
func (s *Session) prepareWatch(ctx context.Context) error {
	s.post(func() { s.steps.plan("connect") })
	if err := s.join(ctx, s.o.Config); err != nil {
		return fmt.Errorf("watching: %w", err)
	}
	s.post(func() {
		s.ready()
		s.begin(ctx)
	})
	if s.o.Record > 0 {
		return s.record(ctx)
	}
	return nil
}

// record keeps a run of what is watched. When ctx ends before its time, the run
// is closed as interrupted and kept.
func (s *Session) record(ctx context.Context) error {
	var meta Meta
	if !s.query(func() { meta = s.meta(nil) }) {
		return nil
	}
	meta.Kind = "watch"
	rec, err := s.rec.open(s.o.Store.Dir(), meta)
	if err != nil {
		return err
	}
	if err := s.sampler.Mark(ctx); err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	reason := "finished"
	select {
	case <-time.After(s.o.Record):
	case <-ctx.Done():
		reason = "interrupted"
	}
	// The sampler lives until this job has returned.
	err = s.sampler.Mark(context.WithoutCancel(ctx))
	err = errors.Join(err, s.rec.close(End{At: time.Now(), Reason: reason}))
	s.post(func() { s.st.Recorded = rec.Path() })
	return err
}
