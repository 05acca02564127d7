// Package doctor examines a machine and its PostgreSQL server for what stands in
// the way of huge pages and of being measured, and says what to do about it.
//
// Look gathers a Snapshot: the facts, as they were read, with a reason for each
// that could not be. Examine turns a Snapshot into an Exam by pure functions, so
// that a snapshot which was saved on one machine can be examined on another, and
// gives the same Exam for ever. Each subject has one file for both: its facts, how
// they are read, and its checks.
package doctor
