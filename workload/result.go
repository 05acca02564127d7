package workload

import (
	"math"
	"time"

	"pgtlb/probes"
)

// Result is what a load has done, whole or cut short.
type Result struct {
	Transactions int64 // finished without an error
	Failed       int64 // given up after an error from the server
	// FailedBy counts the failed by SQLSTATE; its first two characters are the
	// class.
	FailedBy map[string]int64
	// Retried counts the transactions that needed more than one try, Retries the
	// tries beyond the first.
	Retried, Retries int64
	// Skipped were not begun, because their scheduled start had passed by more
	// than the latency limit; Late took longer than it.
	Skipped, Late int64
	// InitialConnect is how long it took until all clients were connected.
	InitialConnect time.Duration
	// Connections were opened for a transaction each, which took ConnectMean on
	// average; 0 where the clients keep theirs, and Connect, which holds them all, is then nil.
	Connections int64
	ConnectMean time.Duration
	Connect     *probes.Histogram
	// Elapsed is from the first transaction to the return of the last client.
	Elapsed time.Duration
	// Latency holds all finished transactions, from their scheduled start where
	// there is a rate.
	Latency *probes.Histogram
	// LagMean and LagMax are from the scheduled to the real start of the
	// transactions; 0 without a rate.
	LagMean, LagMax time.Duration
	// Warmup is what came before the measured part; nil without one. Nothing of
	// it is in the other figures but for Aborted.
	Warmup *WarmupResult
	// Threads drove the clients; DriverCPU is the CPU time they used, user and
	// kernel, 0 where it was not measured.
	Threads   int
	DriverCPU time.Duration
	// Indirect says why the connections were driven by a goroutine each and not
	// from their descriptors by Threads; empty where they were.
	Indirect string
	// Scripts has a part for each script.
	Scripts []ScriptResult
	// Aborted are the clients that ended early because of an error.
	Aborted []Aborted
	// Cancelled tells that the load was cancelled before its time.
	Cancelled bool
}

// WarmupResult is what a load did before its measured part.
type WarmupResult struct {
	Elapsed              time.Duration
	Transactions, Failed int64
	Latency              *probes.Histogram
	// Settled tells that it ended because it was over, not at its greatest
	// length.
	Settled bool
}

// TPS is the number of transactions finished per second of the warm-up.
func (w WarmupResult) TPS() float64 { return perSecond(w.Transactions, w.Elapsed) }

// ScriptResult is one script's share of a load.
type ScriptResult struct {
	Name    string
	Weight  int
	Share   float64 // of all transactions, by weight, from 0 to 1
	Latency Moments // of its finished transactions
	Failed  int64
	// Serialization and Deadlock are those of the failed that failed so.
	Serialization, Deadlock int64
	Retried                 int64
	Retries                 int64
	Commands                []CommandResult // empty where commands were not measured
}

// CommandResult is what one command of a script took.
type CommandResult struct {
	Title  string
	Took   Moments
	Failed int64 // it was answered with an error
	// Retried counts those of the failed that were tried again.
	Retried int64
}

// Aborted is a client that ended early.
type Aborted struct {
	Client int // from 0
	Err    error
}

// Moments are count, sum and sum of squares of durations.
type Moments struct {
	Count      int64
	Sum        time.Duration
	sumSquares float64 // s²
}

func (m *Moments) add(d time.Duration) {
	m.Count++
	m.Sum += d
	m.sumSquares += d.Seconds() * d.Seconds()
}

func (m *Moments) merge(o Moments) {
	m.Count += o.Count
	m.Sum += o.Sum
	m.sumSquares += o.sumSquares
}

// Mean is the mean duration, 0 of none.
func (m Moments) Mean() time.Duration {
	if m.Count == 0 {
		return 0
	}
	return m.Sum / time.Duration(m.Count)
}

// Stddev is the standard deviation of the population, 0 of none.
func (m Moments) Stddev() time.Duration {
	if m.Count == 0 {
		return 0
	}
	mean := m.Sum.Seconds() / float64(m.Count)
	return time.Duration(math.Sqrt(max(0, m.sumSquares/float64(m.Count)-mean*mean)) * float64(time.Second))
}

// TPS is the number of transactions finished per second, connecting left out.
func (r Result) TPS() float64 { return perSecond(r.Transactions, r.Elapsed) }

func perSecond(n int64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}
