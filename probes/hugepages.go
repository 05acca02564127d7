package probes

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// openHugePages offers the explicit huge page pool of every size that the
// kernel has, not only of the default size.
func openHugePages(roots Roots) (Probe, []Miss) {
	wanted := metricsOf(HugetlbUsed, PoolTotal, PoolFree, PoolReserved, PoolSurplus)
	open, err := openPools(roots)
	var files []*kernelFile
	for _, p := range open {
		files = append(files, p.files[:]...)
	}
	return openSource("hugepages", wanted, func() ([]Reading, []Miss, error) {
		if err != nil {
			return nil, nil, err
		}
		var pools []Pool
		for _, p := range open {
			pool, err := p.read()
			if err != nil {
				return nil, nil, err
			}
			pools = append(pools, pool)
		}
		return poolReadings(pools), nil, nil
	}, files...)
}

func poolReadings(pools []Pool) []Reading {
	var used float64
	var out []Reading
	for _, p := range pools {
		label := PoolLabel(p.PageKB)
		used += float64(p.Touched()) * float64(p.PageKB)
		out = append(out,
			Reading{ID: PoolTotal, Label: label, Value: float64(p.Total)},
			Reading{ID: PoolFree, Label: label, Value: float64(p.Free)},
			Reading{ID: PoolReserved, Label: label, Value: float64(p.Reserved)},
			Reading{ID: PoolSurplus, Label: label, Value: float64(p.Surplus)})
	}
	return append(out, Reading{ID: HugetlbUsed, Value: used})
}

// PoolLabel is the label of the readings of the pool with this page size, as
// sysfs spells it: "2048kB".
func PoolLabel(pageKB int) string { return strconv.Itoa(pageKB) + "kB" }

// ReadPools returns the explicit huge page pool of every size, smallest first.
// The error wraps ErrUnavailable where the kernel has none.
func ReadPools(roots Roots) ([]Pool, error) {
	open, err := openPools(roots)
	if err != nil {
		return nil, err
	}
	var pools []Pool
	for _, p := range open {
		pool, err := ReadPool(roots, p.pageKB)
		if err != nil {
			return nil, err
		}
		pools = append(pools, pool)
	}
	return pools, nil
}

// openPools finds the pools, smallest page first. Sizes do not come and go while a
// kernel runs.
func openPools(roots Roots) ([]poolFiles, error) {
	dir := roots.SysPath("kernel/mm/hugepages")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, unreadable(dir, err, "the kernel has no explicit huge pages (CONFIG_HUGETLBFS), or /sys is not mounted")
	}
	var pools []poolFiles
	for _, e := range entries {
		if kb, ok := parsePoolName(e.Name()); ok {
			pools = append(pools, poolFilesOf(roots, kb))
		}
	}
	if len(pools) == 0 {
		return nil, &Unavailable{What: dir, State: NotThere, Reason: "this kernel offers no huge page size"}
	}
	slices.SortFunc(pools, func(a, b poolFiles) int { return a.pageKB - b.pageKB })
	return pools, nil
}

// poolFiles are the files of one pool: total, free, reserved and surplus pages.
type poolFiles struct {
	pageKB int
	files  [4]*kernelFile
}

func poolFilesOf(roots Roots, pageKB int) poolFiles {
	p := poolFiles{pageKB: pageKB}
	for i, name := range []string{"nr_hugepages", "free_hugepages", "resv_hugepages", "surplus_hugepages"} {
		p.files[i] = &kernelFile{path: filepath.Join(PoolDir(roots, pageKB), name)}
	}
	return p
}

// read reads the pool and leaves the files open.
func (p poolFiles) read() (Pool, error) {
	pool := Pool{PageKB: p.pageKB}
	for i, into := range []*int{&pool.Total, &pool.Free, &pool.Reserved, &pool.Surplus} {
		f := p.files[i]
		b, err := f.read()
		if err != nil {
			return pool, unreadable(f.path, err, "")
		}
		text := bytes.TrimSpace(b)
		n, ok := parseDecimal(text)
		if !ok || n > math.MaxInt32 {
			return pool, fmt.Errorf("reading %s: %q is not a number of pages", f.path, text)
		}
		*into = int(n)
	}
	return pool, nil
}

// parsePoolName takes the page size in kB from a name like "hugepages-2048kB".
func parsePoolName(name string) (int, bool) {
	s, ok := strings.CutPrefix(name, "hugepages-")
	if !ok {
		return 0, false
	}
	s, ok = strings.CutSuffix(s, "kB")
	if !ok {
		return 0, false
	}
	n, ok := parseDecimal([]byte(s))
	if !ok || n == 0 || n > 1<<40 {
		return 0, false
	}
	return int(n), true
}

// PoolDir is where sysfs shows the pool of huge pages of one size.
func PoolDir(roots Roots, pageKB int) string {
	return roots.SysPath("kernel/mm/hugepages", "hugepages-"+PoolLabel(pageKB))
}

// ReadPool returns the explicit huge page pool of one size. The error wraps
// ErrUnavailable where the machine has none of that size.
func ReadPool(roots Roots, pageKB int) (Pool, error) {
	files := poolFilesOf(roots, pageKB)
	pool, err := files.read()
	for _, f := range files.files {
		err = errors.Join(err, f.close())
	}
	return pool, err
}
