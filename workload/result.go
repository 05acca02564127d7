package workload

import (
	"time"

	"pgtlb/probes"
)

// Result is what a load has done, whole or cut short.
type Result struct {
	Transactions int64 // finished without an error
	Failed       int64 // answered by the server with an error
	// FailedBy counts the failed by SQLSTATE; its first two characters are the
	// class.
	FailedBy map[string]int64
	// InitialConnect is how long it took until all clients were connected.
	InitialConnect time.Duration
	// Elapsed is from the first transaction to the return of the last client.
	Elapsed time.Duration
	// Latency holds all finished transactions.
	Latency *probes.Histogram
	// Cancelled tells that the load was cancelled before its time.
	Cancelled bool
}

// TPS is the number of transactions finished per second, connecting left out.
func (r Result) TPS() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Transactions) / r.Elapsed.Seconds()
}
