package probes

import (
	"testing"
	"time"
)

// 300 faults, 40 M cycles and 0.2 s of CPU time in a second in which 50 transactions of the load ended; the server
// counts 60.
func TestPerTransactionOfTheLoad(t *testing.T) {
	host := func(faults, cycles, cpu, commits float64) []Batch {
		return []Batch{
			{Probe: "host", Readings: []Reading{{ID: PageFaults, Value: faults}, {ID: CyclesUser, Value: cycles}, {ID: CPUKernel, Value: cpu}}},
			{Probe: "database", Readings: []Reading{{ID: Commits, Value: commits}, {ID: Rollbacks, Value: 0}}},
		}
	}
	load := func(n float64) Batch {
		return Batch{Probe: "load:a", Readings: []Reading{{ID: Transactions, Label: "a", Value: n}}}
	}
	p, c := pair(Batch{}, Batch{})
	p.Batches, c.Batches = append(host(100, 1e6, 3, 1000), load(10)), append(host(400, 41e6, 3.2, 1060), load(60))
	f := derive(p, c)
	if got := f.Transacted(); got != TPS {
		t.Errorf("transactions of %q", got)
	}
	for id, want := range map[string]float64{PageFaultsPerTxn: 6, CyclesUserPerTxn: 8e5, CPUKernelPerTxn: 4000} {
		if v := f.Get(id); !v.OK() || !near(v.V, want) {
			t.Errorf("%s: %+v, want %v", id, v, want)
		}
	}
	if v := f.Get(DTLBMissesPerTxn); v.OK() {
		t.Errorf("dTLB misses that were not counted: %+v", v)
	}
	p.Batches, c.Batches = host(100, 1e6, 3, 1000), host(400, 41e6, 3.2, 1060)
	f = derive(p, c)
	if v := f.Get(PageFaultsPerTxn); f.Transacted() != ServerTPS || !near(v.V, 5) {
		t.Errorf("without a load, of %q: %+v, want 5", f.Transacted(), v)
	}
}

func TestPerTransactionIsRefused(t *testing.T) {
	at := func(v, delta float64, elapsed time.Duration) Value {
		return Value{V: v, Delta: delta, Elapsed: elapsed}
	}
	for name, c := range map[string]struct{ counter, done Value }{
		"no transaction":   {at(9, 9, time.Second), at(0, 0, time.Second)},
		"no count":         {Value{Missing: reasonBackwards}, at(9, 9, time.Second)},
		"no transactions":  {at(9, 9, time.Second), Value{Missing: "late"}},
		"another interval": {at(9, 18, 2*time.Second), at(9, 9, time.Second)},
	} {
		if v := perTransactionOf(c.counter, c.done, 1); v.OK() {
			t.Errorf("%s: %+v", name, v)
		}
	}
	if v := perTransactionOf(at(9, 9, time.Second), at(3, 3, 990*time.Millisecond), 1); !near(v.V, 3) {
		t.Errorf("probes read some milliseconds apart: %+v", v)
	}
}

// At rest pgtlb's own statements are most of what the server does: a figure per transaction would be that of pgtlb.
func TestPerTransactionNeedsTransactions(t *testing.T) {
	batches := func(faults, commits float64) []Batch {
		return []Batch{{Probe: "host", Readings: []Reading{{ID: PageFaults, Value: faults}}},
			{Probe: "database", Readings: []Reading{{ID: Commits, Value: commits}, {ID: Rollbacks, Value: 0}}}}
	}
	p, c := pair(Batch{}, Batch{})
	p.Batches, c.Batches = batches(0, 0), batches(100, 2)
	f := derive(p, c)
	if v := f.Get(PageFaultsPerTxn); v.OK() || v.Missing != reasonAtRest {
		t.Errorf("2 transactions: %+v", v)
	}
}
