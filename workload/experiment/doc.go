// Package experiment plans and makes alternating runs of two or more arms: which
// run comes when, what is written down after each, when it is enough, and how to go
// on after an interruption. It knows no PostgreSQL: a Stand brings the server to an
// arm and measures it.
package experiment
