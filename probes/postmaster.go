package probes

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// startTolerance is how far the start of a process and the start of a backend
// as the server tells it may be apart: the server takes its time after the fork.
const startTolerance = 500 * time.Millisecond

// postmaster is the server's first process in our pid namespace.
type postmaster struct {
	pid   int
	start uint64 // ticks since boot
}

// findPostmaster finds the process that serves this session and takes its
// parent. Only a process whose own pid, start time and title all agree with
// what the server says is taken; otherwise the error, an *Unavailable, says in
// one sentence why there are only the figures that SQL gives.
func findPostmaster(roots Roots, c *session) (postmaster, error) {
	clock, err := bootClock()
	if err != nil {
		return postmaster{}, sqlOnly(err.Error(), "")
	}
	candidates, err := sessionCandidates(roots, c)
	if err != nil {
		return postmaster{}, sqlOnly(fmt.Sprintf("%s cannot be read (%v)", roots.ProcPath(), err), "")
	}
	found := 0
	denied := false
	var pm postmaster
	for _, pid := range candidates {
		stat, ok, err := isSession(roots, pid, c, clock)
		denied = denied || errors.Is(err, os.ErrPermission)
		if !ok {
			continue
		}
		parent, err := readProcStat(roots, stat.ppid)
		if err != nil {
			continue
		}
		found++
		pm = postmaster{stat.ppid, parent.start}
	}
	if found == 1 {
		return pm, nil
	}
	return postmaster{}, noPostmaster(roots, found, denied)
}

// sessionCandidates lists the processes that may serve this session. On a Unix
// socket the kernel knows who listens: normally the postmaster, but also a
// connection pooler may, which then is nobody's parent here.
func sessionCandidates(roots Roots, c *session) ([]int, error) {
	if u := c.unixConn(); u != nil {
		pid, err := peerPid(u)
		if err == nil && pid > 0 {
			children, err := listChildren(roots, pid)
			if err == nil && len(children) > 0 {
				return children, nil
			}
		}
	}
	return ListPids(roots)
}

// isSession tells whether a process is the backend of this session.
func isSession(roots Roots, pid int, c *session, clock time.Time) (procStat, bool, error) {
	title, err := readTitle(roots, pid)
	if err != nil || !strings.HasPrefix(title, "postgres:") || !strings.Contains(title+" ", " "+c.client+" ") {
		return procStat{}, false, err
	}
	status, err := readProcStatus(roots, pid)
	if err != nil || status.nspid != c.pid {
		return procStat{}, false, err
	}
	stat, err := readProcStat(roots, pid)
	if err != nil || !agrees(clock, stat.start, c.started, 0) {
		return procStat{}, false, err
	}
	return stat, true, nil
}

// bootClock is the wall time of the boot by today's clock.
func bootClock() (time.Time, error) {
	d, err := sinceBoot()
	if err != nil {
		return time.Time{}, err
	}
	return time.Now().Add(-d), nil
}

// startOf is the wall time at which a process started, by today's clock.
func startOf(boot time.Time, ticks uint64) time.Time {
	return boot.Add(time.Duration(ticks) * (time.Second / ticksPerSecond))
}

// agrees tells whether a process that started at ticks can be the backend that
// the server says started at told. step is by how much the wall clock was set
// since then, where that is known.
func agrees(boot time.Time, ticks uint64, told time.Time, step time.Duration) bool {
	d := told.Sub(startOf(boot, ticks))
	return d.Abs() <= startTolerance || (d-step).Abs() <= startTolerance
}

// sqlOnly is the reason why nothing of the operating system can be shown.
func sqlOnly(why, remedy string) error {
	return &Unavailable{What: "the server's processes", Reason: "SQL only: " + why, Remedy: remedy}
}

func noPostmaster(roots Roots, found int, denied bool) error {
	const asOwner = "run pgtlb as root or as the server's OS user"
	switch {
	case found > 1:
		return sqlOnly("more than one process looks like this session, so none is taken", "")
	case hidesPids(roots):
		return sqlOnly(roots.ProcPath()+" is mounted with hidepid, which hides the server's processes", asOwner)
	case denied:
		return sqlOnly("permission denied on the processes below "+roots.ProcPath(), asOwner)
	}
	return sqlOnly("no process below "+roots.ProcPath()+" serves this session; the server runs on another machine or in another pid namespace",
		"run pgtlb on the server's host")
}

// hidesPids tells whether proc is mounted so that other users' processes are
// not seen, or seen and not readable.
func hidesPids(roots Roots) bool {
	b, err := os.ReadFile(roots.ProcPath("self/mounts"))
	if err != nil {
		return false
	}
	return hasHidePid(string(b))
}

// hasHidePid reads the lines of /proc/self/mounts.
func hasHidePid(mounts string) bool {
	for line := range strings.Lines(mounts) {
		f := strings.Fields(line)
		if len(f) < 4 || f[2] != "proc" {
			continue
		}
		for o := range strings.SplitSeq(f[3], ",") {
			if v, ok := strings.CutPrefix(o, "hidepid="); ok && v != "0" && v != "off" {
				return true
			}
		}
	}
	return false
}
