package probes

import (
	"errors"
	"os"

	"github.com/prometheus/procfs"
)

// openMeminfo offers the page table and memory figures of /proc/meminfo, in kB.
func openMeminfo(roots Roots) (Probe, []Miss) {
	wanted := metricsOf(PageTables, SecPageTables, MemTotal, MemAvailable, AnonHuge, ShmemHuge)
	return openSource("meminfo", wanted, func() ([]Reading, []Miss, error) {
		m, err := ReadMeminfo(roots)
		if err != nil {
			return nil, nil, err
		}
		readings, misses := meminfoReadings(m)
		return readings, misses, nil
	}, &kernelFile{path: roots.ProcPath("meminfo")})
}

// ReadMeminfo reads /proc/meminfo, in kB. MemTotal is always there; what this
// kernel does not have is nil. Where the file cannot be read the error wraps
// ErrUnavailable.
func ReadMeminfo(roots Roots) (procfs.Meminfo, error) {
	path := roots.ProcPath("meminfo")
	pfs, err := procfs.NewFS(roots.ProcPath())
	if err != nil {
		// Its error names the mount point only in words; ask the file itself.
		if _, ferr := os.ReadFile(path); ferr != nil {
			err = ferr
		}
		return procfs.Meminfo{}, unreadable(path, err, "")
	}
	m, err := pfs.Meminfo()
	if err != nil {
		return procfs.Meminfo{}, unreadable(path, err, "")
	}
	if m.MemTotal == nil {
		return procfs.Meminfo{}, errors.New("reading " + path + ": no MemTotal in it")
	}
	return m, nil
}

func meminfoReadings(m procfs.Meminfo) ([]Reading, []Miss) {
	var readings []Reading
	var misses []Miss
	for _, f := range []struct {
		id, since string
		kb        *uint64
	}{
		{PageTables, "since Linux 2.6", m.PageTables},
		{SecPageTables, "since Linux 6.1", m.SecPageTables},
		{MemTotal, "since Linux 2.6", m.MemTotal},
		{MemAvailable, "since Linux 3.14", m.MemAvailable},
		{AnonHuge, "with CONFIG_TRANSPARENT_HUGEPAGE", m.AnonHugePages},
		{ShmemHuge, "since Linux 4.8 with CONFIG_TRANSPARENT_HUGEPAGE", m.ShmemHugePages},
	} {
		if f.kb == nil {
			misses = append(misses, Miss{ID: f.id, State: NotThere, Reason: "this kernel's /proc/meminfo does not have it (" + f.since + ")"})
			continue
		}
		readings = append(readings, Reading{ID: f.id, Value: float64(*f.kb)})
	}
	return readings, misses
}
