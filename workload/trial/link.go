package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"pgtlb/probes"
)

// link is a session's hold on the server: its own connection and the probes
// that the sampler reads through it.
type link struct {
	server *probes.Server
	probes []probes.Probe
	scope  probes.PerfScope
	// connection is the one that the session's knowledge of the server is from.
	connection int
}

// join connects to the server and gives the sampler its probes. It is called
// by jobs.
func (s *Session) join(ctx context.Context, cfg *pgx.ConnConfig) error {
	server, err := probes.Connect(ctx, cfg, s.o.Roots)
	if err != nil {
		return err
	}
	l := &link{server: server, scope: s.o.Scope, connection: server.Contact().Connection}
	info, err := server.Info(ctx)
	if err != nil {
		return errors.Join(err, l.close(ctx))
	}
	misses := l.open(ctx, s.o.Roots, info)
	var metrics []probes.Metric
	var counting probes.CountingScope
	for i, p := range l.probes {
		metrics = append(metrics, p.Metrics()...)
		if p.Name() == probes.PerfName {
			counting = probes.ScopeOf(p)
		}
		if err := s.sampler.Add(ctx, p); err != nil {
			err = fmt.Errorf("watching the server: %w", err)
			return errors.Join(err, s.unsample(ctx, l.probes[:i]), l.close(ctx))
		}
	}
	s.post(func() {
		s.link, s.st.Unreachable = l, ""
		s.st.Server, s.st.Metrics, s.st.Unavailable = info, metrics, lacking(misses, metrics)
		s.st.Pages, s.st.Counting = pagesName(info.HugePages), counting
	})
	return nil
}

// checkLink looks at each sample whether the server can still be reached, and
// whether it is still the one that was asked: after a restart everything that is
// known of it is asked again.
func (s *Session) checkLink(ctx context.Context) {
	if s.link == nil {
		return
	}
	l, c := s.link, s.link.server.Contact()
	s.st.Unreachable, s.st.Silent = "", silence(c, time.Now())
	if !c.Lost.IsZero() {
		s.st.Unreachable = fmt.Sprintf("server unreachable since %s: %s", c.Lost.Format("15:04:05"), c.Why)
		return
	}
	if c.Connection == l.connection || s.st.Phase != Ready {
		return
	}
	l.connection = c.Connection
	s.st.Pages, s.st.Server.HugePages = "", probes.HugePages{Proof: "asking the restarted server"}
	s.inOrder(func() {
		info, err := l.server.Info(ctx)
		if err == nil {
			err = s.recount(ctx, l, info)
		}
		s.post(func() {
			switch {
			case s.link != l:
			case err != nil:
				l.connection = -1 // asked again with the next sample
			default:
				s.st.Server, s.st.Pages = info, pagesName(info.HugePages)
				s.notify(false, "connected to the server anew; it was asked again for its version, settings and pages")
			}
		})
	})
}

// silence says for how long a server has not answered; empty for one that answers.
func silence(c probes.Contact, now time.Time) string {
	if !c.Silent {
		return ""
	}
	return fmt.Sprintf("the server has not answered for %.0f s", now.Sub(c.Answered).Seconds())
}

// recount opens the counters again where they counted the processes of a server
// that is gone.
func (s *Session) recount(ctx context.Context, l *link, info probes.ServerInfo) error {
	i := slices.IndexFunc(l.probes, func(p probes.Probe) bool { return p.Name() == probes.PerfName })
	if i < 0 || info.PostmasterPid == 0 || probes.ScopeOf(l.probes[i]).WholeMachine() {
		return nil
	}
	err := errors.Join(s.sampler.Remove(ctx, probes.PerfName), l.probes[i].Close())
	counters, _ := probes.OpenPerf(ctx, s.o.Roots, l.scope, info.PostmasterPid)
	if counters == nil {
		l.probes = slices.Delete(l.probes, i, i+1)
		return err
	}
	l.probes[i] = counters
	s.post(func() { s.st.Counting = probes.ScopeOf(counters) })
	return errors.Join(err, s.sampler.Add(ctx, counters))
}

// open makes the probes: those of the host, the counters, the server's own
// views. What cannot be opened is returned with its reason.
func (l *link) open(ctx context.Context, roots probes.Roots, info probes.ServerInfo) []probes.Miss {
	counters, missing := probes.OpenPerf(ctx, roots, l.scope, info.PostmasterPid)
	faults := false
	if counters != nil {
		l.probes = append(l.probes, counters)
		for _, m := range counters.Metrics() {
			faults = faults || m.ID == probes.PageFaults
		}
	}
	host, more := probes.HostProbes(roots, !faults)
	l.probes, missing = append(l.probes, host...), append(missing, more...)
	own, more := probes.ServerProbes(ctx, l.server)
	l.probes, missing = append(l.probes, own...), append(missing, more...)
	return missing
}

// lacking leaves out of the misses the metrics that another probe supplies, such
// as page faults from /proc/vmstat where perf events may not count them.
func lacking(misses []probes.Miss, opened []probes.Metric) []probes.Miss {
	var out []probes.Miss
	for _, m := range misses {
		if !slices.ContainsFunc(opened, func(o probes.Metric) bool { return o.ID == m.ID }) {
			out = append(out, m)
		}
	}
	return out
}

// part takes the server's probes from the sampler and closes the link. The
// session goes on sampling nothing until it joins again.
func (s *Session) part(ctx context.Context) error {
	var l *link
	s.query(func() {
		l, s.link = s.link, nil
		// Nothing that was proved of the server holds for the next one.
		s.st.Pages, s.st.Server.HugePages = "", probes.HugePages{}
	})
	if l == nil {
		return nil
	}
	return errors.Join(s.unsample(ctx, l.probes), l.close(ctx))
}

// unsample takes probes out of the sampler.
func (s *Session) unsample(ctx context.Context, list []probes.Probe) error {
	var errs []error
	for _, p := range list {
		errs = append(errs, s.sampler.Remove(ctx, p.Name()))
	}
	return errors.Join(errs...)
}

// close ends the probes and the connection.
func (l *link) close(ctx context.Context) error {
	var errs []error
	for _, p := range l.probes {
		errs = append(errs, p.Close())
	}
	return errors.Join(append(errs, l.server.Close(ctx))...)
}
