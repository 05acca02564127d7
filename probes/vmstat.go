package probes

import (
	"bytes"
	"fmt"
)

// openVMStat offers counters of /proc/vmstat. withFaults adds the page faults
// of the whole machine, for where perf software events cannot be had.
func openVMStat(roots Roots, withFaults bool) (Probe, []Miss) {
	wanted := metricsOf(THPFaultAlloc, CompactStall)
	if withFaults {
		wanted = append(wanted, vmstatFaultMetrics()...)
	}
	file := &kernelFile{path: roots.ProcPath("vmstat")}
	return openSource("vmstat", wanted, func() ([]Reading, []Miss, error) {
		b, err := file.read()
		if err != nil {
			return nil, nil, unreadable(file.path, err, "")
		}
		v, err := parseVMStat(b)
		if err != nil {
			return nil, nil, fmt.Errorf("reading %s: %w", file.path, err)
		}
		readings, misses := vmstatReadings(v, withFaults)
		return readings, misses, nil
	}, file)
}

// vmstatFaultMetrics are the page fault metrics as /proc/vmstat counts them:
// pgfault counts every fault, the major ones included.
func vmstatFaultMetrics() []Metric {
	out := metricsOf(PageFaults, PageFaultsMinor, PageFaultsMajor)
	for i, src := range []string{"/proc/vmstat pgfault", "/proc/vmstat pgfault - pgmajfault", "/proc/vmstat pgmajfault"} {
		out[i].Source, out[i].Scope = src, "system wide"
	}
	return out
}

func vmstatReadings(v map[string]uint64, withFaults bool) ([]Reading, []Miss) {
	var readings []Reading
	var misses []Miss
	add := func(id, name, absent string) {
		if n, ok := v[name]; ok {
			readings = append(readings, Reading{ID: id, Value: float64(n)})
			return
		}
		misses = append(misses, Miss{ID: id, State: NotThere, Reason: "this kernel's /proc/vmstat has no " + name + absent})
	}
	add(THPFaultAlloc, "thp_fault_alloc", " (CONFIG_TRANSPARENT_HUGEPAGE)")
	add(CompactStall, "compact_stall", " (CONFIG_COMPACTION)")
	if !withFaults {
		return readings, misses
	}
	add(PageFaults, "pgfault", "")
	add(PageFaultsMajor, "pgmajfault", "")
	all, okAll := v["pgfault"]
	major, okMajor := v["pgmajfault"]
	switch {
	case !okAll || !okMajor:
		misses = append(misses, Miss{ID: PageFaultsMinor, State: NotThere, Reason: "this kernel's /proc/vmstat has no pgfault or pgmajfault"})
	case major > all:
		misses = append(misses, Miss{ID: PageFaultsMinor, Reason: "/proc/vmstat counts more major faults than faults"})
	default:
		readings = append(readings, Reading{ID: PageFaultsMinor, Value: float64(all - major)})
	}
	return readings, misses
}

// vmstatName tells whether pgtlb uses this counter of /proc/vmstat.
func vmstatName(name []byte) (string, bool) {
	switch string(name) {
	case "thp_fault_alloc", "compact_stall", "pgfault", "pgmajfault":
		return string(name), true
	}
	return "", false
}

// parseVMStat reads the counters that pgtlb uses; procfs does not parse this
// file. Lines of other counters are not looked at.
func parseVMStat(b []byte) (map[string]uint64, error) {
	out := make(map[string]uint64, 4)
	for len(b) > 0 {
		var line []byte
		line, b, _ = bytes.Cut(b, []byte("\n"))
		name, value, _ := bytes.Cut(line, []byte(" "))
		key, ok := vmstatName(name)
		if !ok {
			continue
		}
		n, ok := parseDecimal(bytes.TrimSpace(value))
		if !ok {
			return nil, fmt.Errorf("%s has the value %q", key, value)
		}
		out[key] = n
	}
	return out, nil
}
