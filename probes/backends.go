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

//go:embed sql/keep_memory.sql
var keepMemorySQL string

// backends joins pg_stat_activity with the processes of the server.
type backends struct {
	server *Server
	roots  Roots
	// gen is the connection that own, pm and why belong to.
	gen   int
	own   int // the process that serves it, as the server sees it
	pm    postmaster
	why   error // why there is no postmaster; nil when there is one
	procs *processTable
	rows  *activityTable
	told  time.Time // when the rows were right last
}

// NewBackends offers every process of the server: its row of pg_stat_activity,
// its memory and CPU time, and the sums of their page tables. Where the
// processes are not on this machine there are the rows alone, and the misses
// say why.
func NewBackends(ctx context.Context, s *Server) (Probe, []Miss) {
	b := &backends{server: s, roots: s.roots, procs: newProcessTable(s.roots), rows: newActivityTable()}
	// An error means that the server is away just now; Read says so again.
	err := s.use(ctx, func(c *session) error {
		return b.meet(ctx, c)
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
func (b *backends) meet(ctx context.Context, c *session) error {
	if b.gen == c.gen {
		return nil
	}
	if _, err := c.conn.Exec(ctx, keepMemorySQL); err != nil {
		return err
	}
	b.gen, b.own = c.gen, c.pid
	was := b.pm
	b.pm, b.why = findPostmaster(b.roots, c)
	if b.why == nil && b.pm == was {
		b.rows.whole = time.Time{} // another connection to the same server
		return nil
	}
	b.procs.close()
	b.rows = newActivityTable()
	return nil
}

// Read looks at the processes first, then asks the server about those that have
// run since the last time: the row of one that has not is as it was. While it
// looks, others may use the connection. Where the server does not answer, the
// processes are read all the same, with the last rows, and Backends is a miss that
// says of when they are.
func (b *backends) Read(ctx context.Context) (Batch, error) {
	out := Batch{Probe: b.Name()}
	err := b.server.use(ctx, func(c *session) error {
		return b.meet(ctx, c)
	})
	var seen seenProcesses
	var unseen error // why not every process was seen
	if err == nil {
		seen, unseen = b.processes()
	}
	if err == nil && (unseen != nil || !b.rows.upToDate(seen.list, b.own)) {
		err = b.server.use(ctx, func(c *session) error {
			if b.gen != c.gen { // of the processes of another server nothing holds
				if err := b.meet(ctx, c); err != nil {
					return err
				}
				seen, unseen = b.processes()
			}
			return b.rows.renew(ctx, c, seen.list, unseen == nil)
		})
	}
	if err != nil {
		b.rows.whole = time.Time{} // who ran meanwhile is not known any more
		if b.gen > 0 && b.why == nil {
			if seen, unseen = b.processes(); len(seen.list) > 0 {
				return b.untold(seen, unseen, err), nil
			}
		}
		b.rows = newActivityTable()
		err = fmt.Errorf("listing the server's backends: %w", err)
		for _, m := range b.Metrics() {
			out.Misses = append(out.Misses, Miss{ID: m.ID, Reason: err.Error()})
		}
		return out, err
	}
	b.told = time.Now()
	out.Backends = joinBackends(b.rows.byPid, seen)
	out.Readings, out.Misses = backendSums(out.Backends, unseen)
	return out, nil
}

// untold is a batch of the processes as they are and of the last rows, since the
// server did not say who they are now.
func (b *backends) untold(seen seenProcesses, unseen, err error) Batch {
	out := Batch{Probe: b.Name()}
	b.rows.forget(seen.list)
	out.Backends = joinBackends(b.rows.byPid, seen)
	readings, misses := backendSums(out.Backends, unseen)
	out.Readings = slices.DeleteFunc(readings, func(r Reading) bool { return r.ID == Backends })
	reason := "state, wait and query are not known: " + err.Error()
	if !b.told.IsZero() {
		reason = fmt.Sprintf("state, wait and query are as of %s: %s", b.told.Format(time.TimeOnly), err)
	}
	out.Misses = append(misses, Miss{ID: Backends, State: NotCounted, Reason: reason})
	return out
}

// seenProcesses is what one look at the server's processes gave.
type seenProcesses struct {
	boot time.Time
	list []*process
}

// processes reads the postmaster and its children. The error says why there is
// nothing to see, or not all.
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
// was seen, so that a sum would be too small: then it is missing for that reason,
// and where no process tells its page tables it is missing, too.
func backendSums(rows []Backend, why error) (readings []Reading, misses []Miss) {
	var count, sum, largest uint64
	told, clients := false, false
	for _, r := range rows {
		if !r.Counts() {
			continue
		}
		count++
		if r.Mem == nil {
			continue
		}
		told = true
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
	if !told {
		why = &Unavailable{What: "page tables", State: NotThere,
			Reason: "no process of the server tells its page tables: that needs VmPTE, RssAnon and RssShmem in /proc/PID/status, which Linux 4.5 and newer have"}
		return readings, []Miss{missFor(PageTableBackendsSum, nil, why), missFor(PageTableMaxBackend, nil, why)}
	}
	readings = append(readings, Reading{ID: PageTableBackendsSum, Value: float64(sum)})
	if !clients {
		return readings, []Miss{{ID: PageTableMaxBackend, Reason: "no client is connected"}}
	}
	return append(readings, Reading{ID: PageTableMaxBackend, Value: float64(largest)}), nil
}

// joinBackends puts rows and processes together by the pid that the process has
// in the server's own pid namespace, and orders them by the pid in ours. Where the
// start times do not agree, the row stays without figures: they would be another
// process's.
func joinBackends(rows map[int]*Backend, seen seenProcesses) []Backend {
	step := clockStep(rows, seen)
	out := make([]Backend, 0, max(len(rows), len(seen.list)))
	taken := 0
	for _, p := range seen.list {
		if p.begun.IsZero() {
			p.begun = startOf(seen.boot, p.start)
		}
		r := rows[p.nspid]
		// Without the right to see the row's start there is nothing to compare.
		if r == nil || !r.Started.IsZero() && !agrees(seen.boot, p.start, r.Started, step) {
			out = append(out, Backend{Role: p.role, Started: p.begun})
			p.fill(&out[len(out)-1])
			continue
		}
		taken++
		out = append(out, *r)
		b := &out[len(out)-1]
		p.fill(b)
		if b.Role == "" {
			b.Role = p.role
		}
		if b.Started.IsZero() {
			b.Started = p.begun
		}
	}
	if taken < len(rows) {
		out = append(out, unclaimed(rows, seen, step)...)
	}
	byPid := func(a, b Backend) int { return a.Pid - b.Pid }
	if !slices.IsSortedFunc(out, byPid) {
		slices.SortStableFunc(out, byPid)
	}
	return out
}

// unclaimed are the rows that no process belongs to.
func unclaimed(rows map[int]*Backend, seen seenProcesses, step time.Duration) []Backend {
	claimed := make(map[int]bool, len(seen.list))
	for _, p := range seen.list {
		r := rows[p.nspid]
		if r != nil && (r.Started.IsZero() || agrees(seen.boot, p.start, r.Started, step)) {
			claimed[p.nspid] = true
		}
	}
	var out []Backend
	for pid, r := range rows {
		if !claimed[pid] {
			out = append(out, *r)
		}
	}
	return out
}

// clockStep is by how much the wall clock was set since the checkpointer
// started: it lives as long as the server, and its row and process can be told
// by the role alone. Without it one correction of the clock would make every
// older backend look like another process.
func clockStep(rows map[int]*Backend, seen seenProcesses) time.Duration {
	for _, p := range seen.list {
		if p.role != "checkpointer" {
			continue
		}
		if r := rows[p.nspid]; r != nil && r.Role == p.role && !r.Started.IsZero() {
			return r.Started.Sub(startOf(seen.boot, p.start))
		}
	}
	return 0
}
