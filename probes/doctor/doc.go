// Package doctor holds checks and advice over a snapshot of the host and the
// server, as pure functions.
package doctor
