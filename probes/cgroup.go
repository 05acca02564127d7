package probes

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// cgroup is the control group by which the kernel counts the events of a process.
type cgroup struct {
	dir string // its directory
	// whole is the root group, which every process belongs to.
	whole bool
	// ours tells that pgtlb runs in it too, or in a group below it.
	ours bool
}

// findCgroup finds the control group of a process: that of the perf_event
// controller where it has a hierarchy of its own (version 1), else that of
// version 2. The error is an *Unavailable.
func findCgroup(roots Roots, pid int) (cgroup, error) {
	none := func(why string) (cgroup, error) {
		return cgroup{}, &Unavailable{What: "the server's cgroup", State: NotThere, Reason: why, Remedy: "count system wide or the server's processes"}
	}
	path, old, err := cgroupPath(pidPath(roots, pid, "cgroup"))
	if err != nil {
		return none(err.Error())
	}
	mounts, err := os.ReadFile(roots.ProcPath("self/mountinfo"))
	if err != nil {
		return none(err.Error())
	}
	dir, ok := cgroupDir(string(mounts), path, old)
	if !ok {
		return none("the server's cgroup " + path + " is below no cgroup mount that is visible here")
	}
	// The mounts are those of the running system, which a snapshot stands in for.
	if below, ok := strings.CutPrefix(dir, systemSys+"/"); ok {
		dir = roots.SysPath(below)
	}
	c := cgroup{dir: dir, whole: path == "/"}
	if own, sameVersion, err := cgroupPath(roots.ProcPath("self/cgroup")); err == nil && sameVersion == old {
		c.ours = own == path || strings.HasPrefix(own, strings.TrimSuffix(path, "/")+"/")
	}
	return c, nil
}

// cgroupPath reads a /proc/PID/cgroup file. old tells that the path is one of
// the perf_event controller's own hierarchy.
func cgroupPath(file string) (path string, old bool, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", false, unreadable(file, err, "the process has ended, or is hidden")
	}
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		switch {
		case len(f) != 3:
		case hasOption(f[1], "perf_event"):
			return f[2], true, nil
		case f[0] == "0" && f[1] == "":
			path = f[2]
		}
	}
	if path == "" {
		return "", false, fmt.Errorf("%s names no cgroup of version 2 or of perf_event", file)
	}
	return path, false, nil
}

// cgroupDir finds the directory of a cgroup in the lines of
// /proc/self/mountinfo: mount point of the hierarchy, and the path below the
// part of it that is mounted there.
func cgroupDir(mountinfo, path string, old bool) (string, bool) {
	for line := range strings.Lines(mountinfo) {
		before, after, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if len(f) < 5 || len(g) < 3 {
			continue
		}
		wanted := g[0] == "cgroup2"
		if old {
			wanted = g[0] == "cgroup" && hasOption(g[2], "perf_event")
		}
		root := strings.TrimSuffix(f[3], "/")
		if rest, below := strings.CutPrefix(path, root); wanted && below && (rest == "" || rest[0] == '/') && !strings.HasPrefix(path, "/..") {
			return filepath.Join(f[4], rest), true
		}
	}
	return "", false
}

func hasOption(list, option string) bool { return strings.Contains(","+list+",", ","+option+",") }
