package perf

import (
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// spareFiles are descriptors left to the rest of the program: connections, run files, the terminal.
const spareFiles = 256

// fitFiles gives up events, the least wanted first, until n targets fit into the descriptors there are.
func fitFiles(want []string, n, limit int) (keep []string, missing []Missing, err error) {
	need := n * len(want)
	room := limit
	if room == 0 {
		if room, err = roomFor(need); err != nil {
			return nil, nil, err
		}
	}
	order := slices.DeleteFunc(keepOrder(), func(id string) bool { return !slices.Contains(want, id) })
	fits := len(order)
	if n > 0 {
		fits = min(fits, room/n)
	}
	for _, id := range order[fits:] {
		missing = append(missing, Missing{ID: id, State: NotCounted, Files: true,
			Reason: fmt.Sprintf("%d file descriptors are needed for all events, there is room for %d", need, room),
			Remedy: fmt.Sprintf("ulimit -n %d, or LimitNOFILE=%d in the unit", need+2*spareFiles, need+2*spareFiles)})
	}
	return order[:fits], missing, nil
}

// roomFor returns how many descriptors may be used for events. It raises the soft limit to the hard one only when
// the need does not fit.
func roomFor(need int) (int, error) {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0, fmt.Errorf("counting open descriptors: %w", err)
	}
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		return 0, fmt.Errorf("reading the limit of descriptors: %w", err)
	}
	if room := roomIn(lim.Cur, len(open)); room >= need || lim.Cur >= lim.Max {
		return room, nil
	}
	lim.Cur = lim.Max
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		return 0, fmt.Errorf("raising the limit of descriptors: %w", err)
	}
	return roomIn(lim.Cur, len(open)), nil
}

// roomIn returns what a limit leaves for events.
func roomIn(limit uint64, open int) int {
	const enough = 1 << 20 // also stands for "unlimited"
	l := int(min(limit, enough))
	return max(0, l-open-min(spareFiles, l/2))
}
