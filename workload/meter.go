package workload

import (
	"context"
	"sync"
	"time"

	"pgtlb/probes"
	"pgtlb/workload/wire"
)

// Meter counts and times the transactions of one load. It is a probe: each Read
// gives the counts since the load began and the latencies since the last Read.
type Meter struct {
	label string

	mu      sync.Mutex
	tallies []*wire.Tally // by thread
	spare   *wire.Counts  // empty; takes the place of what a Read takes away
	total   *wire.Counts  // all that was taken away since the last cut
	unread  *wire.Counts  // of that, what no Read has given yet
	// unreported is what no interval has given yet; nil before the first.
	unreported *wire.Counts
	// before are the transactions and failures of before the last cut.
	before struct{ transactions, failed int64 }
}

// NewMeter returns the meter of the load with that label, its scenario's name.
func NewMeter(label string) *Meter {
	return &Meter{label: label, spare: wire.NewCounts(), total: wire.NewCounts(), unread: wire.NewCounts()}
}

// recorder returns the recorder of a thread, made when it is first asked for.
func (m *Meter) recorder(thread int) wire.Recorder {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.tallies) <= thread {
		m.tallies = append(m.tallies, wire.NewTally())
	}
	return m.tallies[thread]
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
	m.keep()
	interval := m.unread
	m.unread = wire.NewCounts()
	b := probes.Batch{Probe: m.Name(), Readings: []probes.Reading{
		{ID: probes.Transactions, Label: m.label, Value: float64(m.before.transactions + m.total.Transactions)},
		{ID: probes.Failed, Label: m.label, Value: float64(m.before.failed + m.total.Failed)},
	}}
	if interval.Latency.Count() > 0 {
		b.Readings = append(b.Readings, probes.Reading{ID: probes.Latency, Label: m.label, Hist: interval.Latency})
	}
	return b, nil
}

// cut ends a part of the load and returns what was counted in it. Reads go on
// counting from the load's beginning.
func (m *Meter) cut() *wire.Counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keep()
	part := m.total
	m.total = wire.NewCounts()
	m.before.transactions += part.Transactions
	m.before.failed += part.Failed
	return part
}

// keep takes away what all threads have recorded, for all that ask for it.
func (m *Meter) keep() {
	for _, t := range m.tallies {
		m.spare = t.Take(m.spare)
		m.total.Add(m.spare)
		m.unread.Add(m.spare)
		if m.unreported != nil {
			m.unreported.Add(m.spare)
		}
		m.spare.Reset()
	}
}

// Close does nothing: the figures stay readable after the load.
func (m *Meter) Close() error { return nil }

// tally adds everything recorded since the last cut to res, read or not.
func (m *Meter) tally(res *Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keep()
	res.Latency = probes.NewHistogram()
	res.Latency.Add(m.total.Latency)
	res.Transactions, res.Failed = m.total.Transactions, m.total.Failed
	res.FailedBy = map[string]int64{}
	for state, n := range m.total.FailedBy {
		res.FailedBy[state.String()] = n
	}
	if res.Transactions > 0 {
		res.LagMean = m.total.LagSum / time.Duration(res.Transactions)
	}
	res.LagMax = m.total.LagMax
	res.Connections, res.Connect = m.total.Connections, m.total.Connect
	if m.total.Connections > 0 {
		res.ConnectMean = m.total.ConnectSum / time.Duration(m.total.Connections)
	}
}
