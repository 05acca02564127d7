package probes

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"time"
)

//go:embed sql/activity.sql
var activitySQL string

// backends joins pg_stat_activity with the processes of the server.
type backends struct {
	server *Server
	roots  Roots
	// gen is the connection that pm and why belong to.
	gen   int
	pm    postmaster
	why   error // why there is no postmaster; nil when there is one
	procs *processTable
}

// NewBackends offers every process of the server: its row of pg_stat_activity,
// its memory and CPU time, and the sums of their page tables. Where the
// processes are not on this machine there are the rows alone, and the misses
// say why.
func NewBackends(ctx context.Context, s *Server) (Probe, []Miss) {
	b := &backends{server: s, roots: s.roots, procs: newProcessTable(s.roots)}
	// An error means that the server is away just now; Read says so again.
	err := s.use(ctx, func(c *session) error {
		b.meet(c)
		return nil
	})
	if err == nil {
		err = b.why
	}
	if err == nil {
		return b, nil
	}
	return b, []Miss{missFor(PageTableBackendsSum, nil, err), missFor(PageTableMaxBackend, nil, err)}
}

func (b *backends) Name() string { return "backends" }

func (b *backends) Metrics() []Metric {
	return metricsOf(PageTableBackendsSum, PageTableMaxBackend, Backends)
}

// Close closes the files of the server's processes.
func (b *backends) Close() error {
	b.procs.close()
	return nil
}

// meet looks for the postmaster of a connection that is new.
func (b *backends) meet(c *session) {
	if b.gen == c.gen {
		return
	}
	b.gen = c.gen
	b.procs.close()
	b.pm, b.why = findPostmaster(b.roots, c)
}

// Read asks the server for its list first and looks at the processes right
// after, so that a process and its row are of the same moment.
func (b *backends) Read(ctx context.Context) (Batch, error) {
	out := Batch{Probe: b.Name()}
	var rows []activity
	var ownPid int
	err := b.server.use(ctx, func(c *session) error {
		b.meet(c)
		ownPid = c.pid
		var err error
		rows, err = queryActivity(ctx, c)
		return err
	})
	if err != nil {
		err = fmt.Errorf("listing the server's backends: %w", err)
		for _, m := range b.Metrics() {
			out.Misses = append(out.Misses, Miss{ID: m.ID, Reason: err.Error()})
		}
		return out, err
	}
	seen, err := b.processes()
	out.Backends = joinBackends(rows, seen, ownPid)
	out.Readings, out.Misses = backendSums(out.Backends, err)
	return out, nil
}

// seenProcesses is what one look at the server's processes gave.
type seenProcesses struct {
	boot time.Time
	list []*process
}

// processes reads the postmaster and its children. The error says why there is
// nothing to see.
func (b *backends) processes() (seenProcesses, error) {
	if b.why != nil {
		return seenProcesses{}, b.why
	}
	boot, err := bootClock()
	if err != nil {
		return seenProcesses{}, err
	}
	list, err := b.procs.read(b.pm)
	if gone(err) {
		err = &Unavailable{What: "the server's processes", Reason: "the postmaster has ended"}
	}
	return seenProcesses{boot, list}, err
}

// backendSums makes the readings over all rows. With an error not every process
// was seen, so that a sum would be too small: then it is missing for that reason.
func backendSums(rows []Backend, why error) (readings []Reading, misses []Miss) {
	var count, sum, largest uint64
	clients := false
	for _, r := range rows {
		if !r.Counts() {
			continue
		}
		count++
		if r.Mem == nil {
			continue
		}
		sum += r.Mem.PageTables
		if r.Role == RoleClient {
			clients = true
			largest = max(largest, r.Mem.PageTables)
		}
	}
	readings = append(readings, Reading{ID: Backends, Value: float64(count)})
	if why != nil {
		return readings, []Miss{missFor(PageTableBackendsSum, nil, why), missFor(PageTableMaxBackend, nil, why)}
	}
	readings = append(readings, Reading{ID: PageTableBackendsSum, Value: float64(sum)})
	if !clients {
		return readings, []Miss{{ID: PageTableMaxBackend, Reason: "no client is connected"}}
	}
	return append(readings, Reading{ID: PageTableMaxBackend, Value: float64(largest)}), nil
}

// joinBackends puts rows and processes together by the pid that the process has
// in the server's own pid namespace. Where the start times do not agree, the
// row stays without figures: they would be another process's.
func joinBackends(rows []activity, seen seenProcesses, ownPid int) []Backend {
	byPid := make(map[int]*process, len(seen.list))
	for _, p := range seen.list {
		byPid[p.nspid] = p
	}
	step := clockStep(rows, byPid, seen.boot)
	out := make([]Backend, 0, max(len(rows), len(seen.list)))
	taken := make(map[int]bool, len(rows))
	for _, r := range rows {
		b := r.backend(ownPid)
		p := byPid[r.pid]
		// Without the right to see the row's start there is nothing to compare.
		if p != nil && (r.started == nil || agrees(seen.boot, p.start, *r.started, step)) {
			p.fill(&b)
			if b.Role == "" {
				b.Role = p.role
			}
			taken[r.pid] = true
		}
		out = append(out, b)
	}
	for _, p := range seen.list {
		if taken[p.nspid] {
			continue
		}
		b := Backend{Role: p.role, Started: startOf(seen.boot, p.start)}
		p.fill(&b)
		out = append(out, b)
	}
	slices.SortStableFunc(out, func(a, b Backend) int { return a.Pid - b.Pid })
	return out
}

// clockStep is by how much the wall clock was set since the checkpointer
// started: it lives as long as the server, and its row and process can be told
// by the role alone. Without it one correction of the clock would make every
// older backend look like another process.
func clockStep(rows []activity, byPid map[int]*process, boot time.Time) time.Duration {
	for _, r := range rows {
		p := byPid[r.pid]
		if r.backendType == "checkpointer" && r.started != nil && p != nil && p.role == "checkpointer" {
			return r.started.Sub(startOf(boot, p.start))
		}
	}
	return 0
}
