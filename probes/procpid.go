package probes

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// procStat is what pgtlb takes from /proc/PID/stat.
type procStat struct {
	state byte // R, S, D, Z, …
	ppid  int
	start uint64 // ticks since boot
	use   BackendUse
}

// parseProcStat reads the fields after the command name, which stands in
// parentheses and may hold blanks and parentheses itself. By hand, without
// allocation: it is done for every process every second.
func parseProcStat(b []byte) (procStat, error) {
	var s procStat
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return s, errors.New("process stat: no command name")
	}
	n := 2 // number of the field, as in proc(5)
	for f := range bytes.FieldsSeq(b[i+1:]) {
		n++
		if n == 3 {
			s.state = f[0]
		}
		if n != 4 && n != 10 && n != 12 && n != 14 && n != 15 && n != 22 {
			continue
		}
		v, ok := parseDecimal(f)
		if !ok {
			return procStat{}, fmt.Errorf("process stat: field %d is %q", n, f)
		}
		switch n {
		case 4:
			s.ppid = int(v)
		case 10:
			s.use.MinorFaults = v
		case 12:
			s.use.MajorFaults = v
		case 14:
			s.use.User = v
		case 15:
			s.use.Kernel = v
		case 22:
			s.start = v
			return s, nil
		}
	}
	return procStat{}, fmt.Errorf("process stat: only %d fields", n)
}

// procStatus is what pgtlb takes from /proc/PID/status.
type procStatus struct {
	nspid  int // in the innermost pid namespace: what the process calls itself
	mem    BackendMem
	hasMem bool   // false for a process that is ending, and before Linux 4.5; HugetlbPages may be missing all the same
	peak   uint64 // VmPeak in kB
	// threads is 0 where the file does not tell.
	threads uint64
}

// parseProcStatus reads by hand, without allocation: procfs takes three times
// as long and 113 allocations per process.
func parseProcStatus(b []byte) (procStatus, error) {
	var s procStatus
	var pid uint64
	found, hugetlb := 0, false
	for len(b) > 0 {
		var line []byte
		line, b, _ = bytes.Cut(b, []byte("\n"))
		key, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			continue
		}
		var into *uint64
		switch string(key) {
		case "Pid", "NSpid":
			if i := bytes.LastIndexAny(value, "\t "); i >= 0 {
				value = value[i+1:]
			}
			into = &pid
		case "VmPeak":
			into = &s.peak
		case "Threads":
			into = &s.threads
		case "VmPTE":
			into = &s.mem.PageTables
			found++
		case "HugetlbPages":
			into = &s.mem.Hugetlb
			hugetlb = true
		case "RssShmem":
			into = &s.mem.Shmem
			found++
		case "RssAnon":
			into = &s.mem.Private
			found++
		default:
			continue
		}
		n, ok := parseDecimal(bytes.TrimSuffix(bytes.TrimSpace(value), []byte(" kB")))
		if !ok {
			return procStatus{}, fmt.Errorf("process status: %q", line)
		}
		*into = n
	}
	if pid == 0 || pid > 1<<30 {
		return procStatus{}, errors.New("process status: no pid")
	}
	s.nspid = int(pid)
	s.hasMem = found == 3
	s.mem.NoHugetlb = s.hasMem && !hugetlb
	return s, nil
}

// parseRunTime takes the CPU time in nanoseconds from /proc/PID/schedstat, which
// is that of the main thread. It is false where the kernel does not count it:
// there the file says 0 0 0.
func parseRunTime(b []byte) (uint64, bool) {
	first, _, ok := bytes.Cut(b, []byte(" "))
	n, isNumber := parseDecimal(first)
	return n, ok && isNumber && n > 0
}

// pidPath is the path of a file of a process.
func pidPath(roots Roots, pid int, name string) string {
	return roots.ProcPath(strconv.Itoa(pid), name)
}

func readProcStat(roots Roots, pid int) (procStat, error) {
	b, err := os.ReadFile(pidPath(roots, pid, "stat"))
	if err != nil {
		return procStat{}, err
	}
	return parseProcStat(b)
}

// StartTicks is when a process started, in ticks of 1/100 s since the boot; with
// the pid it identifies the process. One that has ended and was not waited for
// counts as gone. Other errors are those of reading /proc/PID/stat.
func StartTicks(roots Roots, pid int) (uint64, error) {
	s, err := readProcStat(roots, pid)
	if err != nil {
		return 0, fmt.Errorf("reading the start of process %d: %w", pid, err)
	}
	if s.state == 'Z' || s.state == 'X' {
		return 0, &Unavailable{What: fmt.Sprintf("process %d", pid), Reason: "the process has ended"}
	}
	return s.start, nil
}

func readProcStatus(roots Roots, pid int) (procStatus, error) {
	b, err := os.ReadFile(pidPath(roots, pid, "status"))
	if err != nil {
		return procStatus{}, err
	}
	return parseProcStatus(b)
}

// readTitle is the command line of a process; PostgreSQL overwrites it with a
// title like "postgres: checkpointer ".
func readTitle(roots Roots, pid int) (string, error) {
	b, err := os.ReadFile(pidPath(roots, pid, "cmdline"))
	if err != nil {
		return "", err
	}
	// Arguments end with a zero byte, the title is padded with them.
	return string(bytes.TrimRight(bytes.ReplaceAll(b, []byte{0}, []byte{' '}), " ")), nil
}

// ListPids lists the processes that are visible below the root, in no order.
func ListPids(roots Roots) ([]int, error) {
	d, err := os.Open(roots.ProcPath())
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// listChildren lists the child processes of a process: from the kernel's list
// where it has one (CONFIG_PROC_CHILDREN), else by asking every process.
func listChildren(roots Roots, pid int) ([]int, error) {
	b, err := os.ReadFile(pidPath(roots, pid, filepath.Join("task", strconv.Itoa(pid), "children")))
	if err == nil {
		var out []int
		for f := range bytes.FieldsSeq(b) {
			if n, ok := parseDecimal(f); ok {
				out = append(out, int(n))
			}
		}
		return out, nil
	}
	if _, err := readProcStat(roots, pid); err != nil {
		return nil, err
	}
	pids, err := ListPids(roots)
	if err != nil {
		return nil, err
	}
	var out []int
	for _, p := range pids {
		// One that ends meanwhile is no child any more.
		if s, err := readProcStat(roots, p); err == nil && s.ppid == pid {
			out = append(out, p)
		}
	}
	return out, nil
}
