package trial

import (
	"fmt"
	"math"

	"pgtlb/probes"
)

// beyond is how many transactions must lie beyond a percentile, on its thinner side,
// for it to say something. How many of n do varies by chance with a standard deviation
// of about their root: of 10 a third, so that what is called p99 of 1,000 is, with
// 95 % confidence, somewhere between p98.3 and p99.6. Below 4 that interval has no upper
// end at all, and the figure is next to the slowest single transaction.
const beyond = 10

// needed is the number of transactions from which on a percentile q (0 … 1) says
// something: 1,000 for p99, 200 for p95, 20 for p50.
func needed(q float64) int64 {
	return int64(math.Round(beyond / min(q, 1-q)))
}

// fewText says why there is no percentile of n transactions; empty where there is one.
func fewText(q float64, n int64) string {
	if n >= needed(q) {
		return ""
	}
	return fmt.Sprintf("of only %s: p%.0f needs %s, so that %d lie beyond it",
		probes.Plural(int(n), "transaction"), 100*q, probes.Number(float64(needed(q))), beyond)
}
