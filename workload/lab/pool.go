package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"pgtlb/probes"
)

// Pool is the machine's pool of one huge page size, in pages, as sysfs shows it at one moment.
type Pool = probes.Pool

// ErrNoPool says that this machine has no huge pages of that size.
var ErrNoPool = errors.New("huge pages of this size are not available on this machine")

// ReadPool reads the pool of one size. The error is ErrNoPool where the machine has no such size.
func ReadPool(r Roots, size Pages) (Pool, error) {
	dir := probes.PoolDir(r, size.KB())
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return Pool{}, fmt.Errorf("%w: there is no %s; 1GB pages need a CPU with pdpe1gb, and containers may hide them", ErrNoPool, dir)
	}
	p, err := probes.ReadPool(r, size.KB())
	if err != nil {
		return Pool{}, fmt.Errorf("reading the %s huge page pool: %w", size, err)
	}
	return p, nil
}

// setPool asks for n persistent pages and tells what it became: the write succeeds even when memory is short.
func setPool(r Roots, size Pages, n int) (Pool, error) {
	path := filepath.Join(probes.PoolDir(r, size.KB()), "nr_hugepages")
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
