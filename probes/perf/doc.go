// Package perf counts kernel performance events: page faults, context switches, CPU cycles, instructions, data TLB
// accesses and misses, and the cycles in which a page walk was active. It is the only user of perf_event_open.
//
// Raw counts leave this package with the time the event was enabled and the time it really ran; Scale turns two raw
// reads into a figure. An event that cannot be counted is absent and has a Missing with the reason and the remedy;
// it is never a 0. Hardware events are opened in groups, so that both numbers of a ratio were counted in the same
// moments: compare Reading.Group before dividing.
//
// A Set is not safe for concurrent use.
package perf
