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
	clients := 0
	for _, l := range a.Meta.Loads {
		clients += l.Clients
	}
	if tps.OK() && latency.OK() && clients > 0 {
		busy := tps.Value * latency.Value / 1000
		out = append(out, auditLine(busy, float64(clients),
			fmt.Sprintf("Little's law: TPS × mean latency = %s busy clients of %d", probes.Number(busy), clients),
			"the clients also spent time outside transactions, or not all of them ran all the time"))
	}
	user, kernel, all := a.Summary.Get(probes.CyclesUser), a.Summary.Get(probes.CyclesKernel), a.Summary.Get(probes.Cycles)
	if user.OK() && kernel.OK() && all.OK() {
		sum := user.Value + kernel.Value
		out = append(out, auditLine(sum, all.Value,
			fmt.Sprintf("cycles: user + kernel = %s/s, counted together %s/s", probes.Short(sum), probes.Short(all.Value)),
			"the counter groups did not see the same work"))
	}
	return out
}

// AuditPair checks two runs against each other: under a load that keeps the
// processors equally busy, user and kernel cycles together are a fixed budget.
func AuditPair(base, cand Arm) []AuditLine {
	sum := func(a Arm) (float64, bool) {
		u, k := a.Summary.Get(probes.CyclesUser), a.Summary.Get(probes.CyclesKernel)
		return u.Value + k.Value, u.OK() && k.OK()
	}
	b, okB := sum(base)
	c, okC := sum(cand)
	if !okB || !okC {
		return nil
	}
	return []AuditLine{auditLine(c, b,
		fmt.Sprintf("cycle budget: user + kernel cycles %s/s against %s/s", probes.Short(b), probes.Short(c)),
		"the two runs did not have the same share of the processors or were not measured alike")}
}

func auditLine(got, want float64, text, otherwise string) AuditLine {
	if want <= 0 {
		return AuditLine{Text: text, OK: got == want}
	}
	off := 100 * (got - want) / want
	text += fmt.Sprintf(" (%s %%)", signed(off, 1))
	if math.Abs(off) > auditLimit {
		return AuditLine{Text: text + ": " + otherwise}
	}
	return AuditLine{Text: text, OK: true}
}
