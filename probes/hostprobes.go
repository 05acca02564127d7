package probes

import "slices"

// HostProbes opens every probe over the machine itself. Metrics that this
// machine does not have come back as misses with the reason. vmstatFaults takes
// page faults from /proc/vmstat; ask for it only where perf events cannot count
// them, so that the metric has one source.
func HostProbes(roots Roots, vmstatFaults bool) (opened []Probe, missing []Miss) {
	for _, open := range []func(Roots) (Probe, []Miss){
		openMeminfo,
		func(r Roots) (Probe, []Miss) { return openVMStat(r, vmstatFaults) },
		openHugePages,
		openInterrupts,
		openCPU,
		openPSI,
	} {
		p, misses := open(roots)
		if p != nil {
			opened = append(opened, p)
		}
		missing = slices.Concat(missing, misses)
	}
	return opened, missing
}
