package probes

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Cluster is a running PostgreSQL server as its processes show it, whether or
// not it can be connected to.
type Cluster struct {
	Pid int `json:"pid"` // of the postmaster, in our pid namespace
	// DataDir is as the postmaster sees it; empty where it cannot be read.
	DataDir string `json:"data_dir,omitempty"`
	// PageKB and SizeKB are those of its shared memory, 0 where the memory map
	// cannot be read; Unseen then says why.
	PageKB int    `json:"page_kb,omitempty"`
	SizeKB uint64 `json:"size_kb,omitempty"`
	// THPKB is the part of it that transparent huge pages map.
	THPKB  uint64 `json:"thp_kb,omitempty"`
	Unseen string `json:"unseen,omitempty"`
	// HugetlbKB is what the postmaster itself has mapped of huge pages. Anybody
	// may read it, but it falls short of what the server holds.
	HugetlbKB uint64 `json:"hugetlb_kb,omitempty"`
}

// FindClusters lists the servers whose processes are visible below the roots, by
// pid. The error says that the processes cannot be listed.
func FindClusters(roots Roots) ([]Cluster, error) {
	pids, err := ListPids(roots)
	if err != nil {
		return nil, unreadable(roots.ProcPath(), err, "")
	}
	var parents []int
	for _, pid := range pids {
		title, err := readTitle(roots, pid)
		if err != nil || !strings.HasPrefix(title, "postgres: ") {
			continue // ended meanwhile, hidden, or no server process
		}
		stat, err := readProcStat(roots, pid)
		if err == nil && !slices.Contains(parents, stat.ppid) {
			parents = append(parents, stat.ppid)
		}
	}
	slices.Sort(parents)
	var out []Cluster
	for _, pid := range parents {
		if c, ok := readCluster(roots, pid); ok {
			out = append(out, c)
		}
	}
	return out, nil
}

// readCluster describes the server of a postmaster; false for another process,
// such as the init process that a dead postmaster's children were left to.
func readCluster(roots Roots, pid int) (Cluster, bool) {
	title, err := readTitle(roots, pid)
	if err != nil {
		return Cluster{}, false
	}
	command, _, _ := strings.Cut(title, " ")
	program := filepath.Base(command)
	if !strings.Contains(program, "postgres") && program != "postmaster" {
		return Cluster{}, false
	}
	c := Cluster{Pid: pid, DataDir: Clean(dataDirOf(roots, pid, title))}
	if status, err := readProcStatus(roots, pid); err == nil && status.hasMem {
		c.HugetlbKB = status.mem.Hugetlb
	}
	proof, err := ProvePages(roots, pid)
	switch {
	case errors.Is(err, ErrNoSharedMapping):
		return Cluster{}, false
	case err != nil:
		c.Unseen = reasonOf(err)
	}
	c.PageKB, c.SizeKB, c.THPKB = proof.PageKB, proof.SizeKB, proof.THPKB
	return c, true
}

// dataDirOf is the directory that a postmaster works in, its data directory,
// else what its command line says.
func dataDirOf(roots Roots, pid int, command string) string {
	dir, err := os.Readlink(pidPath(roots, pid, "cwd"))
	if err != nil {
		return dataDirOption(command)
	}
	return dir
}

// ServerProcesses reads the postmaster with this pid and its children once: role,
// memory and use of each, without asking the server.
func ServerProcesses(roots Roots, postmasterPid int) ([]Backend, error) {
	stat, err := readProcStat(roots, postmasterPid)
	if err != nil {
		return nil, memoryMapError(pidPath(roots, postmasterPid, "stat"), err)
	}
	table := newProcessTable(roots)
	defer table.close()
	list, err := table.read(postmaster{pid: postmasterPid, start: stat.start})
	if err != nil {
		return nil, err
	}
	out := make([]Backend, len(list))
	for i, p := range list {
		out[i].Role = p.role
		p.fill(&out[i])
	}
	return out, nil
}
