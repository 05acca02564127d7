package trial

import (
	"fmt"
	"slices"
	"time"

	"pgtlb/probes"
)

// inspect reads one backend's exact memory, which is too slow for every tick.
func (s *Session) inspect(pid int) {
	row, there := backendIn(s.tl.history, pid)
	if !there {
		s.st.Inspected = &Inspected{Pid: pid, At: time.Now(), Missing: fmt.Sprintf("process %d has ended", pid)}
		return
	}
	s.job(func() {
		in, _ := inspected(s.o.Roots, row)
		s.post(func() { s.st.Inspected = &in })
	})
}

// backendIn looks a process up among the backends of the newest frame.
func backendIn(history []probes.Frame, pid int) (probes.Backend, bool) {
	if len(history) == 0 {
		return probes.Backend{}, false
	}
	rows := history[len(history)-1].Backends
	i := slices.IndexFunc(rows, func(r probes.BackendRow) bool { return r.Pid == pid })
	if i < 0 {
		return probes.Backend{}, false
	}
	return rows[i].Backend, true
}

// Is tells whether the figures are of that very process.
func (i *Inspected) Is(b *probes.Backend) bool {
	return i.Pid == b.Pid && i.Start == b.StartTicks && b.StartTicks != 0
}

// inspected reads the exact memory of that very process: another one that has
// got its pid since is not shown. The error, too, is in what it returns.
func inspected(roots probes.Roots, b probes.Backend) (Inspected, error) {
	in := Inspected{Pid: b.Pid, Start: b.StartTicks, At: time.Now()}
	if b.StartTicks == 0 {
		in.Missing = fmt.Sprintf("process %d of the server is not visible on this machine", b.Pid)
		return in, nil
	}
	r, err := probes.ReadRollup(roots, b.Pid)
	in.Took = time.Since(in.At)
	switch {
	case err != nil:
		in.Missing = err.Error()
	case r.StartTicks != b.StartTicks:
		in.Missing = fmt.Sprintf("the backend has ended, and process %d is another one now", b.Pid)
	default:
		in.Pss, in.Rss, in.Private, in.Shared, in.Hugetlb = r.Pss, r.Rss, r.Private, r.Shared, r.Hugetlb
	}
	return in, err
}
