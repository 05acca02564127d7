package perf

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// readFacts reads what decides whether events may be opened: the sysctl first, then the process, then cycles:u and
// cycles:k on the own thread. What cannot be read keeps its zero value.
func readFacts(o Options, events []Event) Facts {
	f := Facts{Scope: o.Scope, UID: os.Geteuid(), TargetUID: os.Geteuid(), Binary: o.Binary}
	proc := filepath.Join(o.root(), "proc")
	var err error
	if f.Paranoid, err = readInt(filepath.Join(proc, "sys/kernel/perf_event_paranoid")); err != nil {
		f.NoSysctl = true
	}
	if n, err := readInt(filepath.Join(proc, "sys/kernel/cap_last_cap")); err == nil {
		f.LastCap = n
	}
	status := readStatus(filepath.Join(proc, "self/status"))
	if n, err := strconv.ParseUint(status["CapEff"], 16, 64); err == nil {
		f.CapEff = n
	}
	if n, err := strconv.Atoi(status["Seccomp"]); err == nil {
		f.Seccomp = n
	}
	if b, err := os.ReadFile(filepath.Join(proc, "self/uid_map")); err == nil {
		f.UserNS = strings.Join(strings.Fields(string(b)), " ") != "0 0 4294967295"
	}
	if pid := o.Scope.Postmaster; pid != 0 {
		if uids := strings.Fields(readStatus(filepath.Join(proc, strconv.Itoa(pid), "status"))["Uid"]); len(uids) > 1 {
			if n, err := strconv.Atoi(uids[1]); err == nil {
				f.TargetUID = n
			}
		}
	}
	if f.Binary == "" {
		f.Binary = "pgtlb"
		if p, err := os.Executable(); err == nil {
			f.Binary = p
		}
	}
	f.CyclesUser, f.CyclesKernel = tryOpen(events, CyclesUser), tryOpen(events, CyclesKernel)
	return f
}

// tryOpen opens one event on the calling thread, closes it and returns the error number, 0 for success.
func tryOpen(events []Event, id string) syscall.Errno {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, e := range events {
		if e.ID != id {
			continue
		}
		return openOnce(e, target{pid: 0, cpu: -1})
	}
	return unix.ENOENT
}

// groupReadInherits says whether this kernel reads a group at once that children inherit (since 4.13).
func groupReadInherits(events []Event) bool {
	for _, e := range events {
		if e.Hardware() {
			continue
		}
		e.ExcludeKernel = true
		fd, err := unix.PerfEventOpen(e.attr(true, true, true), 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err == nil {
			_ = unix.Close(fd)
		}
		return toErrno(err) != unix.EINVAL
	}
	return false
}

// readCPU identifies the processor.
func readCPU(o Options) (CPU, error) {
	if o.CPU != nil {
		return *o.CPU, nil
	}
	f, err := os.Open(filepath.Join(o.root(), "proc/cpuinfo"))
	if err != nil {
		return CPU{}, fmt.Errorf("identifying the CPU: %w", err)
	}
	defer f.Close()
	return ParseCPU(f)
}

// readStatus returns the fields of a /proc/PID/status file; empty when it cannot be read.
func readStatus(path string) map[string]string {
	out := map[string]string{}
	b, err := os.ReadFile(path)
	if err != nil {
		return out
	}
	for sc := bufio.NewScanner(bytes.NewReader(b)); sc.Scan(); {
		key, value, _ := strings.Cut(sc.Text(), ":")
		out[key] = strings.TrimSpace(value)
	}
	return out
}

func readInt(path string) (int, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(b)))
}
