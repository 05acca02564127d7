// Package workload drives a PostgreSQL server: scenarios (one file each) with
// their data, the Runner that keeps their clients busy, and the Meter that
// counts and times every transaction.
//
// A Scenario says what it needs (Setup), what one client does (Worker) and what
// that should show. The Runner knows no scenario; the Meter is a probe, so
// throughput and latency travel in the same sample as the counters.
package workload
