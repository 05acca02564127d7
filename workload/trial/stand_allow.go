package trial

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"pgtlb/probes"
	"pgtlb/workload/experiment"
	"pgtlb/workload/lab"
)

// errNotAllowed is a person's no before anything was done.
var errNotAllowed = errors.New("the experiment was not begun: nothing was changed")

// prepareServer finds out whether a server that pgtlb did not make lets the
// experiment be made, and asks.
func (x *stand) prepareServer(ctx context.Context, conn *pgx.Conn) error {
	if x.way == byRestart && x.o.RestartCmd == "" {
		return fmt.Errorf("%s %w", x.setting.Name, errNoRestart)
	}
	var err error
	if x.system, err = systemOf(ctx, conn); err != nil && x.way != bySession {
		return err // else only the change of an address goes unnoticed
	}
	if j := x.o.Resume; j != nil && j.Plan.System != "" && x.system != "" && j.Plan.System != x.system {
		return fmt.Errorf("experiment %s was begun on another server: this one has system identifier %s, that one %s", j.Plan.Name, x.system, j.Plan.System)
	}
	if x.way != bySession {
		if err := x.mayAlter(ctx, conn); err != nil {
			return err
		}
		if err := x.mayBegin(ctx, conn); err != nil {
			return err
		}
	}
	if err := x.poolsOfServer(ctx, conn); err != nil {
		return err
	}
	if err := x.memoryOfServer(); err != nil {
		return err
	}
	room, err := x.s.room(ctx, x.load.what)
	if err != nil {
		return fmt.Errorf("%s: %w", x.load.what.Scenario.Name, err)
	}
	cut := ""
	if x.way == byRestart {
		if cut, err = cutOff(ctx, conn); err != nil {
			return err
		}
	}
	asked := x.s.question(ctx, nil, func() (Question, bool) {
		q := x.s.allowQuestion(x.load, room)
		q.Text, q.Yes, q.No = "Make this experiment on a server that pgtlb did not make?", "make it", "change nothing"
		q.Detail = append(q.Detail, x.tells(cut)...)
		return q, true
	})
	if !asked {
		return errors.Join(ctx.Err(), errNotAllowed)
	}
	return nil
}

// tells names what the experiment changes and how often.
func (x *stand) tells(cut string) []string {
	p := x.o.Plan
	steps := len(p.Steps())
	full := p
	full.Pairs = x.o.most()
	most, why := len(full.Steps()), []string{}
	if full.Pairs > p.Pairs {
		why = append(why, fmt.Sprintf("up to %d pairs where the identical runs say that it takes more", full.Pairs))
	}
	if p.RepeatFailed {
		most *= 2
		why = append(why, "each failed step is made once more")
	}
	lines := []string{fmt.Sprintf("experiment: %s = %s, %s and %s in %d steps", p.Factor, strings.Join(p.Values, ", "),
		probes.Plural(experiment.Identical, "identical run"), probes.Plural(p.Pairs, "pair"), steps)}
	if most > steps {
		lines = append(lines, fmt.Sprintf("at most: %d steps; %s", most, strings.Join(why, ", and ")))
	}
	restarts := fmt.Sprintf("restarts: %d", steps+1)
	if most > steps {
		restarts += fmt.Sprintf(" as planned and %d at most", most+1)
	}
	switch x.way {
	case bySession:
		return append(lines, "changes: nothing on the server; the load's own sessions get the value")
	case byReload:
		return append(lines, fmt.Sprintf("changes: ALTER SYSTEM SET %s and a reload before each step; all sessions of the server get the value; put back at the end",
			strings.Join(x.names(), ", ")))
	}
	return append(lines,
		fmt.Sprintf("changes: ALTER SYSTEM SET %s before each step; put back at the end", strings.Join(x.names(), ", ")),
		fmt.Sprintf("%s, one before each step and one at the end, by: %s", restarts, probes.Clean(x.o.RestartCmd)),
		"each restart cuts off "+cut)
}

// mayBegin puts back what a crashed experiment left, and refuses where another one has
// changed this server.
func (x *stand) mayBegin(ctx context.Context, conn *pgx.Conn) error {
	runs := x.s.o.Store.Dir()
	if changedBy(runs, x.system, "") == nil {
		return nil
	}
	lines, err := UndoLeftovers(ctx, runs, conn.Config())
	x.s.post(func() {
		for _, l := range lines {
			x.s.notify(false, probes.Clean(l))
		}
	})
	return errors.Join(err, changedBy(runs, x.system, ""))
}

// mayAlter refuses where ALTER SYSTEM would be refused, or would have no effect.
func (x *stand) mayAlter(ctx context.Context, conn *pgx.Conn) error {
	if s := x.setting.Source; s == "command line" || s == "environment variable" {
		return fmt.Errorf("%s is given to the server by %s, which wins over ALTER SYSTEM: take it away there first", x.setting.Name, s)
	}
	super := false
	if err := conn.QueryRow(ctx, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user").Scan(&super); err != nil {
		return fmt.Errorf("asking for the rights of this user: %w", err)
	}
	if !super {
		return fmt.Errorf("%s is changed with ALTER SYSTEM, which this user may not do with all that belongs to it: connect as a superuser, or use --lab", x.setting.Name)
	}
	return nil
}

// poolsOfServer refuses page sizes whose pool is too small, where it can be seen.
func (x *stand) poolsOfServer(ctx context.Context, conn *pgx.Conn) error {
	var info probes.ServerInfo
	x.s.query(func() { info = x.s.st.Server })
	for _, a := range x.arms {
		if a.pages == 0 || a.pages == lab.Pages4kB {
			continue
		}
		if majorOf(conn) < hugePageSizeSince && info.HugePages.PageKB > 64 && lab.Pages(info.HugePages.PageKB) != a.pages {
			return fmt.Errorf("--vary huge_pages=%s: PostgreSQL %s takes only the machine's default huge page size", a.value, info.Version)
		}
		if info.PostmasterPid == 0 || info.SharedMemoryKB == 0 {
			continue // it is not on this machine, or too old to say: the proof after the start tells
		}
		pool, err := lab.ReadPool(x.s.o.Roots, a.pages)
		if err != nil {
			return fmt.Errorf("--vary huge_pages=%s: %w", a.value, err)
		}
		need := int((int64(info.SharedMemoryKB) + int64(a.pages.KB()) - 1) / int64(a.pages.KB()))
		have := pool.Available()
		if lab.Pages(info.HugePages.PageKB) == a.pages {
			have += need // it gives its own up when it restarts
		}
		if have < need {
			return fmt.Errorf("--vary huge_pages=%s: %w", a.value,
				&lab.ShortPool{Size: a.pages, NeedBytes: int64(need) * a.pages.Bytes(), Need: need, Have: have, Total: pool.Total})
		}
	}
	return nil
}

// memoryOfServer refuses shared_buffers that are larger than the machine, where that is
// this one: the server would not start again.
func (x *stand) memoryOfServer() error {
	var info probes.ServerInfo
	var host probes.Host
	x.s.query(func() { info, host = x.s.st.Server, x.s.st.Host })
	if x.setting.Name != "shared_buffers" || info.PostmasterPid == 0 || host.MemTotalKB == 0 {
		return nil
	}
	for _, a := range x.arms {
		if size, err := lab.ParseSize(a.value); err == nil && uint64(size)>>10 > host.MemTotalKB {
			return fmt.Errorf("--vary shared_buffers=%s: this machine has %s of memory; take less", a.value, probes.Memory(float64(host.MemTotalKB)))
		}
	}
	return nil
}

// cutOff says which sessions a restart ends now.
func cutOff(ctx context.Context, conn *pgx.Conn) (string, error) {
	rows, err := conn.Query(ctx, `SELECT coalesce(datname, '-'), coalesce(nullif(application_name, ''), 'unnamed'), count(*), count(*) FILTER (WHERE state <> 'idle')
		FROM pg_stat_activity WHERE backend_type IN ('client backend', 'walsender') AND coalesce(application_name, '') !~ '^pgtlb( |$)'
		GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2`)
	if err != nil {
		return "", fmt.Errorf("counting the sessions that a restart cuts off: %w", err)
	}
	type group struct {
		Database, Application string
		Sessions, Busy        int
	}
	groups, err := pgx.CollectRows(rows, pgx.RowToStructByPos[group])
	if err != nil {
		return "", fmt.Errorf("counting the sessions that a restart cuts off: %w", err)
	}
	all, busy := 0, 0
	var named []string
	for i, g := range groups {
		all, busy = all+g.Sessions, busy+g.Busy
		if i < 8 {
			named = append(named, fmt.Sprintf("%d of %s in %s", g.Sessions, probes.Clean(g.Application), probes.Clean(g.Database)))
		}
	}
	if all == 0 {
		return "no session of others now, and all that come meanwhile", nil
	}
	return fmt.Sprintf("%s of others now, %d at work: %s", probes.Plural(all, "session"), busy, strings.Join(named, "; ")), nil
}
