package perf

import (
	"fmt"
	"strconv"
	"strings"
)

// maxCPUs bounds a CPU list; the kernel's own limit (CONFIG_NR_CPUS) is 8192.
const maxCPUs = 8192

// parseCPUList reads the kernel's list format, "0-3,8".
func parseCPUList(s string) ([]int, error) {
	var out []int
	for part := range strings.SplitSeq(strings.TrimSpace(s), ",") {
		lo, hi, ranged := strings.Cut(part, "-")
		a, err := strconv.Atoi(lo)
		if err != nil {
			return nil, fmt.Errorf("parsing CPU list %q: %w", s, err)
		}
		b := a
		if ranged {
			if b, err = strconv.Atoi(hi); err != nil {
				return nil, fmt.Errorf("parsing CPU list %q: %w", s, err)
			}
		}
		if a < 0 || b < a || b >= maxCPUs {
			return nil, fmt.Errorf("parsing CPU list %q: bad range", s)
		}
		for c := a; c <= b; c++ {
			out = append(out, c)
		}
	}
	return out, nil
}
