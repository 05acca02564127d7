package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// Pool is the machine's pool of one huge page size, in pages, as sysfs shows it at one moment.
type Pool struct {
	Size                           Pages
	Total, Free, Reserved, Surplus int
}

// Available are the pages a new server could take: free alone also counts pages that are promised to running ones.
func (p Pool) Available() int { return max(p.Free-p.Reserved, 0) }

// inUse are the pages that hold memory or are promised to somebody.
func (p Pool) inUse() int { return p.Total - p.Free + p.Reserved }

// ErrNoPool says that this machine has no huge pages of that size.
var ErrNoPool = errors.New("huge pages of this size are not available on this machine")

func poolDir(r Roots, size Pages) string {
	return r.sys("kernel/mm/hugepages", "hugepages-"+strconv.Itoa(size.KB())+"kB")
}

// ReadPool reads the pool of one size. The error is ErrNoPool where the machine has no such size.
func ReadPool(r Roots, size Pages) (Pool, error) {
	p, dir := Pool{Size: size}, poolDir(r, size)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return p, fmt.Errorf("%w: there is no %s; 1GB pages need a CPU with pdpe1gb, and containers may hide them", ErrNoPool, dir)
	}
	for name, to := range map[string]*int{"nr_hugepages": &p.Total, "free_hugepages": &p.Free, "resv_hugepages": &p.Reserved, "surplus_hugepages": &p.Surplus} {
		n, err := readInt(filepath.Join(dir, name))
		if err != nil {
			return p, fmt.Errorf("reading the %s huge page pool: %w", size, err)
		}
		*to = int(n)
	}
	return p, nil
}

// persistent is the number an administrator set; the kernel adds surplus pages to nr_hugepages on its own.
func (p Pool) persistent() int { return p.Total - p.Surplus }

// setPool asks for n persistent pages and tells what it became: the write succeeds even when memory is short.
func setPool(r Roots, size Pages, n int) (Pool, error) {
	path := filepath.Join(poolDir(r, size), "nr_hugepages")
	if err := os.WriteFile(path, []byte(strconv.Itoa(n)), 0o644); err != nil {
		return Pool{}, fmt.Errorf("changing the %s huge page pool: %w", size, err)
	}
	return ReadPool(r, size)
}

// minLeft is the memory that must stay available when a pool grows: 10 % of the machine, at least 512 MB. A pool that
// took everything has made machines unreachable.
func minLeft(total int64) int64 { return max(total/10, 512<<20) }

// checkRoom refuses to grow a pool by extra pages when too little ordinary memory would be left.
func checkRoom(size Pages, extra int, m memory) error {
	want := int64(extra) * size.Bytes()
	if left := m.Available - want; left < minLeft(m.Total) {
		return fmt.Errorf("reserving %d pages of %s (%s) would leave %s of ordinary memory, and at least %s must stay; use smaller --shared-buffers",
			extra, size, formatBytes(want), formatBytes(max(left, 0)), formatBytes(minLeft(m.Total)))
	}
	return nil
}
