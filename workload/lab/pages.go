package lab

import (
	"fmt"
	"strconv"
	"strings"

	"pgtlb/probes"
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
var ErrNoMapping = probes.ErrNoSharedMapping

// Verify reads the page size of the shared memory from /proc/PID/smaps of the postmaster. It works for any server whose
// smaps may be read: same uid, or CAP_SYS_PTRACE.
func Verify(r Roots, pid int) (Proof, error) {
	p, err := probes.ProvePages(r, pid)
	if err != nil {
		return Proof{}, fmt.Errorf("proving the page size: %w", err)
	}
	return Proof{
		Mode: Pages(p.PageKB), SizeKB: int64(p.SizeKB), THPKB: int64(p.THPKB), Mapping: p.Mapping,
		PageText: fmt.Sprintf("smaps: KernelPageSize %d kB of the shared memory mapping", p.PageKB),
	}, nil
}
