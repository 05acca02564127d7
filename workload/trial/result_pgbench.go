package trial

import (
	"time"

	"pgtlb/probes"
	"pgtlb/workload"
)

// Asked is what a load was asked to do and how its result is to be shown, as far
// as the text depends on it. Its zero value is a scenario's.
type Asked struct {
	// Pgbench has the text name scripts and scale as pgbench does.
	Pgbench bool
	Scale   int64
	// Detailed tells failures apart by kind.
	Detailed bool
	// PerCommand lists the commands of each script.
	PerCommand bool
	// Reconnect: each transaction had a connection of its own.
	Reconnect    bool
	Progress     bool
	Duration     time.Duration // 0 where none was given
	Transactions int64         // of each client; 0 where none was given
	Threads      int           // asked for; 0 is the driver's choice
	MaxTries     int           // as in workload.Load
	Rate         float64
	LatencyLimit time.Duration
}

// AskedOf takes from a load what the text needs.
func AskedOf(l workload.Load, w workload.Work) Asked {
	return Asked{
		PerCommand: w.PerCommand, Reconnect: w.Reconnect, Progress: l.Report != nil, Scale: l.Values["scale"],
		Threads: l.Threads, Duration: l.Duration, Transactions: l.Transactions, MaxTries: l.MaxTries, Rate: l.Rate, LatencyLimit: l.LatencyLimit,
	}
}

// tries is the greatest number of tries; 0 is no limit.
func (a Asked) tries() int {
	if a.MaxTries < 0 {
		return 0
	}
	return max(1, a.MaxTries)
}

// measured tells whether pgbench would measure each transaction's latency; else
// it takes the mean from the time of the run.
func (a Asked) measured() bool {
	return !a.Pgbench || a.Progress || a.Rate > 0 || a.LatencyLimit > 0
}

// text is a text that is written line by line.
type text func(format string, args ...any)

// all is the number of transactions, whatever became of them.
func (b Bench) all() int64 { return b.Transactions + b.Failed + b.Skipped }

func percent(n, all int64) float64 {
	if all == 0 {
		return 0
	}
	return 100 * float64(n) / float64(all)
}

// pgbench writes what pgbench prints, in its words, formats and order.
func (b Bench) pgbench(line text, a Asked) {
	b.head(line, a)
	if b.all() == 0 {
		return
	}
	b.outcomes(line, a, "", b.all(), failures{b.Failed, b.FailedBy["40001"], b.FailedBy["40P01"]}, b.Retried, b.Retries)
	if a.Rate > 0 && a.LatencyLimit > 0 {
		line("number of transactions skipped: %d (%.3f%%)", b.Skipped, percent(b.Skipped, b.all()))
	}
	if a.LatencyLimit > 0 {
		line("number of transactions above the %.1f ms latency limit: %d/%d (%.3f%%)",
			milliseconds(a.LatencyLimit), b.Late, b.Transactions, percent(b.Late, b.Transactions))
	}
	b.latency(line, a)
	if b.Lag != nil {
		line("rate limit schedule lag: avg %.3f (max %.3f) ms", b.Lag.Mean, b.Lag.Max)
	}
	if a.Reconnect {
		if b.ConnectMeanMS != nil {
			line("average connection time = %.3f ms", *b.ConnectMeanMS)
		}
		line("tps = %f (including reconnection times)", b.TPS)
	} else {
		line("initial connection time = %.3f ms", b.InitialConnectMS)
		line("tps = %f (without initial connection time)", b.TPS)
	}
	if len(b.Scripts) > 1 || a.PerCommand {
		for i, s := range b.Scripts {
			b.script(line, a, i, s)
		}
	}
}

// head is what was asked for, and how much was done.
func (b Bench) head(line text, a Asked) {
	line("transaction type: %s", probes.Clean(b.kind(a)))
	if a.Pgbench {
		line("scaling factor: %d", a.Scale)
	}
	if b.Mode != "" {
		line("query mode: %s", b.Mode)
	}
	line("number of clients: %d", b.Clients)
	switch {
	case b.Threads > 0:
		line("number of threads: %d", b.Threads)
	case a.Pgbench && a.Threads > 0: // what pgbench would have had; see the driver below
		line("number of threads: %d", min(a.Threads, b.Clients))
	}
	if n := a.tries(); n > 0 {
		line("maximum number of tries: %d", n)
	}
	if a.Transactions > 0 && a.Duration == 0 {
		line("number of transactions per client: %d", a.Transactions)
		line("number of transactions actually processed: %d/%d", b.Transactions, a.Transactions*int64(b.Clients))
		return
	}
	seconds := b.DurationS
	if a.Duration > 0 {
		seconds = a.Duration.Seconds()
	}
	line("duration: %.0f s", seconds)
	line("number of transactions actually processed: %d", b.Transactions)
}

// kind is the transaction type.
func (b Bench) kind(a Asked) string {
	switch {
	case a.Pgbench && len(b.Scripts) == 1:
		return b.Scripts[0].Name
	case a.Pgbench && len(b.Scripts) > 1:
		return "multiple scripts"
	}
	return b.Scenario
}

// failures are counted by kind: what is neither is another failure.
type failures struct{ all, serialization, deadlock int64 }

// outcomes are the lines on failed and retried transactions, of all or of one
// script.
func (b Bench) outcomes(line text, a Asked, indent string, all int64, f failures, retried, retries int64) {
	line(indent+"number of failed transactions: %d (%.3f%%)", f.all, percent(f.all, all))
	if a.Detailed {
		other := f.all - f.serialization - f.deadlock
		line(indent+"number of serialization failures: %d (%.3f%%)", f.serialization, percent(f.serialization, all))
		line(indent+"number of deadlock failures: %d (%.3f%%)", f.deadlock, percent(f.deadlock, all))
		line(indent+"number of other failures: %d (%.3f%%)", other, percent(other, all))
	}
	if a.tries() != 1 {
		line(indent+"number of transactions retried: %d (%.3f%%)", retried, percent(retried, all))
		line(indent+"total number of retries: %d", retries)
	}
}

// latency is the mean and, where pgbench measures it, the standard deviation.
func (b Bench) latency(line text, a Asked) {
	switch {
	case !a.measured():
		including := ""
		if b.Failed > 0 {
			including = " (including failures)"
		}
		line("latency average = %.3f ms%s", 1000*b.DurationS*float64(b.Clients)/float64(b.all()), including)
	case b.Latency != nil:
		line("latency average = %.3f ms", b.Latency.Mean)
		line("latency stddev = %.3f ms", b.Latency.Stddev)
	}
}

// script is the part of one script, and of its commands.
func (b Bench) script(line text, a Asked, i int, s ScriptShare) {
	dash := ""
	if len(b.Scripts) > 1 {
		dash = " - "
		all := s.Transactions + s.Failed
		line("SQL script %d: %s", i+1, probes.Clean(s.Name))
		line(" - weight: %d (targets %.1f%% of total)", s.Weight, s.SharePct)
		line(" - %d transactions (%.1f%% of total)", all, percent(all, b.all()))
		if all > 0 {
			line(" - number of transactions actually processed: %d (tps = %f)", s.Transactions, s.TPS)
			b.outcomes(line, a, dash, all, failures{s.Failed, s.serialization, s.deadlock}, s.Retried, s.Retries)
		}
		if l := s.Latency; l != nil {
			line(" - latency average = %.3f ms", l.Mean)
			line(" - latency stddev = %.3f ms", l.Stddev)
		}
	}
	if !a.PerCommand {
		return
	}
	if a.tries() == 1 {
		line("%sstatement latencies in milliseconds and failures:", dash)
	} else {
		line("%sstatement latencies in milliseconds, failures and retries:", dash)
	}
	for _, c := range s.Commands {
		mean := 0.0 // as pgbench has it
		if c.MeanMS != nil {
			mean = *c.MeanMS
		}
		if a.tries() == 1 {
			line("   %11.3f  %10d %s", mean, c.Failed, probes.Clean(c.Title))
		} else {
			line("   %11.3f  %10d %10d %s", mean, c.Failed, c.Retried, probes.Clean(c.Title))
		}
	}
}
