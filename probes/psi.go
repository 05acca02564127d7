package probes

import (
	"bytes"
	"errors"
	"syscall"
)

// openPSI offers the pressure stall times of CPU, memory and I/O, in µs.
func openPSI(roots Roots) (Probe, []Miss) {
	ids := []string{PSICPU, PSIMemory, PSIIO}
	var files []*kernelFile
	for _, resource := range []string{"cpu", "memory", "io"} {
		files = append(files, &kernelFile{path: roots.ProcPath("pressure", resource)})
	}
	return openSource("psi", metricsOf(ids...), func() (readings []Reading, misses []Miss, _ error) {
		for i, f := range files {
			us, err := readStall(f)
			if err != nil {
				misses = append(misses, missFor(ids[i], nil, err))
				continue
			}
			readings = append(readings, Reading{ID: ids[i], Value: float64(us)})
		}
		return readings, misses, nil
	}, files...)
}

const noPSI = "the kernel has no pressure stall information (Linux 4.20 with CONFIG_PSI)"

// readStall reads for how long, in µs since the boot, some task waited.
func readStall(f *kernelFile) (uint64, error) {
	b, err := f.read()
	if err != nil {
		return 0, psiError(f.path, err)
	}
	us, ok := parseStall(b)
	if !ok {
		return 0, &Unavailable{What: f.path, State: NotThere, Reason: f.path + " has no line \"some\" with a total"}
	}
	return us, nil
}

// parseStall takes the total from the line "some avg10=0.00 … total=1234". By
// hand: procfs opens the file anew and scans it with a format, 40 µs each.
func parseStall(b []byte) (uint64, bool) {
	for len(b) > 0 {
		var line []byte
		line, b, _ = bytes.Cut(b, []byte("\n"))
		rest, ok := bytes.CutPrefix(line, []byte("some "))
		if !ok {
			continue
		}
		_, total, _ := bytes.Cut(rest, []byte("total="))
		return parseDecimal(bytes.TrimSpace(total))
	}
	return 0, false
}

// psiError explains a pressure file that cannot be read. A kernel that was
// built with PSI and started without it has the files and refuses to read them,
// or has no files, depending on its version.
func psiError(path string, err error) error {
	off := &Unavailable{
		What:   path,
		State:  NotThere,
		Reason: noPSI + " or was started with psi=0",
		Remedy: "start the kernel with psi=1",
	}
	if errors.Is(err, syscall.EOPNOTSUPP) {
		return off
	}
	u := unreadable(path, err, off.Reason)
	var un *Unavailable
	if errors.As(u, &un) && un.Reason == off.Reason {
		return off
	}
	return u
}
