package probes

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
)

// HugetlbUse is who has explicit huge pages at one moment, as far as it can be
// seen from here.
type HugetlbUse struct {
	// Processes have huge pages mapped; the one with the most comes first. Their
	// figures do not add up: processes may share memory, see Memory.
	Processes []HugetlbProcess `json:"processes"`
	// Memory is what they have mapped, each piece once, and what is there without
	// a process that has it mapped. The largest comes first.
	Memory []HugetlbMemory `json:"memory"`
	// Unread is how many processes did not let their memory map be read: what
	// they share, and what they have reserved and not touched, is not known.
	Unread int `json:"unread,omitempty"`
	// Limits are sentences about what could not be seen, with what would help.
	Limits []string `json:"limits,omitempty"`
}

// HugetlbProcess is one process with huge pages.
type HugetlbProcess struct {
	Pid        int    `json:"pid"`
	StartTicks uint64 `json:"start"` // as in Backend
	Name       string `json:"name"`  // the command, or the title of a server process
	UID        int    `json:"uid"`
	User       string `json:"user,omitempty"` // empty where the uid has no name here
	// HugetlbKB is HugetlbPages of /proc/PID/status in kB: what the process itself
	// has touched. A backend of a server that has 2 MB pages touches a part only.
	HugetlbKB uint64 `json:"hugetlb_kb"`
	// Postmaster and DataDir tell the PostgreSQL server that the process belongs
	// to; 0 and empty for other programs, DataDir also where it cannot be read.
	Postmaster int    `json:"postmaster,omitempty"`
	DataDir    string `json:"data_dir,omitempty"`
}

// HugetlbMemory is one piece of memory in huge pages.
type HugetlbMemory struct {
	Kind HugetlbKind `json:"kind"`
	// Name is what the kernel calls it: "/anon_hugepage (deleted)", a path.
	Name string `json:"name"`
	// Dev and Inode identify it: major:minor of the file system in hex, and the
	// file. For System V memory Inode is the shmid.
	Dev    string `json:"dev"`
	Inode  uint64 `json:"inode"`
	PageKB int    `json:"page_kb,omitempty"` // 0 unknown
	SizeKB uint64 `json:"size_kb"`
	// TouchedKB is how much of it has pages; nil where the kernel does not say.
	TouchedKB *uint64 `json:"touched_kb,omitempty"`
	// Pids are the processes that have it mapped, in ascending order; none for
	// what outlived its processes, or is mapped by one that could not be read.
	Pids []int `json:"pids,omitempty"`
}

// HugetlbKind is how memory in huge pages was made.
type HugetlbKind string

// The kinds of memory in huge pages.
const (
	HugetlbAnonymous HugetlbKind = "anonymous" // mmap with MAP_HUGETLB, as PostgreSQL does
	HugetlbSysV      HugetlbKind = "sysv"      // shmget with SHM_HUGETLB
	HugetlbFile      HugetlbKind = "file"      // of a hugetlbfs mount or a memfd
)

// HugetlbHolders looks at all processes for who holds explicit huge pages, and
// at the hugetlbfs mounts and System V segments for what no process has mapped.
// Who has touched how much every user may see; which processes share memory, and
// who has only reserved it, needs the right to read their memory maps (root or
// CAP_SYS_PTRACE). It reads every process: on request, never at each tick. The
// error says that the processes cannot be listed.
func HugetlbHolders(roots Roots) (HugetlbUse, error) {
	pids, err := ListPids(roots)
	if err != nil {
		return HugetlbUse{}, unreadable(roots.ProcPath(), err, "")
	}
	slices.Sort(pids)
	h := holders{roots: roots, memory: map[memoryID]*HugetlbMemory{}, users: map[string]string{}, servers: map[int]serverOf{}}
	for _, pid := range pids {
		h.process(pid)
	}
	h.mounts()
	h.sysV()
	for _, m := range h.memory {
		if m != nil {
			h.use.Memory = append(h.use.Memory, *m)
		}
	}
	if h.use.Unread > 0 {
		remedy := " (run pgtlb as root, or: setcap cap_sys_ptrace+ep pgtlb)"
		if os.Geteuid() == 0 {
			remedy = "" // some are closed to root, too, as in a container without the capability
		}
		h.limit("memory maps that cannot be read: %d; what those processes share or have only reserved is not seen%s", h.use.Unread, remedy)
	}
	if hidesPids(roots) {
		h.limit("%s is mounted with hidepid: other users' processes may not be seen (run pgtlb as root)", roots.ProcPath())
	}
	slices.SortStableFunc(h.use.Processes, func(a, b HugetlbProcess) int { return cmp.Compare(b.HugetlbKB, a.HugetlbKB) })
	slices.SortFunc(h.use.Memory, func(a, b HugetlbMemory) int {
		return cmp.Or(cmp.Compare(b.SizeKB, a.SizeKB), cmp.Compare(a.Dev, b.Dev), cmp.Compare(a.Inode, b.Inode))
	})
	return h.use, nil
}

// holders gathers a HugetlbUse.
type holders struct {
	roots Roots
	use   HugetlbUse
	// memory holds what was found of everything that may have huge pages; nil for
	// what has not.
	memory map[memoryID]*HugetlbMemory
	// users are the names of uids, and servers the postmasters that were met: a
	// server may have thousands of processes.
	users   map[string]string
	servers map[int]serverOf
}

// serverOf is what the processes of one server have in common.
type serverOf struct {
	title   string // of the postmaster
	dataDir string
}

// memoryID identifies memory by the device and inode of what is mapped.
type memoryID struct {
	dev   string
	inode uint64
}

func (h *holders) limit(format string, args ...any) {
	h.use.Limits = append(h.use.Limits, fmt.Sprintf(format, args...))
}

// process looks at one process; one that ends meanwhile holds nothing any more.
func (h *holders) process(pid int) {
	b, err := os.ReadFile(pidPath(h.roots, pid, "status"))
	if err != nil {
		return
	}
	status, err := parseProcStatus(b)
	if err != nil || !status.hasMem {
		return // a thread of the kernel, or a process that is ending
	}
	stat, err := readProcStat(h.roots, pid)
	if err != nil {
		return
	}
	mapped, err := h.mappedBy(pid, status.mem.Hugetlb > 0)
	switch {
	case gone(err):
		return
	case errors.Is(err, fs.ErrPermission):
		h.use.Unread++
	case err != nil:
		h.limit("reading the memory map of process %d: %v", pid, err)
	}
	if status.mem.Hugetlb == 0 && len(mapped) == 0 {
		return
	}
	for _, m := range mapped {
		m.Pids = append(m.Pids, pid)
	}
	p := HugetlbProcess{Pid: pid, StartTicks: stat.start, HugetlbKB: status.mem.Hugetlb, Name: statusLine(b, "Name")}
	p.UID, p.User = h.owner(statusLine(b, "Uid"))
	if title, err := readTitle(h.roots, pid); err == nil {
		h.ofServer(&p, title, stat.ppid)
	}
	h.use.Processes = append(h.use.Processes, p)
}

// statusLine is the value of a line of /proc/PID/status.
func statusLine(status []byte, key string) string {
	for line := range bytes.Lines(status) {
		if k, v, ok := bytes.Cut(line, []byte(":")); ok && string(k) == key {
			return strings.TrimSpace(Clean(string(v)))
		}
	}
	return ""
}

// owner reads the Uid line, whose first number is the real uid. Names are those
// of the running system and mean nothing for another one's files.
func (h *holders) owner(uids string) (int, string) {
	f := strings.Fields(uids)
	if len(f) == 0 {
		return -1, ""
	}
	uid, err := strconv.Atoi(f[0])
	if err != nil {
		return -1, ""
	}
	if !h.roots.areSystem() {
		return uid, ""
	}
	name, known := h.users[f[0]]
	if !known {
		if u, err := user.LookupId(f[0]); err == nil { // a uid may have no name
			name = Clean(u.Username)
		}
		h.users[f[0]] = name
	}
	return uid, name
}

// ofServer fills in the PostgreSQL server of a process: a child of a postmaster
// has a title of its own, or still the postmaster's.
func (h *holders) ofServer(p *HugetlbProcess, title string, parent int) {
	if p.Name != "postgres" && p.Name != "postmaster" {
		return
	}
	p.Postmaster = p.Pid
	if above := h.server(parent); above.title != "" && (strings.HasPrefix(title, "postgres: ") || title == above.title) {
		p.Postmaster, p.Name = parent, Clean(title)
	}
	p.DataDir = h.server(p.Postmaster).dataDir
}

// server is what a process shows as a postmaster; it is read once. The title is
// empty where it cannot be read.
func (h *holders) server(pid int) serverOf {
	s, known := h.servers[pid]
	if !known {
		if title, err := readTitle(h.roots, pid); err == nil {
			s = serverOf{title, Clean(dataDirOf(h.roots, pid, title))}
		}
		h.servers[pid] = s
	}
	return s
}

// dataDirOption takes the data directory from a postmaster's command line.
func dataDirOption(command string) string {
	words := strings.Fields(command)
	for i, w := range words {
		switch {
		case w == "-D" && i+1 < len(words):
			return words[i+1]
		case strings.HasPrefix(w, "-D"):
			return w[len("-D"):]
		case strings.HasPrefix(w, "--data-directory="):
			return w[len("--data-directory="):]
		case strings.HasPrefix(w, "--data_directory="):
			return w[len("--data_directory="):]
		}
	}
	return ""
}
