package probes

import (
	"bytes"
	"fmt"
)

// openInterrupts offers the TLB shootdowns of /proc/interrupts.
func openInterrupts(roots Roots) (Probe, []Miss) {
	file := &kernelFile{path: roots.ProcPath("interrupts")}
	return openSource("interrupts", metricsOf(TLBShootdowns), func() ([]Reading, []Miss, error) {
		b, err := file.read()
		if err != nil {
			return nil, nil, unreadable(file.path, err, "")
		}
		n, err := parseTLBShootdowns(b)
		if err != nil {
			return nil, nil, err
		}
		return []Reading{{ID: TLBShootdowns, Value: float64(n)}}, nil, nil
	}, file)
}

// parseTLBShootdowns sums the row "TLB:" over all CPUs. By hand, because
// procfs allocates a string per CPU and interrupt, which on a large machine is
// some ten thousand every second for one row, and because the file is large.
//
// Only x86 has the row: other processors tell each other in hardware, without
// an interrupt. The error then wraps ErrUnavailable.
func parseTLBShootdowns(b []byte) (uint64, error) {
	for len(b) > 0 {
		var line []byte
		line, b, _ = bytes.Cut(b, []byte("\n"))
		row, ok := bytes.CutPrefix(bytes.TrimLeft(line, " "), []byte("TLB:"))
		if !ok {
			continue
		}
		var sum uint64
		counts := 0
		for f := range bytes.FieldsSeq(row) {
			n, ok := parseDecimal(f)
			if !ok {
				break
			}
			sum += n
			counts++
		}
		if counts == 0 {
			return 0, fmt.Errorf("reading interrupts: no counts in the row %q", line)
		}
		return sum, nil
	}
	return 0, &Unavailable{
		What:   "TLB shootdowns",
		State:  NotThere,
		Reason: "the kernel counts them only on x86 with more than one processor; /proc/interrupts has no TLB row here",
	}
}
