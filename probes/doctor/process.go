package doctor

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strconv"
	"strings"

	"pgtlb/probes"
)

// Process is one process as the kernel shows it to everybody. Its command line is
// left out: it may hold secrets.
type Process struct {
	Pid    int    `json:"pid"`
	Parent int    `json:"parent"`
	UID    int    `json:"uid"` // effective
	Name   string `json:"name"`
	// Score is oom_score: of two processes the kernel kills the one with more.
	// Adjust is oom_score_adj, from −1000 (never) to 1000 (first).
	Score  int    `json:"oom_score"`
	Adjust int    `json:"oom_score_adj"`
	RSSKB  uint64 `json:"rss_kb"`
	SwapKB uint64 `json:"swap_kb"`
}

// Processes are those that checks speak of.
type Processes struct {
	Visible    int       `json:"visible"` // how many processes were seen
	Postmaster *Process  `json:"postmaster,omitempty"`
	Children   Children  `json:"children"`
	First      []Process `json:"first,omitempty"` // with the highest oom_score, at most five
}

// Children sums up the postmaster's children.
type Children struct {
	Count     int    `json:"count"`
	MinAdjust int    `json:"min_oom_score_adj"`
	MaxAdjust int    `json:"max_oom_score_adj"`
	SwapKB    uint64 `json:"swap_kb"`
}

// shownFirst is how many of the processes that would be killed first are kept.
const shownFirst = 5

// lookAtEveryProcess reads every process that can be seen, until ctx ends.
func lookAtEveryProcess(ctx context.Context, f files, postmaster int) Processes {
	var out Processes
	pids, err := probes.ListPids(f.tree.Roots())
	if err != nil {
		f.s.unread("/proc", err)
		return out
	}
	var all []Process
	for _, pid := range pids {
		if ctx.Err() != nil {
			break
		}
		p, ok := lookAtProcess(f.tree, pid)
		if !ok {
			continue // it has ended, or is hidden
		}
		out.Visible++
		if p.RSSKB > 0 {
			all = append(all, p)
		}
		switch {
		case postmaster == 0:
		case pid == postmaster:
			out.Postmaster = &p
		case p.Parent == postmaster:
			out.Children.add(p)
		}
	}
	slices.SortFunc(all, func(a, b Process) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Pid, b.Pid)) })
	out.First = all[:min(shownFirst, len(all))]
	return out
}

func (c *Children) add(p Process) {
	if c.Count == 0 {
		c.MinAdjust, c.MaxAdjust = p.Adjust, p.Adjust
	}
	c.Count++
	c.MinAdjust, c.MaxAdjust = min(c.MinAdjust, p.Adjust), max(c.MaxAdjust, p.Adjust)
	c.SwapKB += p.SwapKB
}

// lookAtProcess reads one process. That one cannot be read is not noted: processes
// end at any time.
func lookAtProcess(t Tree, pid int) (Process, bool) {
	read := func(name string) string {
		b, err := os.ReadFile(t.Roots().ProcPath(strconv.Itoa(pid), name))
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(b))
	}
	p, ok := parseStatus(read("status"))
	if !ok || p.RSSKB == 0 { // the kernel's own threads cannot be killed
		return p, ok
	}
	score, err := strconv.Atoi(read("oom_score"))
	if err != nil {
		return Process{}, false
	}
	p.Score = score
	p.Adjust, err = strconv.Atoi(read("oom_score_adj"))
	return p, err == nil
}

// parseStatus reads /proc/PID/status.
func parseStatus(text string) (Process, bool) {
	var p Process
	var found int
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		f := strings.Fields(value)
		if len(f) == 0 {
			continue
		}
		n, err := strconv.ParseUint(f[0], 10, 63)
		switch key {
		case "Name":
			p.Name = probes.Clean(strings.TrimSpace(value))
			continue
		case "Pid", "PPid", "Uid", "VmRSS", "VmSwap":
			if err != nil {
				return Process{}, false
			}
		}
		switch key {
		case "Pid":
			p.Pid = int(n)
			found++
		case "PPid":
			p.Parent = int(n)
			found++
		case "Uid":
			if len(f) < 2 {
				return Process{}, false
			}
			if p.UID, err = strconv.Atoi(f[1]); err != nil {
				return Process{}, false
			}
			found++
		case "VmRSS":
			p.RSSKB = n
		case "VmSwap":
			p.SwapKB = n
		}
	}
	return p, found == 3 && p.Pid > 0
}
