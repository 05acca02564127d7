package probes

import "time"

// faults is what a process has done since it began, minor and major ones.
func (u *BackendUse) faults() uint64 { return u.MinorFaults + u.MajorFaults }

// notAll says why not every process of the server was read, if so.
func notAll(cur *Batch) (why string, missing bool) {
	for _, miss := range cur.Misses {
		if miss.ID == PageTableBackendsSum {
			return miss.Text(), true
		}
	}
	return "", false
}

// serverFaults sums the page faults of the server's processes since the last
// batch that listed them. A process that began since then counts from its start;
// one that was there but could not be read, or whose count went backwards, does
// not count this time. Where not every process is read now the sum is missing.
func (m *maker) serverFaults(mem *memory, cur *Batch, at time.Duration) {
	k := Key{ServerPageFaults, ""}
	if mem.backends == nil || at <= mem.backendsAt {
		m.frame.Values[k] = Value{Missing: reasonFirst}
		return
	}
	v := Value{Since: mem.backendsAt, Elapsed: at - mem.backendsAt}
	readable, counted := false, false
	for i := range cur.Backends {
		b := &cur.Backends[i]
		if b.Use == nil || !b.Counts() {
			continue
		}
		readable = true
		faults, was := b.Use.faults(), uint64(0)
		if p := mem.backends[identOf(b)]; p != nil {
			if p.Use == nil {
				continue
			}
			was = p.Use.faults()
		} else if b.Started.Before(mem.looked.Truncate(time.Second / ticksPerSecond)) {
			continue
		}
		if faults >= was {
			v.Delta += float64(faults - was)
			counted = true
		}
	}
	why, missing := notAll(cur)
	switch {
	case !readable:
		return // the backends' probe says why
	case missing:
		v = Value{Missing: why}
	case !counted:
		v = Value{Missing: reasonFirst}
	default:
		v.V = v.Delta / v.Elapsed.Seconds()
	}
	m.frame.Values[k] = v
}

// clientFaults is the mean of what the load's backends have faulted since each began:
// what a connection has paid so far to fill its page table. Sessions of others are older
// or younger than the load by chance, so that theirs say nothing of it.
func (m *maker) clientFaults(cur *Batch) {
	sum, n := uint64(0), 0
	for i := range cur.Backends {
		if b := &cur.Backends[i]; b.Use != nil && b.OfLoad() {
			sum, n = sum+b.Use.faults(), n+1
		}
	}
	if n == 0 {
		return // there is no load, or the backends' probe says why
	}
	v := Value{V: float64(sum) / float64(n)}
	if why, missing := notAll(cur); missing {
		v = Value{Missing: why}
	}
	m.frame.Values[Key{ClientPageFaults, ""}] = v
}
