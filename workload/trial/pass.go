package trial

import (
	"context"
	"errors"
	"time"

	"pgtlb/probes"
)

// inspectAll reads the exact memory of every process of the newest frame. Each
// read takes some milliseconds in which the process cannot change its memory
// map, so they are read one at a time, with a rest as long as the read after it.
func (s *Session) inspectAll(ctx context.Context) {
	if s.stopPass != nil {
		return // it is under way
	}
	rows := passRows(s.tl.history)
	p := Pass{Began: time.Now(), Total: len(rows)}
	s.st.Pass = &p
	if len(rows) == 0 {
		p.Denied, p.Ended = "no process of the server is visible on this machine", p.Began
		return
	}
	ctx, stop := context.WithCancel(ctx)
	s.stopPass = stop
	started := s.job(func() {
		defer stop()
		read := func(b probes.Backend) (Inspected, error) { return inspected(s.o.Roots, b) }
		pass(ctx, rows, p, read, func(now Pass) {
			s.post(func() {
				s.st.Pass = &now
				if !now.Ended.IsZero() {
					s.stopPass = nil
				}
			})
		})
	})
	if !started {
		stop()
	}
}

// passRows are the processes of the newest frame that are seen on this machine.
func passRows(history []probes.Frame) []probes.Backend {
	if len(history) == 0 {
		return nil
	}
	var out []probes.Backend
	for i := range history[len(history)-1].Backends {
		if b := &history[len(history)-1].Backends[i].Backend; b.StartTicks != 0 {
			out = append(out, *b)
		}
	}
	return out
}

// pass reads process after process and tells of each. It ends with the first one
// for which a right is lacking: that is lacking for the others, too.
func pass(ctx context.Context, rows []probes.Backend, p Pass, read func(probes.Backend) (Inspected, error), tell func(Pass)) {
	for i := range rows {
		in, err := read(rows[i])
		var u *probes.Unavailable
		if errors.As(err, &u) && u.Remedy != "" {
			p.Denied = u.Reason + " (" + u.Remedy + ")"
			break
		}
		p.Read = append(p.Read, in)
		tell(p)
		select {
		case <-ctx.Done():
		case <-time.After(in.Took):
		}
		if ctx.Err() != nil {
			p.Stopped = i < len(rows)-1
			break
		}
	}
	p.Ended = time.Now()
	tell(p)
}

// findHolders looks at all processes for who holds huge pages.
func (s *Session) findHolders() {
	if s.st.Holders != nil && s.st.Holders.Running {
		return
	}
	h := Holders{Running: true}
	if s.st.Holders != nil {
		h = *s.st.Holders // what was found before stays until it is known anew
		h.Running = true
	}
	s.st.Holders = &h
	s.job(func() {
		now := Holders{At: time.Now()}
		var err error
		if now.Use, err = probes.HugetlbHolders(s.o.Roots); err != nil {
			now.Missing = err.Error()
		}
		now.Took = time.Since(now.At)
		s.post(func() { s.st.Holders = &now })
	})
}
