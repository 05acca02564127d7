package workload

import (
	"context"
	"maps"
	"sync"
	"time"

	"pgtlb/probes"
)

// maxRecorders bounds the histograms of a load (190 kB each): up to so many
// clients have one of their own, more clients share them.
const maxRecorders = 32

// Meter counts and times the transactions of one load. It is a probe: each Read
// gives the counts since the load began and the latencies since the last Read.
type Meter struct {
	label string

	mu        sync.Mutex
	recorders []*recorder
	spare     *probes.Histogram // empty; takes the place of what a Read takes away
	total     *probes.Histogram // what Reads have taken away
	failedBy  map[string]int64
}

// NewMeter returns the meter of the load with that label, its scenario's name.
func NewMeter(label string) *Meter {
	return &Meter{label: label, failedBy: map[string]int64{}}
}

// recorder takes the measurements of one client, or of a few. Its lock is held
// for tens of nanoseconds, by Read too, which only exchanges a pointer under it.
type recorder struct {
	mu           sync.Mutex
	hist         *probes.Histogram
	transactions int64
	failed       int64
	_            [64]byte // two recorders do not share a cache line
}

// recorder returns the recorder of a client, made when it is first asked for.
func (m *Meter) recorder(client int) *recorder {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := client % maxRecorders
	for len(m.recorders) <= i {
		m.recorders = append(m.recorders, &recorder{hist: probes.NewHistogram()})
	}
	return m.recorders[i]
}

// done records a transaction that took that long.
func (r *recorder) done(took time.Duration) {
	r.mu.Lock()
	r.hist.Record(took)
	r.transactions++
	r.mu.Unlock()
}

// fail records a transaction that ended with that SQLSTATE.
func (m *Meter) fail(r *recorder, sqlstate string) {
	r.mu.Lock()
	r.failed++
	r.mu.Unlock()
	m.mu.Lock()
	m.failedBy[sqlstate]++
	m.mu.Unlock()
}

// Name is "load:" and the label.
func (m *Meter) Name() string { return "load:" + m.label }

// Metrics describes the readings.
func (m *Meter) Metrics() []probes.Metric {
	metrics := []probes.Metric{
		probes.MustLookup(probes.Transactions),
		probes.MustLookup(probes.Failed),
		probes.MustLookup(probes.Latency),
	}
	for i := range metrics {
		metrics[i].Scope = "all clients of the load"
	}
	return metrics
}

// Read takes the latencies recorded since the last Read away. A latency reading
// is absent when no transaction has finished in between.
func (m *Meter) Read(context.Context) (probes.Batch, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.spare == nil {
		m.spare, m.total = probes.NewHistogram(), probes.NewHistogram()
	}
	var transactions, failed int64
	interval := probes.NewHistogram()
	for _, r := range m.recorders {
		r.mu.Lock()
		r.hist, m.spare = m.spare, r.hist
		transactions += r.transactions
		failed += r.failed
		r.mu.Unlock()
		if m.spare.Count() > 0 {
			interval.Add(m.spare)
			m.spare.Reset()
		}
	}
	b := probes.Batch{Probe: m.Name(), Readings: []probes.Reading{
		{ID: probes.Transactions, Label: m.label, Value: float64(transactions)},
		{ID: probes.Failed, Label: m.label, Value: float64(failed)},
	}}
	if interval.Count() > 0 {
		m.total.Add(interval)
		b.Readings = append(b.Readings, probes.Reading{ID: probes.Latency, Label: m.label, Hist: interval})
	}
	return b, nil
}

// Close does nothing: the figures stay readable after the load.
func (m *Meter) Close() error { return nil }

// tally adds everything recorded so far to res, read or not.
func (m *Meter) tally(res *Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	res.Latency = probes.NewHistogram()
	res.Latency.Add(m.total)
	for _, r := range m.recorders {
		r.mu.Lock()
		res.Latency.Add(r.hist)
		res.Transactions += r.transactions
		res.Failed += r.failed
		r.mu.Unlock()
	}
	res.FailedBy = maps.Clone(m.failedBy)
}
