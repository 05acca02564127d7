package lab

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
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
	start, err := startTime(r, pid)
	if err != nil {
		return Process{}, fmt.Errorf("identifying process %d: %w", pid, err)
	}
	boot, err := os.ReadFile(r.proc("sys/kernel/random/boot_id"))
	if err != nil {
		return Process{}, fmt.Errorf("identifying process %d: %w", pid, err)
	}
	ns, err := os.Readlink(r.proc("self/ns/pid"))
	if err != nil {
		ns = "" // not shown to us: then it is the same "" at every start
	}
	return Process{PID: pid, Start: start, Boot: strings.TrimSpace(string(boot)), Namespace: ns}, nil
}

// alive tells whether the very process p is still there. The caller has compared boot and namespace.
func (p Process) alive(r Roots) bool {
	start, err := startTime(r, p.PID)
	return err == nil && start == p.Start
}

// startTime is field 22 of /proc/PID/stat. A zombie counts as gone.
func startTime(r Roots, pid int) (uint64, error) {
	st, err := readStat(r, pid)
	if err != nil {
		return 0, err
	}
	if st.state == "Z" || st.state == "X" {
		return 0, errors.New("the process has ended")
	}
	return st.start, nil
}

type procStat struct {
	state string
	ppid  int
	start uint64
}

func readStat(r Roots, pid int) (procStat, error) {
	b, err := os.ReadFile(r.proc(strconv.Itoa(pid), "stat"))
	if err != nil {
		return procStat{}, err
	}
	s := string(b)
	i := strings.LastIndexByte(s, ')') // the name before it may hold anything
	f := strings.Fields(s[i+1:])
	if i < 0 || len(f) < 20 {
		return procStat{}, errors.New("unreadable stat line")
	}
	ppid, err := strconv.Atoi(f[1])
	if err != nil {
		return procStat{}, err
	}
	start, err := strconv.ParseUint(f[19], 10, 64)
	return procStat{state: f[0], ppid: ppid, start: start}, err
}
