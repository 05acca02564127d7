// Package workload drives a PostgreSQL server: scenarios (one file each) with
// their data, the Runner that keeps their clients busy, and the Meter that
// counts and times every transaction.
//
// A Scenario says what it needs (Data), what its clients do (Work: scripts in
// pgbench's language) and what that should show. The Runner knows no scenario: it steps
// each client's script and drives all connections through package wire. The Meter is a
// probe, so throughput and latency travel in the same sample as the counters.
package workload
