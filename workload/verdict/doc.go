// Package verdict decides what repeated runs allow to say about the difference
// between two arms. It knows numbers only: one per run, in the order in which the
// runs were made.
//
// All differences are ratios, candidate divided by base, so that 0.95 and 1/0.95 are
// equally far from 1. Tests are exact where the number of runs allows; the smallest
// p that this number could give stands beside each p.
package verdict
