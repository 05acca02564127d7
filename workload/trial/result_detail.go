package trial

import "pgtlb/workload"

// detail adds what the driver says of connections, scripts and clients.
func (b *Bench) detail(load workload.Result) {
	if load.Connections > 0 {
		mean := milliseconds(load.ConnectMean)
		b.Connections, b.ConnectMeanMS = load.Connections, &mean
	}
	if load.Threads > 0 || load.Indirect != "" {
		b.Driver = &Driver{Direct: load.Indirect == "", Why: load.Indirect}
	}
	for _, s := range load.Scripts {
		b.Scripts = append(b.Scripts, scriptShare(s, load.Elapsed.Seconds()))
	}
	for _, a := range load.Aborted {
		b.Aborted = append(b.Aborted, AbortedShare{a.Client, a.Err.Error()})
	}
}

func scriptShare(s workload.ScriptResult, seconds float64) ScriptShare {
	out := ScriptShare{Name: s.Name, Weight: s.Weight, SharePct: 100 * s.Share, Transactions: s.Latency.Count,
		Failed: s.Failed, Retried: s.Retried, Retries: s.Retries, serialization: s.Serialization, deadlock: s.Deadlock}
	if seconds > 0 {
		out.TPS = float64(s.Latency.Count) / seconds
	}
	if s.Latency.Count > 0 {
		out.Latency = &MeanMS{milliseconds(s.Latency.Mean()), milliseconds(s.Latency.Stddev())}
	}
	for _, c := range s.Commands {
		one := CommandShare{Title: c.Title, Count: c.Took.Count, Failed: c.Failed - c.Retried, Retried: c.Retried}
		if c.Took.Count > 0 {
			mean := milliseconds(c.Took.Mean())
			one.MeanMS = &mean
		}
		out.Commands = append(out.Commands, one)
	}
	return out
}
