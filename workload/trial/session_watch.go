package trial

import (
	"context"
	"fmt"
)

// prepareWatch connects to the server that is to be watched. It is a job.
func (s *Session) prepareWatch(ctx context.Context) error {
	s.post(func() { s.steps.plan("connect") })
	if err := s.join(ctx, s.o.Config); err != nil {
		return fmt.Errorf("watching: %w", err)
	}
	s.post(s.ready)
	return nil
}
