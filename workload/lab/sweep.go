package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pgtlb/probes"
)

// SweepOptions say where to look for what crashed labs left.
type SweepOptions struct {
	Parents []string // directories that hold labs; none means os.TempDir() and /tmp
	All     bool     // also the labs that were kept on purpose (--keep), unless their pgtlb still runs
	Roots   Roots
	Pools   Pools
}

// Sweep ends the servers of labs whose pgtlb is gone, removes their directories and gives their huge pages back. It
// returns a line for each thing it did. It touches only directories with a marker this user wrote, only processes that
// run in such a directory, and nothing of a lab whose pgtlb is alive.
func Sweep(ctx context.Context, o SweepOptions) (lines []string, err error) {
	if err := supported(); err != nil {
		return nil, err
	}
	here, err := self(o.Roots)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, dir := range labDirs(o.Parents) {
		line, err := sweepDir(ctx, o, here, dir)
		if line != "" {
			lines = append(lines, line)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	o.Pools.Roots = o.Roots
	if os.Geteuid() == 0 {
		back, err := o.Pools.Recover(ctx)
		lines, errs = append(lines, back...), append(errs, err)
	}
	return lines, errors.Join(errs...)
}

func labDirs(parents []string) []string {
	if len(parents) == 0 {
		parents = []string{os.TempDir(), "/tmp"}
	}
	var dirs []string
	seen := map[string]bool{}
	for _, parent := range parents {
		entries, err := os.ReadDir(parent)
		if err != nil {
			continue // a place that is not there holds no labs
		}
		for _, e := range entries {
			dir := filepath.Join(parent, e.Name())
			if ok, _ := filepath.Match(dirPrefix+"*", e.Name()); ok && e.IsDir() && !seen[dir] {
				seen[dir] = true
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

func sweepDir(ctx context.Context, o SweepOptions, here Process, dir string) (string, error) {
	m, err := readMarker(dir, os.Geteuid())
	if err != nil {
		return "", nil // not a lab of ours
	}
	if m.Owner.Boot == here.Boot && (m.Owner.Namespace != here.Namespace || m.Owner.alive(o.Roots)) {
		return "", nil // alive, or in another container, where we cannot tell
	}
	if m.Keep && !o.All {
		return "", nil
	}
	ended := ""
	if pid, ok := leftover(o.Roots, m, dir); ok {
		if err := endLeftover(ctx, o.Roots, pid); err != nil {
			return "", fmt.Errorf("sweeping %s: %w", dir, err)
		}
		ended = fmt.Sprintf("ended its server (process %d) and ", pid)
	}
	if m.Owner.Boot == here.Boot { // a boot clears the rest
		if err := m.Residue.clear(o.Roots, filepath.Join(dir, "data"), m.Account); err != nil {
			return "", fmt.Errorf("sweeping %s: %w", dir, err)
		}
	}
	if err := removeDir(dir); err != nil {
		return "", err
	}
	return fmt.Sprintf("left over from process %d: %sremoved %s", m.Owner.PID, ended, dir), nil
}

// leftover finds the server that still runs in a lab's directory: its pid is in the marker or in postmaster.pid, and the
// process must be a postgres whose working directory is the lab's data directory and belong to the lab's account.
func leftover(r Roots, m marker, dir string) (int, bool) {
	data := filepath.Join(dir, "data")
	if real, err := filepath.EvalSymlinks(data); err == nil {
		data = real // cwd is shown without links
	}
	var pids []int
	if m.Postmaster != nil && m.Postmaster.alive(r) {
		pids = append(pids, m.Postmaster.PID)
	}
	if lines := postmasterPid(data); len(lines) > 0 {
		if pid, err := strconv.Atoi(lines[0]); err == nil && pid > 1 {
			pids = append(pids, pid)
		}
	}
	for _, pid := range pids {
		proc := r.ProcPath(strconv.Itoa(pid))
		cwd, err1 := os.Readlink(filepath.Join(proc, "cwd"))
		exe, err2 := os.Readlink(filepath.Join(proc, "exe"))
		fi, err3 := os.Stat(proc)
		if err1 != nil || err2 != nil || err3 != nil || cwd != data || filepath.Base(strings.TrimSuffix(exe, " (deleted)")) != "postgres" {
			continue
		}
		if uid, _, ok := ownerOf(fi); ok && uid == m.Account {
			return pid, true
		}
	}
	return 0, false
}

// endLeftover ends a server that is not our child: an immediate shutdown, after its time SIGKILL.
func endLeftover(ctx context.Context, r Roots, pid int) error {
	start, err := probes.StartTicks(r, pid)
	if err != nil {
		return nil // gone meanwhile
	}
	p := Process{PID: pid, Start: start}
	for _, sig := range []syscall.Signal{syscall.SIGQUIT, syscall.SIGKILL} {
		if !p.alive(r) {
			return nil
		}
		if err := signalPid(pid, sig); err != nil {
			return fmt.Errorf("ending process %d: %w", pid, err)
		}
		if gone, err := p.awaitEnd(ctx, r, immediateWait); gone || err != nil {
			return err
		}
	}
	return fmt.Errorf("process %d is still there after SIGKILL", pid)
}

func (p Process) awaitEnd(ctx context.Context, r Roots, d time.Duration) (bool, error) {
	deadline := time.NewTimer(d)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for p.alive(r) {
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-deadline.C:
			return false, nil
		case <-tick.C:
		}
	}
	return true, nil
}
