package lab

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// Pages is a page size for shared memory, in kB.
type Pages int

// The page sizes a lab can use. Which huge ones a machine has is in /sys/kernel/mm/hugepages.
const (
	Pages4kB Pages = 4
	Pages2MB Pages = 2048
	Pages1GB Pages = 1 << 20
)

// ParsePages reads "4kB", "2MB" or "1GB", in any case and with or without a space.
func ParsePages(s string) (Pages, error) {
	key := strings.ToLower(strings.ReplaceAll(s, " ", ""))
	for _, p := range []Pages{Pages4kB, Pages2MB, Pages1GB} {
		if key == strings.ToLower(p.String()) {
			return p, nil
		}
	}
	return 0, fmt.Errorf("page size %q: choose 4kB, 2MB or 1GB", s)
}

// String is the size as the server's huge_page_size takes it: "2MB".
func (p Pages) String() string {
	switch {
	case p > 0 && p%(1<<20) == 0:
		return strconv.Itoa(int(p)>>20) + "GB"
	case p > 0 && p%1024 == 0:
		return strconv.Itoa(int(p)>>10) + "MB"
	}
	return strconv.Itoa(int(p)) + "kB"
}

// KB is the size in kB.
func (p Pages) KB() int { return int(p) }

// Bytes is the size in bytes.
func (p Pages) Bytes() int64 { return int64(p) << 10 }

// MarshalText writes the page size as String does.
func (p Pages) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads it back.
func (p *Pages) UnmarshalText(b []byte) error {
	v, err := ParsePages(string(b))
	if err == nil {
		*p = v
	}
	return err
}

// Proof is what the kernel says about the server's shared memory.
type Proof struct {
	Mode     Pages  // the page size in use
	SizeKB   int64  // size of the mapping
	THPKB    int64  // part of it that transparent huge pages map; not the same thing as huge_pages
	Mapping  string // what smaps calls it: "/anon_hugepage (deleted)"
	PageText string // for a person: "smaps: KernelPageSize 2048 kB of the shared memory mapping"
}

// ErrNoMapping says that a process has no shared memory mapping of a server.
var ErrNoMapping = errors.New("no shared memory mapping in smaps")

// Verify reads the page size of the shared memory from /proc/PID/smaps of the postmaster. It works for any server whose
// smaps may be read: same uid, or CAP_SYS_PTRACE.
func Verify(r Roots, pid int) (Proof, error) {
	f, err := os.Open(r.proc(strconv.Itoa(pid), "smaps"))
	if err != nil {
		return Proof{}, fmt.Errorf("proving the page size: %w", err)
	}
	defer f.Close()
	p, err := parseSmaps(f)
	if err != nil {
		return Proof{}, fmt.Errorf("proving the page size of process %d: %w", pid, err)
	}
	return p, nil
}

// parseSmaps finds the largest shared anonymous mapping: "/anon_hugepage" for huge_pages, "/dev/zero" without,
// "/SYSV…" with shared_memory_type = sysv.
func parseSmaps(r io.Reader) (Proof, error) {
	var best, cur Proof
	inside := false
	pageKB := 0
	take := func() {
		if inside && pageKB > 0 && cur.SizeKB > best.SizeKB {
			cur.Mode = Pages(pageKB)
			best = cur
		}
		inside, pageKB, cur = false, 0, Proof{}
	}
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 1<<20) // a mapping's path has no bound of its own
	for sc.Scan() {
		fields := strings.Fields(sc.Text())
		if len(fields) == 0 {
			continue
		}
		if !strings.HasSuffix(fields[0], ":") { // "7f…-7f… rw-s 00000000 00:0f 17 /dev/zero (deleted)"
			take()
			if len(fields) >= 6 && strings.HasSuffix(fields[1], "s") && sharedMemoryName(fields[5]) {
				inside, cur.Mapping = true, strings.Join(fields[5:], " ")
			}
			continue
		}
		if !inside || len(fields) < 2 {
			continue
		}
		kb, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			continue // VmFlags and the like
		}
		switch fields[0] {
		case "Size:":
			cur.SizeKB = kb
		case "KernelPageSize:":
			pageKB = int(kb)
		case "ShmemPmdMapped:":
			cur.THPKB = kb
		}
	}
	if err := sc.Err(); err != nil {
		return Proof{}, err
	}
	take()
	if best.SizeKB == 0 {
		return Proof{}, ErrNoMapping
	}
	best.PageText = fmt.Sprintf("smaps: KernelPageSize %d kB of the shared memory mapping", best.Mode.KB())
	return best, nil
}

func sharedMemoryName(s string) bool {
	return strings.HasPrefix(s, "/anon_hugepage") || strings.HasPrefix(s, "/dev/zero") || strings.HasPrefix(s, "/SYSV")
}
