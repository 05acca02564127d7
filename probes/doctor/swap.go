package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"pgtlb/probes"
)

// checkSwap is "swap": whether memory of the server has been put out to swap.
func checkSwap(s *Snapshot) Check {
	c := Check{ID: "swap", Title: "Swap in use",
		Sources:  []string{"/proc/meminfo SwapTotal, SwapFree", "VmSwap in /proc/PID/status of the server's processes", "/proc/vmstat pswpin, pswpout", "/proc/sys/vm/swappiness"},
		Expected: "nothing of the server in swap",
		Why: "A page of shared buffers in swap is read back from disk when it is next used, and the planner takes it for memory. " +
			"Huge pages are never put out to swap."}
	if elsewhere(s, &c) {
		return c
	}
	m, commit := s.Pages.Memory, s.System.Commit
	if commit == nil {
		return unknown(s, c, "/proc/meminfo")
	}
	c.Status = OK
	if m.SwapKB == 0 {
		c.Found = "the machine has no swap: when memory runs out a process is killed at once"
		return c
	}
	used := m.SwapKB - min(commit.SwapFreeKB, m.SwapKB)
	c.Found = fmt.Sprintf("%s of %s swap in use", memory(used), memory(m.SwapKB))
	server := s.System.Processes.Children.SwapKB
	if p := s.System.Processes.Postmaster; p != nil {
		server += p.SwapKB
		c.Found += fmt.Sprintf(", %s of it in the server's processes", memory(server))
	}
	if in, ok := s.System.Events["pswpin"]; ok && s.System.UptimeS > 0 {
		c.Found += fmt.Sprintf("; since the boot %s pages read back and %s put out, %s in a day", probes.Count(float64(in)),
			probes.Count(float64(s.System.Events["pswpout"])), probes.Count(float64(in)/s.System.UptimeS*24*60*60))
	}
	swappiness, ok := s.sysctl("vm.swappiness")
	if ok {
		c.Found += fmt.Sprintf("; vm.swappiness is %d", swappiness)
	}
	if server == 0 {
		return c
	}
	c.Status = Warn
	if ok && swappiness > 10 {
		c.Fix, c.Undo = persistent(s, "91-pgtlb-swap.conf", "vm.swappiness=1")
		c.Takes = TakesNothing
	}
	if m.AvailableKB > 2*used { // else it would go out again, or something be killed
		c.Fix = append(c.Fix, fmt.Sprintf("swapoff -a && swapon -a # reads %s back; %s of memory are available", memory(used), memory(m.AvailableKB)))
		c.Takes = TakesNothing
	}
	return c
}

// lookAtUptime is for how many seconds the kernel has counted; 0 where it does not say.
func lookAtUptime(f files) float64 {
	text, _ := f.text("/proc/uptime")
	first, _, _ := strings.Cut(text, " ")
	if seconds, err := strconv.ParseFloat(first, 64); err == nil && seconds > 0 {
		return seconds
	}
	return 0
}
