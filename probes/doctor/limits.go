package doctor

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Limits are resource limits of the postmaster, which its children inherit.
type Limits struct {
	OpenFiles Limit `json:"open_files"`
	Processes Limit `json:"processes"`
}

// Limit is one resource limit; unlimited is the largest number.
type Limit struct {
	Soft uint64 `json:"soft"`
	Hard uint64 `json:"hard"`
}

const unlimited = math.MaxUint64

func (l looker) limits(postmaster int) {
	if postmaster == 0 {
		return
	}
	path := l.pid(postmaster, "limits")
	text, ok := l.text(path)
	if !ok {
		return
	}
	limits, err := parseLimits(text)
	if err != nil {
		l.s.unread(l.shown(path), err)
		return
	}
	l.s.System.Limits = &limits
}

// parseLimits reads /proc/PID/limits.
func parseLimits(text string) (Limits, error) {
	var out Limits
	found := 0
	for line := range strings.Lines(text) {
		for name, into := range map[string]*Limit{"Max open files": &out.OpenFiles, "Max processes": &out.Processes} {
			rest, ok := strings.CutPrefix(line, name)
			if !ok {
				continue
			}
			f := strings.Fields(rest)
			if len(f) < 2 {
				return Limits{}, fmt.Errorf("process limits: %q", line)
			}
			for i, n := range []*uint64{&into.Soft, &into.Hard} {
				var err error
				if *n, err = limitNumber(f[i]); err != nil {
					return Limits{}, fmt.Errorf("process limits: %q", line)
				}
			}
			found++
		}
	}
	if found != 2 {
		return Limits{}, errors.New("process limits: no open files or processes")
	}
	return out, nil
}

func limitNumber(s string) (uint64, error) {
	if s == "unlimited" {
		return unlimited, nil
	}
	return strconv.ParseUint(s, 10, 64)
}

func (l Limit) String() string {
	if l.Soft == unlimited {
		return "unlimited"
	}
	return strconv.FormatUint(l.Soft, 10)
}

// serverProcesses is how many processes a server may have: sessions, workers of
// each kind, and its own.
func serverProcesses(s *Snapshot) uint64 {
	const own = 12 // checkpointer, writers, launchers, logger, archiver, summarizer, startup, receiver
	n := uint64(own)
	for _, name := range []string{"max_connections", "autovacuum_worker_slots", "autovacuum_max_workers", "max_wal_senders", "max_worker_processes", "io_workers"} {
		v, ok := number(s, name)
		if ok && (name != "autovacuum_max_workers" || !has(s, "autovacuum_worker_slots")) {
			n += uint64(v)
		}
	}
	return n
}

// needLimits answers a check about limits where they or the settings are missing.
func needLimits(s *Snapshot, c *Check, setting string) bool {
	if noPostmaster(s, c) {
		return true
	}
	if s.System.Limits == nil {
		*c = unknown(s, *c, fmt.Sprintf("/proc/%d/limits", s.System.Processes.Postmaster.Pid))
		return true
	}
	_, ok := serverSetting(s, c, setting)
	return !ok
}

// checkOpenFiles is "open_files".
func checkOpenFiles(s *Snapshot) Check {
	c := Check{ID: "open_files", Title: "Open files",
		Sources: []string{"/proc/PID/limits of the postmaster", "/proc/sys/fs/file-max, file-nr, nr_open", "pg_settings: max_files_per_process, max_connections"},
		Why: "A process of the server keeps up to max_files_per_process files open. With a lower limit of the system it keeps fewer, and opens and closes files all the time; " +
			"where the whole machine runs out, every program fails with \"Too many open files in system\"."}
	if needLimits(s, &c, "max_files_per_process") {
		return c
	}
	perProcess, _ := number(s, "max_files_per_process")
	const reserve = 64 // what the server keeps for other than data files, sockets and libraries
	need := uint64(perProcess) + reserve
	limit := s.System.Limits.OpenFiles
	all := uint64(perProcess) * serverProcesses(s)
	fileMax, okMax := s.sysctl("fs.file-max")
	c.Found = fmt.Sprintf("a process may open %s files; max_files_per_process is %d", limit, perProcess)
	if okMax {
		c.Found += fmt.Sprintf("; all processes of the server may come to %d, the machine allows %d", all, fileMax)
		if f := strings.Fields(s.System.Sysctls["fs.file-nr"]); len(f) == 3 {
			c.Found += " and has " + f[0] + " open"
		}
	}
	c.Expected = fmt.Sprintf("at least %d for a process, %d for the machine", need, all)
	c.Status = OK
	if limit.Soft < need {
		c.Status = Warn
		value := max(need*2, 65536)
		c.Fix, c.Undo = limitFix(s, "pgtlb-files.conf", "LimitNOFILE", value, fmt.Sprintf("--ulimit nofile=%d:%d", value, value), fmt.Sprintf("--ulimit nofile=%s:%d", limit, limit.Hard))
		c.Takes = TakesRestart
	}
	if okMax && fileMax > 0 && uint64(fileMax) < all {
		c.Status = Warn
		fix, undo := persistent(s, "91-postgresql-files.conf", fmt.Sprintf("fs.file-max=%d", 2*all))
		c.Fix, c.Undo = append(fix, c.Fix...), append(undo, c.Undo...)
		if c.Takes == "" {
			c.Takes = TakesNothing
		}
	}
	return c
}

// limitFix are the lines that raise a limit of the postmaster.
func limitFix(s *Snapshot, file, name string, value uint64, option, old string) (fix, undo []string) {
	if s.System.Place.Container != "" {
		const head = "# start the container with this option:"
		return []string{head, option}, []string{head, old}
	}
	return s.System.Unit.dropIn(file, fmt.Sprintf("%s=%d", name, value))
}

// checkProcesses is "processes": whether the system lets the server have all its
// processes.
func checkProcesses(s *Snapshot) Check {
	c := Check{ID: "processes", Title: "Number of processes",
		Sources: []string{"/proc/PID/limits of the postmaster", "pids.max of its control group, every level", "/proc/sys/kernel/pid_max, threads-max", "pg_settings: max_connections and the numbers of workers"},
		Why:     "A session is a process. Where the system allows no more the connection ends with \"could not fork new process for connection: Resource temporarily unavailable\"; background workers fail the same way."}
	if needLimits(s, &c, "max_connections") {
		return c
	}
	need := serverProcesses(s)
	limit := s.System.Limits.Processes
	c.Found = fmt.Sprintf("the server may come to %d processes; its account may have %s", need, limit)
	c.Expected = fmt.Sprintf("at least %d at every limit", need)
	c.Status = OK
	if limit.Soft < need {
		c.Status = Warn
		c.Fix, c.Undo = limitFix(s, "pgtlb-processes.conf", "LimitNPROC", 2*need, fmt.Sprintf("--ulimit nproc=%d:%d", 2*need, 2*need), fmt.Sprintf("--ulimit nproc=%s:%d", limit, limit.Hard))
		c.Takes = TakesRestart
	}
	if g := s.System.Group; g.PidsMax > 0 {
		c.Found += fmt.Sprintf("; %s allows %d, %d are there", g.PidsLevel, g.PidsMax, g.PidsNow)
		if uint64(g.PidsMax) < need {
			c.Status = Warn
			fix, undo := limitFix(s, "pgtlb-tasks.conf", "TasksMax", 2*need, fmt.Sprintf("--pids-limit=%d", 2*need), fmt.Sprintf("--pids-limit=%d", g.PidsMax))
			c.Fix, c.Undo, c.Takes = append(c.Fix, fix...), append(c.Undo, undo...), TakesRestart
		}
	}
	for _, name := range []string{"kernel.pid_max", "kernel.threads-max"} {
		n, ok := s.sysctl(name)
		if !ok {
			continue
		}
		c.Found += fmt.Sprintf("; %s is %d", name, n)
		if n > 0 && uint64(n) < need {
			c.Status = Warn
			fix, undo := persistent(s, "91-postgresql-processes.conf", fmt.Sprintf("%s=%d", name, max(4*need, 32768)))
			c.Fix, c.Undo = append(fix, c.Fix...), append(undo, c.Undo...)
			if c.Takes == "" {
				c.Takes = TakesNothing
			}
		}
	}
	return c
}

// backlogCap is the longest queue that servers before 16 ask for.
const backlogCap = 10000

// checkListenQueue is "somaxconn": how many clients may wait to be let in.
func checkListenQueue(s *Snapshot) Check {
	c := Check{ID: "somaxconn", Title: "Queue of connecting clients",
		Sources: []string{"/proc/sys/net/core/somaxconn", "pg_settings: max_connections"},
		Why: "The server asks for a queue of twice max_connections; the kernel cuts it to net.core.somaxconn. When many clients connect at once, those beyond it wait for TCP's next try, " +
			"one second and more, or get \"Resource temporarily unavailable\" on a Unix socket. The value counts from the server's next start."}
	set, ok := serverSetting(s, &c, "max_connections")
	if !ok || elsewhere(s, &c) {
		return c
	}
	most, _ := strconv.ParseInt(set.Setting, 10, 64)
	limit, ok := s.sysctl("net.core.somaxconn")
	if !ok {
		return unknown(s, c, "/proc/sys/net/core/somaxconn")
	}
	asked := 2 * most
	if s.Server.Info.VersionNum < 160000 {
		asked = min(asked, backlogCap)
	}
	c.Found = fmt.Sprintf("net.core.somaxconn is %d; the server asks for %d (max_connections is %d)", limit, asked, most)
	c.Expected = fmt.Sprintf("at least %d", most)
	c.Status = OK
	if limit >= most {
		return c
	}
	c.Status = Warn
	c.Fix, c.Undo = persistent(s, "91-postgresql-somaxconn.conf", fmt.Sprintf("net.core.somaxconn=%d", asked))
	c.Takes = TakesRestart
	return c
}
