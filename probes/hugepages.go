package probes

import (
	"fmt"
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
	return openSource("hugepages", wanted, func() ([]Reading, []Miss, error) {
		pools, err := ReadPools(roots)
		if err != nil {
			return nil, nil, err
		}
		return poolReadings(pools), nil, nil
	})
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
	dir := roots.SysPath("kernel/mm/hugepages")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, unreadable(dir, err, "the kernel has no explicit huge pages (CONFIG_HUGETLBFS), or /sys is not mounted")
	}
	var pools []Pool
	for _, e := range entries {
		kb, ok := parsePoolName(e.Name())
		if !ok {
			continue
		}
		p, err := ReadPool(roots, kb)
		if err != nil {
			return nil, err
		}
		pools = append(pools, p)
	}
	if len(pools) == 0 {
		return nil, &Unavailable{What: dir, State: NotThere, Reason: "this kernel offers no huge page size"}
	}
	slices.SortFunc(pools, func(a, b Pool) int { return a.PageKB - b.PageKB })
	return pools, nil
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
	dir := PoolDir(roots, pageKB)
	p := Pool{PageKB: pageKB}
	for _, f := range []struct {
		name string
		into *int
	}{
		{"nr_hugepages", &p.Total},
		{"free_hugepages", &p.Free},
		{"resv_hugepages", &p.Reserved},
		{"surplus_hugepages", &p.Surplus},
	} {
		path := filepath.Join(dir, f.name)
		b, err := os.ReadFile(path)
		if err != nil {
			return p, unreadable(path, err, "")
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil || n < 0 {
			return p, fmt.Errorf("reading %s: %q is not a number of pages", path, strings.TrimSpace(string(b)))
		}
		*f.into = n
	}
	return p, nil
}
