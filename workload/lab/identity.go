package lab

import (
	"fmt"
	"os"
	"strings"

	"pgtlb/probes"
)

// Process identifies one process for good: pids are used again, but not with the same start time, boot and namespace.
type Process struct {
	PID       int    `json:"pid"`
	Start     uint64 `json:"start"`         // clock ticks after boot, field 22 of /proc/PID/stat
	Boot      string `json:"boot"`          // /proc/sys/kernel/random/boot_id
	Namespace string `json:"pid_namespace"` // /proc/self/ns/pid; a pid of another namespace means nothing here
}

// self identifies the running pgtlb.
func self(r Roots) (Process, error) {
	return identify(r, os.Getpid())
}

func identify(r Roots, pid int) (Process, error) {
	start, err := probes.StartTicks(r, pid)
	if err != nil {
		return Process{}, fmt.Errorf("identifying process %d: %w", pid, err)
	}
	boot, err := os.ReadFile(r.ProcPath("sys/kernel/random/boot_id"))
	if err != nil {
		return Process{}, fmt.Errorf("identifying process %d: %w", pid, err)
	}
	ns, err := os.Readlink(r.ProcPath("self/ns/pid"))
	if err != nil {
		ns = "" // not shown to us: then it is the same "" at every start
	}
	return Process{PID: pid, Start: start, Boot: strings.TrimSpace(string(boot)), Namespace: ns}, nil
}

// alive tells whether the very process p is still there. The caller has compared boot and namespace.
func (p Process) alive(r Roots) bool {
	start, err := probes.StartTicks(r, p.PID)
	return err == nil && start == p.Start
}
