package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"pgtlb/probes"
)

// link is a session's hold on the server: its own connection and the probes
// that the sampler reads through it.
type link struct {
	server *probes.Server
	probes []probes.Probe
}

// join connects to the server and gives the sampler its probes. It is called
// by jobs.
func (s *Session) join(ctx context.Context, cfg *pgx.ConnConfig) error {
	server, err := probes.Connect(ctx, cfg, s.o.Roots)
	if err != nil {
		return err
	}
	l := &link{server: server}
	info, err := server.Info(ctx)
	if err != nil {
		return errors.Join(err, l.close(ctx))
	}
	misses := l.open(ctx, s.o.Roots, s.o.Scope, info)
	var metrics []probes.Metric
	for i, p := range l.probes {
		metrics = append(metrics, p.Metrics()...)
		if err := s.sampler.Add(ctx, p); err != nil {
			err = fmt.Errorf("watching the server: %w", err)
			return errors.Join(err, s.unsample(ctx, l.probes[:i]), l.close(ctx))
		}
	}
	s.post(func() {
		s.link = l
		s.st.Server, s.st.Metrics, s.st.Unavailable = info, metrics, lacking(misses, metrics)
		s.st.Pages = pagesName(info.HugePages)
	})
	return nil
}

// open makes the probes: those of the host, the counters, the server's own
// views. What cannot be opened is returned with its reason.
func (l *link) open(ctx context.Context, roots probes.Roots, scope probes.PerfScope, info probes.ServerInfo) []probes.Miss {
	counters, missing := probes.OpenPerf(ctx, roots, scope, info.PostmasterPid)
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
