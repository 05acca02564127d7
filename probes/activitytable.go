package probes

import (
	"context"
	"time"
)

// askAtMost is above how many processes the server is asked for all rows: then
// that is cheaper for it than one by one.
const askAtMost = 200

// activityTable keeps the rows of pg_stat_activity from one read to the next. A
// backend writes its own row, so one that has not run since has the same row: the
// server is not asked for it.
type activityTable struct {
	byPid map[int]*Backend // by the pid that the server knows; a row is never written again
	// whole is when all rows were asked for the last time; zero asks for all.
	whole time.Time
}

func newActivityTable() *activityTable { return &activityTable{byPid: map[int]*Backend{}} }

// renew asks the server for what may have changed. all tells whether every
// process of the server is among those that were seen.
func (t *activityTable) renew(ctx context.Context, c *session, seen []*process, all bool) error {
	pids, whole := t.stale(seen, c.pid, time.Now())
	if whole || !all || len(pids) == 0 {
		rows, err := queryActivity(ctx, c, nil)
		if err != nil {
			return err
		}
		t.whole, t.byPid = time.Now(), make(map[int]*Backend, len(rows))
		t.put(rows, c.pid)
		return nil
	}
	rows, err := queryActivity(ctx, c, pids)
	if err != nil {
		return err
	}
	for _, pid := range pids {
		delete(t.byPid, int(pid)) // of what the server does not list there is no row
	}
	t.put(rows, c.pid)
	t.forget(seen)
	return nil
}

// upToDate tells whether there is nothing to ask the server for, and then forgets
// the processes that are gone.
func (t *activityTable) upToDate(seen []*process, own int) bool {
	pids, whole := t.stale(seen, own, time.Now())
	if whole || len(pids) > 0 {
		return false
	}
	t.forget(seen)
	return true
}

// stale returns the pids whose rows may have changed. whole asks for all rows
// instead: when they are many, and now and then, because what another process
// changes, such as the name of a database, shows only then. Not asked for by
// themselves are pgtlb's own row, which changes with each question, and those of
// processes that wake several times a second for nothing.
func (t *activityTable) stale(seen []*process, own int, now time.Time) (pids []int32, whole bool) {
	worked := false
	for _, p := range seen {
		if p.ran && p.nspid != own {
			pids = append(pids, int32(p.nspid))
			worked = worked || !restless(p.role)
		}
	}
	if !worked {
		pids = nil
	}
	return pids, len(pids) > askAtMost || now.Sub(t.whole) >= lookAgain
}

// restless tells whether a process of this role wakes every 200 ms by default.
func restless(role string) bool { return role == "bgwriter" || role == "walwriter" }

// put keeps rows.
func (t *activityTable) put(rows []activity, own int) {
	for _, r := range rows {
		b := r.backend(own)
		t.byPid[r.pid] = &b
	}
}

// forget drops the rows without a process.
func (t *activityTable) forget(seen []*process) {
	there := 0
	for _, p := range seen {
		if t.byPid[p.nspid] != nil {
			there++
		}
	}
	if there == len(t.byPid) {
		return
	}
	kept := make(map[int]*Backend, there)
	for _, p := range seen {
		if r := t.byPid[p.nspid]; r != nil {
			kept[p.nspid] = r
		}
	}
	t.byPid = kept
}
