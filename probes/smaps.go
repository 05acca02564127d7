package probes

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// ErrNoSharedMapping says that a process has no shared memory mapping of a server.
var ErrNoSharedMapping = errors.New("no shared memory mapping of the server in smaps")

// PageProof is what the kernel says about a server's main shared memory.
type PageProof struct {
	PageKB  int    // size of its pages
	SizeKB  uint64 // size of the mapping
	THPKB   uint64 // part of it that transparent huge pages map; not the same thing as huge_pages
	Mapping string // what smaps calls it: "/anon_hugepage (deleted)"
	Words   string // where the page size is from, for the screen: "smaps KernelPageSize"
}

// ProvePages reads from a server process's memory map which page size its
// shared memory really has. It works for every process of the server that has
// it mapped, best for the postmaster. Reading needs the process's own user or
// CAP_SYS_PTRACE, else the error wraps ErrUnavailable; it is ErrNoSharedMapping
// for a process of something else.
func ProvePages(roots Roots, pid int) (PageProof, error) {
	path := pidPath(roots, pid, "smaps")
	f, err := os.Open(path)
	if err != nil {
		return PageProof{}, memoryMapError(path, err)
	}
	defer f.Close()
	p, err := parseSmaps(f)
	if errors.Is(err, fs.ErrPermission) {
		return PageProof{}, memoryMapError(path, err)
	}
	if err != nil {
		return PageProof{}, fmt.Errorf("reading %s: %w", path, err)
	}
	return p, nil
}

// memoryMapError explains why a process's memory map cannot be read.
func memoryMapError(path string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return &Unavailable{
			What:   path,
			State:  NoPermission,
			Reason: path + " may be read only by the process's own user",
			Remedy: "run pgtlb as root or as the server's OS user, or: setcap cap_sys_ptrace+ep pgtlb",
		}
	}
	if gone(err) {
		return &Unavailable{What: path, Reason: "the process has ended, or is hidden"}
	}
	return unreadable(path, err, "")
}

// maxMapLine bounds a line of smaps, in bytes: the path of a mapped file has no
// bound of its own.
const maxMapLine = 1 << 20

// parseSmaps finds the largest mapping that can be the server's main shared memory.
func parseSmaps(r io.Reader) (PageProof, error) {
	var best, cur PageProof
	shared := false
	take := func() {
		if shared && cur.PageKB > 0 && cur.SizeKB > best.SizeKB {
			best = cur
		}
	}
	err := scanSmaps(r, func(line string) {
		take()
		cur = PageProof{Words: "smaps KernelPageSize"}
		cur.Mapping, shared = serverMemory(line)
	}, func(key string, value []byte) {
		if !shared {
			return
		}
		n, ok := parseDecimal(bytes.TrimSuffix(value, []byte(" kB")))
		switch {
		case !ok: // VmFlags and the like are no numbers
		case key == "Size":
			cur.SizeKB = n
		case key == "KernelPageSize" && n < 1<<31:
			cur.PageKB = int(n)
		case key == "ShmemPmdMapped":
			cur.THPKB = n
		}
	})
	if err != nil {
		return PageProof{}, err
	}
	take()
	if best.PageKB == 0 {
		return PageProof{}, ErrNoSharedMapping
	}
	return best, nil
}

// scanSmaps calls mapping with the first line of each mapping of a file in the
// form of smaps or maps, and field with each of its fields.
func scanSmaps(r io.Reader, mapping func(line string), field func(key string, value []byte)) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, maxMapLine)
	for sc.Scan() {
		line := sc.Bytes()
		key, value, isField := bytes.Cut(line, []byte(":"))
		// A mapping begins with "start-end perms offset dev inode name"; the
		// fields of a mapping have one word before the colon.
		if !isField || bytes.ContainsRune(key, ' ') {
			mapping(string(line))
			continue
		}
		field(string(key), bytes.TrimSpace(value))
	}
	return sc.Err()
}

// serverMemory tells from the first line of a mapping whether it is of memory
// that PostgreSQL shares among its processes, and its name: an anonymous shared
// mapping ("/anon_hugepage" with huge_pages, else "/dev/zero"), or System V
// memory with shared_memory_type = sysv.
func serverMemory(line string) (name string, ok bool) {
	f := strings.Fields(line)
	if len(f) < 6 || f[1] != "rw-s" {
		return "", false
	}
	for _, known := range []string{"/dev/zero", "/anon_hugepage", "/SYSV"} {
		if strings.HasPrefix(f[5], known) {
			return strings.Join(f[5:], " "), true
		}
	}
	return "", false
}

// Rollup sums a process's memory over all its mappings, in kB.
type Rollup struct {
	Pss     uint64 // its share of what it has mapped: shared pages divided by their users
	Rss     uint64 // all that it has mapped, shared pages counted in full
	Private uint64 // mapped by it alone
	Shared  uint64 // mapped by others too
	Hugetlb uint64 // explicit huge pages; not in the others
	// StartTicks identifies the process together with its pid, as in Backend.
	StartTicks uint64
}

// ReadRollup reads /proc/PID/smaps_rollup of one process. It takes the process's
// memory map lock and some milliseconds: for one selected process, never for
// all. StartTicks of the answer tells whether it is the process that was meant.
// Needs the process's own user or CAP_SYS_PTRACE, else the error wraps
// ErrUnavailable.
func ReadRollup(roots Roots, pid int) (Rollup, error) {
	path := pidPath(roots, pid, "smaps_rollup")
	f, err := os.Open(path)
	if err != nil {
		return Rollup{}, memoryMapError(path, err)
	}
	defer f.Close()
	r, err := parseRollup(f)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) || gone(err) {
			return Rollup{}, memoryMapError(path, err)
		}
		return Rollup{}, fmt.Errorf("reading %s: %w", path, err)
	}
	// Asked after the read: the open file is that of a process which was there
	// before, so if the pid had been used again meanwhile this start is later
	// than any that the caller knows.
	stat, err := readProcStat(roots, pid)
	if err != nil {
		return Rollup{}, &Unavailable{What: path, Reason: "the process has ended"}
	}
	r.StartTicks = stat.start
	return r, nil
}

func parseRollup(r io.Reader) (Rollup, error) {
	var out Rollup
	sc := bufio.NewScanner(r)
	found := false
	for sc.Scan() {
		key, value, ok := bytes.Cut(sc.Bytes(), []byte(":"))
		if !ok {
			continue
		}
		var into *uint64
		switch string(key) {
		case "Pss":
			into, found = &out.Pss, true
		case "Rss":
			into = &out.Rss
		case "Private_Clean", "Private_Dirty":
			into = &out.Private
		case "Shared_Clean", "Shared_Dirty":
			into = &out.Shared
		case "Shared_Hugetlb", "Private_Hugetlb":
			into = &out.Hugetlb
		default:
			continue
		}
		n, ok := parseDecimal(bytes.TrimSuffix(bytes.TrimSpace(value), []byte(" kB")))
		if !ok {
			return Rollup{}, fmt.Errorf("smaps_rollup: %q", sc.Bytes())
		}
		*into += n
	}
	if err := sc.Err(); err != nil {
		return Rollup{}, err
	}
	if !found {
		return Rollup{}, errors.New("smaps_rollup: no Pss in it")
	}
	return out, nil
}
