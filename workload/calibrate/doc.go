// Package calibrate finds out how far figures of this machine can be trusted: it
// sets pgtlb's driver against the installed pgbench, compares identical runs
// with each other, and runs with the probes with runs without.
//
// All runs are on one private server, one after the other in ABBA order, so that
// a machine that becomes slower or busier bends both sides alike. Only ratios
// within a pair and their spread mean anything.
package calibrate
