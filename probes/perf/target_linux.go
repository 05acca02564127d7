package perf

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// targets returns what to open every event on for a scope; dir is the open directory of the cgroup where that is the
// scope, else nil.
func targets(o Options, dir *os.File) ([]target, error) {
	if o.Scope.Postmaster != 0 {
		return treeTargets(filepath.Join(o.root(), "proc"), o.Scope.Postmaster)
	}
	b, err := os.ReadFile(filepath.Join(o.root(), "sys/devices/system/cpu/online"))
	if err != nil {
		return nil, fmt.Errorf("listing online CPUs: %w", err)
	}
	cpus, err := parseCPUList(string(b))
	if err != nil {
		return nil, err
	}
	out := make([]target, len(cpus))
	for i, c := range cpus {
		out[i] = target{pid: -1, cpu: c}
		if o.Scope.Cgroup != "" {
			out[i].pid, out[i].cgroup = int(dir.Fd()), true
		}
	}
	return out, nil
}

// openDir opens the directory of the scope's cgroup; nil where the scope is another one. The caller closes it.
func openDir(s Scope) (*os.File, error) {
	if s.Cgroup == "" {
		return nil, nil
	}
	dir, err := os.Open(s.Cgroup)
	if err != nil {
		return nil, fmt.Errorf("opening the cgroup: %w", err)
	}
	return dir, nil
}

// treeTargets returns every thread of a process and of its descendants, the process itself first: an event is
// attached to one thread, not to a process, and reaches only children made later.
func treeTargets(proc string, root int) ([]target, error) {
	tids, err := threads(proc, root)
	if err != nil {
		return nil, fmt.Errorf("listing threads of process %d: %w", root, err)
	}
	parents, err := parentsOf(proc)
	if err != nil {
		return nil, err
	}
	for _, pid := range descendants(parents, root) {
		more, err := threads(proc, pid)
		if err != nil {
			continue // it ended since the listing
		}
		tids = append(tids, more...)
	}
	out := make([]target, len(tids))
	for i, tid := range tids {
		out[i] = target{pid: tid, cpu: -1}
	}
	return out, nil
}

// threads lists the tasks of a process; the main one comes first.
func threads(proc string, pid int) ([]int, error) {
	entries, err := os.ReadDir(filepath.Join(proc, strconv.Itoa(pid), "task"))
	if err != nil {
		return nil, err
	}
	tids := []int{pid}
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil && tid != pid {
			tids = append(tids, tid)
		}
	}
	return tids, nil
}

// parentsOf returns the parent of every process that can be seen.
func parentsOf(proc string) (map[int]int, error) {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	out := map[int]int{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		b, err := os.ReadFile(filepath.Join(proc, e.Name(), "stat"))
		if err != nil {
			continue // it ended since the listing, or is hidden
		}
		if ppid, ok := parentInStat(string(b)); ok {
			out[pid] = ppid
		}
	}
	return out, nil
}

// parentInStat finds the parent in /proc/PID/stat: the second field after the name in parentheses, which may hold
// spaces and parentheses itself.
func parentInStat(s string) (int, bool) {
	i := strings.LastIndexByte(s, ')')
	if i < 0 {
		return 0, false
	}
	fields := strings.Fields(s[i+1:])
	if len(fields) < 2 {
		return 0, false
	}
	ppid, err := strconv.Atoi(fields[1])
	return ppid, err == nil
}

// descendants returns the children of root and theirs, in rising order.
func descendants(parents map[int]int, root int) []int {
	children := map[int][]int{}
	for pid, ppid := range parents {
		children[ppid] = append(children[ppid], pid)
	}
	var out []int
	seen := map[int]bool{root: true}
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		for _, c := range children[queue[0]] {
			if !seen[c] {
				seen[c] = true
				out, queue = append(out, c), append(queue, c)
			}
		}
	}
	slices.Sort(out)
	return out
}
