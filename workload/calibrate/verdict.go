package calibrate

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

// sentences are the verdict.
func (r *Report) sentences() []string {
	out := []string{}
	for _, a := range r.Driver {
		if a.TPSRatio == nil {
			continue
		}
		s := fmt.Sprintf("pgtlb's driver reaches %s of pgbench's TPS", ratio(*a.TPSRatio))
		if a.CPURatio != nil {
			s += fmt.Sprintf(" at %s of its client CPU", ratio(*a.CPURatio))
		}
		out = append(out, s+": "+a.Setting.String())
	}
	if a := r.AA; a != nil && a.SpreadPct != nil {
		out = append(out, fmt.Sprintf("identical runs differ by up to %s %%: a smaller difference between two runs is not a result here",
			trial.Number(*a.SpreadPct)))
	}
	if p := r.Probes; p != nil && p.CostPct != nil {
		c := *p.CostPct
		s := fmt.Sprintf("watching costs %s %% of TPS (%s..%s %%)", percent(c.Median), percent(c.Least), percent(c.Most))
		if c.Least <= 0 && c.Most >= 0 && len(p.Pairs) > 1 {
			s += ": not in every round, so no cost is told from noise"
		}
		if p.OwnCPU != nil {
			s += fmt.Sprintf("; the probes take %s %% of one CPU in pgtlb itself", two(&p.OwnCPU.Median))
		}
		out = append(out, s)
	}
	if r.Interrupted {
		out = append(out, "interrupted: these are the rounds that were complete")
	}
	return out
}

// ratio writes a spread of ratios: "1.03 (0.98..1.07)".
func ratio(s Spread) string { return fmt.Sprintf("%.2f (%.2f..%.2f)", s.Median, s.Least, s.Most) }

// percent keeps one decimal, with the minus sign of texts and no minus before 0.
func percent(v float64) string {
	text := strconv.FormatFloat(math.Abs(v), 'f', 1, 64)
	if v < 0 && text != "0.0" {
		return trial.Minus + text
	}
	return text
}

// String is "8 clients, 1 thread, prepared".
func (s Setting) String() string {
	return trial.Plural(s.Clients, "client") + ", " + trial.Plural(s.Threads, "thread") + ", " + s.Mode
}

// disturbedPct is the share of all CPUs' time above which something else that
// used them makes a round doubtful.
const disturbedPct = 10

// warn lists the disturbed rounds of each part.
func (r *Report) warn() {
	for _, a := range r.Driver {
		r.warnOf("driver, "+a.Setting.String(), around(a.Pairs, func(p DriverPair) Around { return p.Around }))
	}
	if r.AA != nil {
		r.warnOf("identical runs", around(r.AA.Runs, func(x IdenticalRun) Around { return x.Around }))
	}
	if r.Probes != nil {
		r.warnOf("probes", around(r.Probes.Pairs, func(p WatchPair) Around { return p.Around }))
	}
}

func around[T any](list []T, of func(T) Around) []Around {
	var out []Around
	for _, x := range list {
		out = append(out, of(x))
	}
	return out
}

func (r *Report) warnOf(part string, rounds []Around) {
	for _, cause := range []struct {
		what  string
		value func(Around) *float64
	}{
		{"other processes used", func(a Around) *float64 { return a.Other }},
		{"the hypervisor took away", func(a Around) *float64 { return a.Steal }},
	} {
		var which []string
		most := 0.0
		for i, a := range rounds {
			if v := cause.value(a); v != nil && *v > disturbedPct {
				which = append(which, strconv.Itoa(i+1))
				most = max(most, *v)
			}
		}
		if len(which) == 0 {
			continue
		}
		word := "round"
		if len(which) > 1 {
			word = "rounds"
		}
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s: %s more than %d %% of the CPUs in %s %s (%s %% at most): take the machine for yourself and repeat",
			part, cause.what, disturbedPct, word, strings.Join(which, ", "), percent(most)))
	}
}

// lack says why figures are missing that every part should have.
func (r *Report) lack() {
	if r.AA != nil && r.AA.SpreadPct == nil {
		r.Unavailable = append(r.Unavailable, probes.Miss{ID: "aa", Reason: "fewer than two identical runs have no spread", Remedy: "give --rounds 2 or more"})
	}
	if r.Probes != nil && r.Probes.OwnCPU == nil && len(r.Probes.Pairs) > 0 {
		r.Unavailable = append(r.Unavailable, probes.Miss{ID: "probes.own_cpu_pct", Reason: "the CPU time of the driver's threads was not measured"})
	}
}
