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

// errNoSharedMapping says that smaps lists nothing that can be shared buffers.
var errNoSharedMapping = errors.New("no shared memory mapping of the server in smaps")

// ProvePages reads from a server process's memory map which page size its
// shared memory really has: KernelPageSize of the largest anonymous shared
// mapping, in kB. The proof is in words for the screen. Reading needs the
// process's own user or CAP_SYS_PTRACE, else the error wraps ErrUnavailable.
func ProvePages(roots Roots, pid int) (pageKB int, proof string, err error) {
	path := pidPath(roots, pid, "smaps")
	f, err := os.Open(path)
	if err != nil {
		return 0, "", memoryMapError(path, err)
	}
	defer f.Close()
	kb, err := parseSharedPageSize(f)
	if errors.Is(err, fs.ErrPermission) {
		return 0, "", memoryMapError(path, err)
	}
	if err != nil {
		return 0, "", fmt.Errorf("reading %s: %w", path, err)
	}
	return kb, "smaps KernelPageSize", nil
}

// memoryMapError explains why a process's memory map cannot be read.
func memoryMapError(path string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return &Unavailable{
			What:   path,
			Reason: "permission denied on " + path + ", which only the process's own user may read",
			Remedy: "run pgtlb as root or as the server's OS user, or: setcap cap_sys_ptrace+ep pgtlb",
		}
	}
	if gone(err) {
		return &Unavailable{What: path, Reason: "the process has ended, or is hidden"}
	}
	return unreadable(path, err, "")
}

// parseSharedPageSize returns KernelPageSize of the largest mapping that can be
// the server's main shared memory.
func parseSharedPageSize(r io.Reader) (int, error) {
	sc := bufio.NewScanner(r)
	var size, largest uint64
	page := 0
	shared := false
	for sc.Scan() {
		line := sc.Bytes()
		key, value, isField := bytes.Cut(line, []byte(":"))
		// A mapping begins with "start-end perms offset dev inode name"; the
		// fields of a mapping have one word before the colon.
		if !isField || bytes.ContainsRune(key, ' ') {
			shared = isServerMemory(string(line))
			size = 0
			continue
		}
		if !shared {
			continue
		}
		n, ok := parseDecimal(bytes.TrimSuffix(bytes.TrimSpace(value), []byte(" kB")))
		switch {
		case !ok: // VmFlags and the like are no numbers
		case string(key) == "Size":
			size = n
		case string(key) == "KernelPageSize" && size > largest && n > 0 && n < 1<<31:
			largest, page = size, int(n)
		}
	}
	if err := sc.Err(); err != nil {
		return 0, err
	}
	if page == 0 {
		return 0, errNoSharedMapping
	}
	return page, nil
}

// isServerMemory tells whether the first line of a mapping is that of memory
// which PostgreSQL shares among its processes: an anonymous shared mapping, or
// System V memory with shared_memory_type = sysv.
func isServerMemory(line string) bool {
	f := strings.Fields(line)
	if len(f) < 6 || f[1] != "rw-s" {
		return false
	}
	return strings.HasPrefix(f[5], "/dev/zero") || strings.HasPrefix(f[5], "/anon_hugepage") ||
		strings.HasPrefix(f[5], "/SYSV")
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
