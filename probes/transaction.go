package probes

import "time"

// PerTxn is a metric per transaction: a counter divided by the transactions of
// the same time.
type PerTxn struct {
	ID, Counter string
	Factor      float64 // of the counter's unit
}

// PerTransactions lists the metrics per transaction.
func PerTransactions() []PerTxn {
	return []PerTxn{
		{ServerPageFaultsPerTxn, ServerPageFaults, 1},
		{PageFaultsPerTxn, PageFaults, 1},
		{DTLBMissesPerTxn, DTLBLoadMisses, 1},
		{CyclesUserPerTxn, CyclesUser, 1},
		{CyclesKernelPerTxn, CyclesKernel, 1},
		{CPUUserPerTxn, CPUUser, 1e6},
		{CPUKernelPerTxn, CPUKernel, 1e6},
	}
}

// PerTransaction tells whether a metric is one per transaction.
func PerTransaction(id string) bool {
	for _, d := range PerTransactions() {
		if d.ID == id {
			return true
		}
	}
	return false
}

// Transacted says whose transactions the metrics per transaction of a frame are
// divided by: TPS for those of the load, ServerTPS for those of the whole server
// where no load of pgtlb's runs, "" where neither is known.
func (f *Frame) Transacted() string {
	for _, id := range []string{TPS, ServerTPS} {
		if _, ok := f.Values[Key{id, ""}]; ok {
			return id
		}
	}
	return ""
}

// transactions divides counters by the transactions of the interval.
func (m *maker) transactions() {
	by := m.frame.Transacted()
	if by == "" {
		return
	}
	done := m.frame.Values[Key{by, ""}]
	if by == ServerTPS && done.OK() && done.V < fewestPerSecond {
		done = Value{Missing: reasonAtRest}
	}
	for _, d := range PerTransactions() {
		if c, ok := m.frame.Values[Key{d.Counter, ""}]; ok {
			m.frame.Values[Key{d.ID, ""}] = perTransactionOf(c, done, d.Factor)
		}
	}
}

// fewestPerSecond transactions tell something about the server: pgtlb's own, some
// each second, are among them.
const fewestPerSecond = 20

const reasonAtRest = "too few transactions: pgtlb's own are most of them"

func perTransactionOf(c, done Value, factor float64) Value {
	switch {
	case !c.OK():
		return Value{Missing: c.Missing}
	case !done.OK():
		return Value{Missing: done.Missing}
	case done.V == 0:
		return Value{Missing: "no transaction ended in this interval"}
	case !alike(c.Elapsed, done.Elapsed):
		return Value{Missing: "counts and transactions were not read over the same interval"}
	}
	// The two probes were read some milliseconds apart: rates, not growths, are
	// divided. So it is over a longer time: not what the intervals add up to, since
	// some of them have no such figure, but the rates over that time.
	return Value{V: factor * c.V / done.V, Since: c.Since, Elapsed: c.Elapsed, RunningPct: c.RunningPct}
}

// alike tells whether two intervals differ by less than a tenth.
func alike(a, b time.Duration) bool { return (a-b).Abs()*10 <= max(a, b) }
