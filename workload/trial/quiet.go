package trial

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pgtlb/probes"
)

// DisturbedPct is the share of all CPUs' time in percent above which something else
// that used them makes figures doubtful.
const DisturbedPct = 10

// notQuiet warns where other processes or the hypervisor took much of the CPUs beside
// the runs of an arm. Where they did so beside both arms alike nothing has changed
// between them, and the figures are those of a disturbed machine all the same.
func notQuiet(base, cand *armSet) []string {
	var out []string
	for _, cause := range []struct {
		what string
		of   func(*Run, Arm) (float64, bool)
		who  string
	}{
		{"other processes used at least", othersPct, busiest(base, cand)},
		{"the hypervisor took away", ofAllCPUs(probes.CPUSteal), ""},
	} {
		b, c := base.beside(cause.of), cand.beside(cause.of)
		if !disturbed(b) && !disturbed(c) {
			continue
		}
		out = append(out, fmt.Sprintf("this machine was not quiet: %s %s of the CPUs beside the runs of %s, %s beside those of %s (more than %d %% is much)%s; take the machine for yourself and repeat",
			cause.what, sharePct(b), base.name, sharePct(c), cand.name, DisturbedPct, cause.who))
	}
	return out
}

func disturbed(pct *float64) bool { return pct != nil && *pct > DisturbedPct }

func sharePct(pct *float64) string {
	if pct == nil {
		return "n/a"
	}
	return probes.Number(*pct) + " %"
}

// othersPct is what the five busiest other processes used beside a run, in percent of
// all CPUs' time: the others used more. It is not known where the server's own may be among them.
func othersPct(r *Run, a Arm) (float64, bool) {
	pct, ok := looked(busiestPct)(r, a)
	return pct / float64(max(1, a.Meta.Host.CPUs)), ok && a.Meta.Host.CPUs > 0 && a.Meta.Server.PostmasterPid != 0
}

// busiest names the processes that used most beside the runs of two arms: ", most of it
// rsync, cron".
func busiest(arms ...*armSet) string {
	const most = 3
	used := map[string]float64{}
	for _, m := range arms {
		for _, r := range m.runs {
			for _, b := range r.Background {
				for _, p := range b.Top {
					used[probes.Clean(p.Name)] += p.CPUPct
				}
			}
		}
	}
	names := keys(used, nil)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(used[b], used[a]) })
	if len(names) == 0 {
		return ""
	}
	return ", most of it " + strings.Join(names[:min(len(names), most)], ", ")
}
