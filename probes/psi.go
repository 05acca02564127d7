package probes

import (
	"errors"
	"syscall"

	"github.com/prometheus/procfs"
)

// openPSI offers the pressure stall times of CPU, memory and I/O, in µs.
func openPSI(roots Roots) (Probe, []Miss) {
	return openSource("psi", metricsOf(PSICPU, PSIMemory, PSIIO), func() ([]Reading, []Miss, error) {
		return readPSI(roots)
	})
}

const noPSI = "the kernel has no pressure stall information (Linux 4.20 with CONFIG_PSI)"

func readPSI(roots Roots) ([]Reading, []Miss, error) {
	pfs, err := procfs.NewFS(roots.ProcPath())
	if err != nil {
		return nil, nil, &Unavailable{What: roots.ProcPath(), State: NotThere, Reason: noPSI + ", or /proc is not mounted"}
	}
	var readings []Reading
	var misses []Miss
	for _, f := range []struct{ id, resource string }{{PSICPU, "cpu"}, {PSIMemory, "memory"}, {PSIIO, "io"}} {
		path := roots.ProcPath("pressure", f.resource)
		s, err := pfs.PSIStatsForResource(f.resource)
		switch {
		case err != nil:
			misses = append(misses, missFor(f.id, nil, psiError(path, err)))
		case s.Some == nil:
			misses = append(misses, Miss{ID: f.id, State: NotThere, Reason: path + " has no line \"some\""})
		default:
			readings = append(readings, Reading{ID: f.id, Value: float64(s.Some.Total)})
		}
	}
	return readings, misses, nil
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
