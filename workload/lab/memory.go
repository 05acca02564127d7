package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pgtlb/probes"
)

// Roots are where the kernel's files are; the zero value is this machine. Tests put fixtures there.
type Roots = probes.Roots

// memory is what a lab needs of /proc/meminfo, in bytes; HugepageKB is the default huge page size, 0 where there is none.
type memory struct {
	Total, Available int64
	HugepageKB       int
}

// readMemory reads /proc/meminfo and lowers Available to what the tightest memory cgroup leaves.
func readMemory(r Roots) (memory, error) {
	info, err := probes.ReadMeminfo(r)
	if err != nil {
		return memory{}, fmt.Errorf("reading the memory size: %w", err)
	}
	if info.MemAvailable == nil {
		return memory{}, errors.New("reading the memory size: /proc/meminfo lacks MemAvailable")
	}
	m := memory{Total: int64(*info.MemTotal) << 10, Available: int64(*info.MemAvailable) << 10}
	if info.Hugepagesize != nil {
		m.HugepageKB = int(*info.Hugepagesize)
	}
	if left, ok := cgroupMemoryLeft(r); ok && left < m.Available {
		m.Available = left
	}
	return m, nil
}

// cgroupFiles names the files of one limit in both versions of cgroups.
type cgroupFiles struct {
	controller         string // of version 1, also its folder
	limit, usage       string // version 2
	oldLimit, oldUsage string // version 1
}

func cgroupMemoryLeft(r Roots) (int64, bool) {
	return cgroupLeft(r, cgroupFiles{"memory", "memory.max", "memory.current", "memory.limit_in_bytes", "memory.usage_in_bytes"})
}

// cgroupHugetlbLeft is what the cgroup lets a server take of one huge page size, in bytes. Two limits count: one when the
// memory is mapped, the other when it is first touched, and going over that one is a SIGBUS.
func cgroupHugetlbLeft(r Roots, size Pages) (int64, bool) {
	name := "hugetlb." + size.String()
	left, found := cgroupLeft(r, cgroupFiles{"hugetlb", name + ".max", name + ".current", name + ".limit_in_bytes", name + ".usage_in_bytes"})
	rsvd, also := cgroupLeft(r, cgroupFiles{"hugetlb", name + ".rsvd.max", name + ".rsvd.current", name + ".rsvd.limit_in_bytes", name + ".rsvd.usage_in_bytes"})
	if also && (!found || rsvd < left) {
		return rsvd, true
	}
	return left, found
}

// cgroupLeft is limit less usage, in bytes, of the tightest level of our own cgroup, version 2 or 1; false where nothing
// limits.
func cgroupLeft(r Roots, files cgroupFiles) (left int64, found bool) {
	b, err := os.ReadFile(r.ProcPath("self", "cgroup"))
	if err != nil {
		return 0, false
	}
	for _, line := range strings.Split(string(b), "\n") {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) != 3 {
			continue
		}
		base, limit, usage := r.SysPath("fs/cgroup"), files.limit, files.usage
		if parts[0] != "0" || parts[1] != "" { // a hierarchy of version 1, with its controllers listed
			if !slices.Contains(strings.Split(parts[1], ","), files.controller) {
				continue
			}
			base, limit, usage = r.SysPath("fs/cgroup", files.controller), files.oldLimit, files.oldUsage
		}
		// In a container the path may name levels that are not mounted here: those files are missing and do not count.
		for dir := filepath.Clean("/" + parts[2]); ; dir = filepath.Dir(dir) {
			lim, err1 := readInt(filepath.Join(base, dir, limit)) // "max" is not a number: no limit
			use, err2 := readInt(filepath.Join(base, dir, usage))
			if err1 == nil && err2 == nil && (!found || lim-use < left) {
				left, found = max(lim-use, 0), true
			}
			if dir == "/" {
				break
			}
		}
	}
	return left, found
}

func readInt(path string) (int64, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
}

// maxDefaultBuffers bounds the shared_buffers a lab takes when nobody says how much.
const maxDefaultBuffers = 2 << 30

// defaultBuffers is a quarter of the available memory, 2 GB at most, in whole MB and at least 16 MB.
func defaultBuffers(m memory) int64 {
	n := min(m.Available/4, maxDefaultBuffers)
	return max(n>>20<<20, 16<<20)
}

// checkBuffers refuses shared buffers that cannot fit. With huge pages the memory may already sit in a pool, which
// MemAvailable does not count, so there only the size of the machine is the limit.
func checkBuffers(size int64, p Pages, m memory) error {
	limit, what := m.Available, "available on this machine"
	if p != Pages4kB {
		limit, what = m.Total, "in this machine"
	}
	if size <= limit {
		return nil
	}
	return fmt.Errorf("shared_buffers of %s do not fit into the %s of memory %s; take less", formatBytes(size), formatBytes(limit), what)
}
