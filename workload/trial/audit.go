package trial

import (
	"fmt"
	"math"

	"pgtlb/probes"
)

// AuditLine is a cheap check of figures that must fit each other.
type AuditLine struct {
	Text string `json:"text"`
	OK   bool   `json:"ok"`
}

// auditLimit is how far two sides of an audit may be apart, in percent.
const auditLimit = 3

// Audit checks one run against itself: Little's law between clients, throughput
// and latency, and cycles against their user and kernel parts. What was not
// measured is not checked.
func Audit(a Arm) []AuditLine {
	var out []AuditLine
	tps, latency := a.Summary.Get(probes.TPS), a.Summary.Get(probes.LatencyMean)
	if n := clientsOf(a); tps.OK() && latency.OK() && n > 0 {
		busy := tps.Value * latency.Value / 1000
		above := "there are no more than that: the latencies are not of the same transactions, or not of the same time, as the TPS"
		if paced(a.Meta) {
			above = "there are no more than that: under a given rate latencies count from the scheduled start, and hold the wait for a free client"
		}
		out = append(out, auditLine(busy, float64(n),
			fmt.Sprintf("Little's law: TPS × mean latency = %s busy clients of %d", probes.Number(busy), n),
			"the clients also spent time outside transactions, or not all of them ran all the time", above))
	}
	user, kernel, all := a.Summary.Get(probes.CyclesUser), a.Summary.Get(probes.CyclesKernel), a.Summary.Get(probes.Cycles)
	if user.OK() && kernel.OK() && all.OK() {
		const otherwise = "the counter groups did not see the same work"
		sum := user.Value + kernel.Value
		out = append(out, auditLine(sum, all.Value,
			fmt.Sprintf("cycles: user + kernel = %s/s, counted together %s/s", probes.Short(sum), probes.Short(all.Value)),
			otherwise, otherwise))
	}
	return append(out, windowLines(a)...)
}

// windowLines tell where counters and load cover different times: per second they
// can be held against each other, in totals not.
func windowLines(a Arm) []AuditLine {
	if h := a.Meta.ByHand; h != nil {
		text := fmt.Sprintf("windows: %s of counters beside %s of load", Seconds(h.CounterWindowS), Seconds(h.LoadS))
		if h.CounterWindowS == h.LoadS {
			return []AuditLine{{Text: text, OK: true}}
		}
		return []AuditLine{{Text: text + ": only rates per second may be held against the load, and the rest of the load was not counted"}}
	}
	var out []AuditLine
	for _, id := range []string{probes.PageFaults, probes.ServerPageFaults, probes.CyclesUser, probes.CyclesKernel, probes.DTLBLoads} {
		if f := a.Summary.Get(id); f.OK() && f.Uncovered > 0 {
			out = append(out, AuditLine{Text: fmt.Sprintf("windows: %s cover %s of %s of load", metricTitle(id), Seconds(a.Summary.Seconds-f.Uncovered), Seconds(a.Summary.Seconds))})
		}
	}
	return out
}

// AuditPair checks two arms against each other: under a load that keeps the
// processors equally busy, user and kernel cycles per second of a CPU are a fixed
// budget, and TPS and mean latency of as many clients move against each other.
func AuditPair(base, cand Arm) []AuditLine {
	var out []AuditLine
	b, okB := cycleBudget(base)
	c, okC := cycleBudget(cand)
	if okB && okC {
		of := ""
		if base.Meta.Host.CPUs > 0 {
			of = " of a CPU"
		}
		const otherwise = "the two runs did not have the same share of the processors or were not measured alike"
		out = append(out, auditLine(c, b,
			fmt.Sprintf("cycle budget: user + kernel%s %s cycles/s against %s cycles/s", of, probes.Short(b), probes.Short(c)), otherwise, otherwise))
	}
	out = append(out, littlePair(base, cand)...)
	return append(out, pointsPair(base, cand)...)
}

// cycleBudget is user and kernel cycles together, per second of a CPU where the
// number of CPUs is known.
func cycleBudget(a Arm) (float64, bool) {
	u, k := a.Summary.Get(probes.CyclesUser), a.Summary.Get(probes.CyclesKernel)
	return (u.Value + k.Value) / float64(max(1, a.Meta.Host.CPUs)), u.OK() && k.OK()
}

// littlePair says what the change of TPS lets expect of the mean latency.
func littlePair(base, cand Arm) []AuditLine {
	bt, ct := base.Summary.Get(probes.TPS), cand.Summary.Get(probes.TPS)
	bl, cl := base.Summary.Get(probes.LatencyMean), cand.Summary.Get(probes.LatencyMean)
	if !bt.OK() || !ct.OK() || !bl.OK() || !cl.OK() || bt.Value <= 0 || ct.Value <= 0 || bl.Value <= 0 || clientsOf(base) != clientsOf(cand) {
		return nil
	}
	expected, seen := 100*(bt.Value/ct.Value-1), 100*(cl.Value/bl.Value-1)
	a := AuditLine{OK: math.Abs(expected-seen) <= auditLimit, Text: fmt.Sprintf(
		"Little's law: TPS from %s to %s, %s %%, with as many clients means mean latency %s %%; measured %s %%", probes.Number(bt.Value), probes.Number(ct.Value), signed(100*(ct.Value/bt.Value-1), 2), signed(expected, 2), signed(seen, 2))}
	if !a.OK {
		a.Text += ": the clients were not equally busy, or the two were not measured over the same time"
	}
	return []AuditLine{a}
}

// pointsPair says for shares that points are no percent, since the two are easily
// taken for each other.
func pointsPair(base, cand Arm) []AuditLine {
	var out []AuditLine
	for _, id := range []string{probes.DTLBMissPct, probes.WalkCyclesPct} {
		b, c := base.Summary.Get(id), cand.Summary.Get(id)
		if b.OK() && c.OK() && b.Value > 0 {
			out = append(out, AuditLine{OK: true, Text: fmt.Sprintf("%s: from %s %% to %s %% is %s percentage points, which is %s %% of what it was",
				metricTitle(id), probes.Number(b.Value), probes.Number(c.Value), signed(c.Value-b.Value, 2), signed(100*(c.Value/b.Value-1), 1))})
		}
	}
	return out
}

func clientsOf(a Arm) int {
	n := 0
	for _, l := range a.Meta.Loads {
		n += l.Clients
	}
	return n
}

// auditLine says whether two sides that must be equal are, and where one is too low or
// too high what that means.
func auditLine(got, want float64, text, low, high string) AuditLine {
	if want <= 0 {
		return AuditLine{Text: text, OK: got == want}
	}
	off := 100 * (got - want) / want
	text += fmt.Sprintf(" (%s %%)", signed(off, 1))
	switch {
	case off < -auditLimit:
		return AuditLine{Text: text + ": " + low}
	case off > auditLimit:
		return AuditLine{Text: text + ": " + high}
	}
	return AuditLine{Text: text, OK: true}
}
