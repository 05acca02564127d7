package tui

import (
	"time"

	"pgtlb/workload/trial"
)

// demoLoads are as many scenarios as a lab has, the first n of them running.
func demoLoads(n int, since time.Duration) []trial.LoadState {
	list := []struct{ name, summary string }{
		{"point-select", "one row by primary key"},
		{"join-aggregate", "join and aggregate over 51 rows"},
		{"many-backends", "80 clients, each reads all over the table"},
		{"idle-crowd", "600 idle sessions that have touched everything"},
		{"sbtest-point-select", "sysbench's point select"},
		{"sbtest-read-only", "sysbench's read-only transaction"},
		{"sbtest-read-write", "sysbench's read-write transaction"},
		{"commit", "updates one row and commits"},
		{"single-session", "one client with a mix of everything"},
		{"planning", "plans joins of twelve tables"},
		{"temp-tables", "creates, fills, joins and drops temporary tables"},
		{"report", "a large hash join with sort and aggregate"},
		{"churn", "a connection for each transaction"},
		{"custom", "runs a script file of your own, in pgbench's language"},
	}
	general := []trial.ParamState{
		{Name: "clients", Value: "8", Default: "8", Min: "1", Max: "192", Meaning: "connections that run transactions at the same time (-c)"},
		{Name: "threads", Value: "0", Default: "0", Min: "0", Max: "1024", Meaning: "OS threads that drive the clients (-j); 0 is half of the CPUs"},
		{Name: "protocol", Value: "prepared", Default: "prepared", Text: true, Choices: []string{"simple", "extended", "prepared"}, Meaning: "how statements are sent (-M)"},
		{Name: "rate", Value: "0", Default: "0", Min: "0", Meaning: "transactions that begin in a second, all clients together (-R); 0 is as many as they can"},
		{Name: "duration", Value: "0", Default: "0", Min: "0", Meaning: "seconds until it stops by itself (-T); 0 is until it is stopped"},
		{Name: "apdex_t", Value: "500", Default: "500", Min: "0.001", Meaning: "milliseconds within which a transaction satisfies"},
	}
	own := []trial.ParamState{
		{Name: "rows", Value: "6000000", Default: "1000000", Min: "1", Max: "1000000000000", Meaning: "rows of test_hp_table"},
		{Name: "data_seed", Value: "1", Default: "1", Meaning: "seed of the values in test_hp_table"},
	}
	var loads []trial.LoadState
	for i, s := range list {
		l := trial.LoadState{Key: i + 1, Name: s.name, Clients: 8, Status: trial.LoadStopped, Summary: s.summary,
			Shows:  "More work per transaction: the share of page walks is smaller.",
			Script: "SELECT 1;", Params: append(own[:2:2], general...)}
		switch i {
		case 0:
			l.Shows = "Every transaction touches one random page: with 4 kB pages the TLB rarely holds its translation, and each backend fills a page table of its own."
			l.Script = "\\set id random(1, :rows)\nSELECT * FROM test_hp_table WHERE id = :id;\n"
		case len(list) - 1:
			l.Script = ""
			l.Params = append([]trial.ParamState{{Name: "script", Text: true, Meaning: "file with a script in pgbench's language, read when it is entered; several stand one after the other, each with its weight behind @: a.sql@9 b.sql"}}, general...)
		}
		if i < n {
			l.Status, l.Elapsed = trial.LoadRunning, since
			l.Apdex = &trial.Apdex{TMS: 500, Score: []float64{1, 0.97, 0.61, 0.4, 0.9}[i%5], Rating: []string{"Excellent", "Excellent", "Poor", "Unacceptable", "Good"}[i%5]}
		}
		loads = append(loads, l)
	}
	return loads
}
