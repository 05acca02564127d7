package workload

import (
	"time"

	"pgtlb/workload/wire"
)

// Interval is what a load did in a part of its measured time.
type Interval struct {
	At, Length                    time.Duration // its end, since the measured part began; its length
	Transactions, Failed, Skipped int64
	Retried, Retries              int64 // as in Result
	Mean, Stddev                  time.Duration
	LagMean                       time.Duration
}

// report calls Load.Report after each Load.Every until done closes. What the
// meter counted before start is in no report.
func (l *loading) report(start time.Time, done <-chan struct{}) {
	last := start
	retried, retries := l.retried.Load(), l.retries.Load()
	tick := time.NewTicker(l.o.Every)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		c, now := l.meter.interval(), time.Now()
		i := Interval{At: now.Sub(start), Length: now.Sub(last), Transactions: c.Transactions, Failed: c.Failed, Skipped: c.Skipped}
		all, tries := l.retried.Load(), l.retries.Load()
		i.Retried, i.Retries = all-retried, tries-retries
		last, retried, retries = now, all, tries
		if c.Transactions > 0 {
			i.Mean = milliseconds(c.Latency.MeanMS())
			i.Stddev = milliseconds(c.Latency.StddevMS())
			i.LagMean = c.LagSum / time.Duration(c.Transactions)
		}
		l.o.Report(i)
	}
}

func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// interval returns the counts since it was called last, and has them counted
// from then on.
func (m *Meter) interval() *wire.Counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.unreported != nil {
		m.keep()
	}
	since := m.unreported
	if since == nil {
		since = wire.NewCounts()
	}
	m.unreported = wire.NewCounts()
	return since
}
