// Package trial holds what is done with a server: the Session behind the
// screen, the recording of runs and their store, the summary and comparison of
// runs, and the report.
package trial
