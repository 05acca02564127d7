package calibrate

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

// fewRounds is below how many identical runs their spread is not relied on.
const fewRounds = 5

// sentences are the verdict.
func (r *Report) sentences() []string {
	out := []string{}
	for i := range r.Driver {
		if a := &r.Driver[i]; a.TPSRatio != nil {
			out = append(out, r.driverText(a))
		}
	}
	if a := r.AA; a != nil && a.SpreadPct != nil {
		s := fmt.Sprintf("identical runs differ by up to %s %%: a smaller difference between two runs is not a result here", probes.Number(*a.SpreadPct))
		if n := len(a.Runs); n < fewRounds {
			s += fmt.Sprintf(" (%s of %d s: too few to rely on)", probes.Plural(n, "run"), r.Seconds)
		}
		out = append(out, s)
	}
	if p := r.Probes; p != nil && p.CostPct != nil {
		s := r.costText(p)
		if p.OwnCPU != nil {
			s += "; the probes take " + r.ownText(*p.OwnCPU) + " of one CPU in pgtlb itself"
		}
		out = append(out, s)
	}
	if r.Interrupted {
		out = append(out, "interrupted: these are the rounds that were complete")
	}
	return out
}

// driverText compares the driver with pgbench.
func (r *Report) driverText(a *Against) string {
	s := fmt.Sprintf("pgtlb's driver reaches %s of pgbench's TPS", ratio(*a.TPSRatio, len(a.Pairs)))
	if a.CPURatio != nil {
		s += fmt.Sprintf(" at %s of its client CPU", ratio(*a.CPURatio, len(a.Pairs)))
	}
	s += ": " + a.Setting.String()
	pct := func(v float64) float64 { return 100 * (v - 1) }
	if r.inNoise(a.Setting, Spread{pct(a.TPSRatio.Median), pct(a.TPSRatio.Least), pct(a.TPSRatio.Most)}) {
		s += "; its TPS are not distinguishable from pgbench's here" + r.noise(a.Setting)
	}
	return s
}

// costText says what watching costs. A cost below 0 is not possible, so it is
// noise and not a gain.
func (r *Report) costText(w *Watching) string {
	c := *w.CostPct
	interval := fmt.Sprintf("%s..%s %%", percent(c.Least), percent(c.Most))
	if len(w.Pairs) == 1 {
		interval = percent(c.Median) + " %, one round"
	}
	if c.Least <= 0 || r.inNoise(w.Setting, c) {
		return "what watching costs in TPS is not distinguishable from 0 here: " + interval + r.noise(w.Setting)
	}
	if len(w.Pairs) == 1 {
		return fmt.Sprintf("watching costs %s %% of TPS (one round)", percent(c.Median))
	}
	return fmt.Sprintf("watching costs %s %% of TPS (%s)", percent(c.Median), interval)
}

// ownText is what the probes take, or a bound where that is within what the
// figures differ by of themselves.
func (r *Report) ownText(own Spread) string {
	resolution := 100 * cpuTick.Seconds() / float64(max(1, r.Seconds))
	if own.Median >= resolution && own.Least > 0 {
		return two(&own.Median) + " %"
	}
	bound := math.Ceil(100*max(resolution, math.Abs(own.Least), math.Abs(own.Most))) / 100
	return "less than " + two(&bound) + " %"
}

// cpuTick is how far the CPU time of a process may be behind: the kernel adds that
// of running threads with the timer's tick, 10 ms where it is longest.
const cpuTick = 10 * time.Millisecond

// floor is what identical runs of a setting differ by, in percent; nil where it was
// not measured.
func (r *Report) floor(s Setting) *float64 {
	if r.AA == nil || r.AA.Setting != s {
		return nil
	}
	return r.AA.SpreadPct
}

// inNoise tells whether all of a difference, in percent, is one that identical
// runs have too.
func (r *Report) inNoise(s Setting, d Spread) bool {
	f := r.floor(s)
	return f != nil && -*f <= d.Least && d.Most <= *f
}

// noise names the floor in brackets.
func (r *Report) noise(s Setting) string {
	f := r.floor(s)
	if f == nil {
		return ""
	}
	return fmt.Sprintf(" (identical runs differ by up to %s %%)", probes.Number(*f))
}

// ratio writes a spread of ratios over n rounds: "1.03 (0.98..1.07)".
func ratio(s Spread, n int) string {
	if n == 1 {
		return fmt.Sprintf("%.2f (one round)", s.Median)
	}
	return fmt.Sprintf("%.2f (%.2f..%.2f)", s.Median, s.Least, s.Most)
}

// percent keeps one decimal, with the minus sign of texts and no minus before 0.
func percent(v float64) string {
	text := strconv.FormatFloat(math.Abs(v), 'f', 1, 64)
	if v < 0 && text != "0.0" {
		return probes.Minus + text
	}
	return text
}

// String is "8 clients, 1 thread, prepared".
func (s Setting) String() string {
	return probes.Plural(s.Clients, "client") + ", " + probes.Plural(s.Threads, "thread") + ", " + s.Mode
}

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
			if v := cause.value(a); v != nil && *v > trial.DisturbedPct {
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
			part, cause.what, trial.DisturbedPct, word, strings.Join(which, ", "), percent(most)))
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
