// Package probes holds what pgtlb can see: one file per source (a kernel file,
// a server view, a counter), the vocabulary they share (Metric, Reading,
// Sample, Frame), and the Sampler that reads them all at a steady interval.
//
// A probe returns raw readings. Rates, ratios and percentiles are made from the
// samples alone by the Deriver, so a recorded run and a live one show the same
// figures. What cannot be read is absent with a reason, never zero.
package probes
