package doctor

import (
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
)

// Limits are resource limits of the postmaster, which its children inherit: the soft
// ones, where the largest number means unlimited.
type Limits struct {
	OpenFiles uint64 `json:"open_files"`
	Processes uint64 `json:"processes"`
}

// anyNumber writes a kernel setting whose largest values stand for no limit.
func anyNumber(n int64) string {
	if n >= 1<<60 {
		return "any number"
	}
	return number64(n)
}

// limitText writes a limit as the system does.
func limitText(n uint64) string {
	if n == math.MaxUint64 {
		return "unlimited"
	}
	return strconv.FormatUint(n, 10)
}

// dropIn are the lines that give the server's unit some settings, and those that
// take them back; what restarts the server is among them.
func dropIn(s *Snapshot, file string, settings ...string) (fix, undo []string) {
	name := "postgresql.service"
	if u := s.Pages.Unit; u != nil {
		name = u.Name
	} else {
		fix = append(fix, "# put in the name of the server's unit where it is another:")
	}
	dir := quote("/etc/systemd/system/" + name + ".d")
	conf := quote("/etc/systemd/system/" + name + ".d/" + file)
	text := `[Service]\n`
	for _, set := range settings {
		text += set + `\n`
	}
	end := []string{"systemctl daemon-reload", "systemctl restart " + quote(name)}
	fix = append(fix, "mkdir -p "+dir, fmt.Sprintf("printf '%s' > %s", text, conf))
	return append(fix, end...), append([]string{"rm " + conf}, end...)
}

// byUnit tells whether a systemd unit starts the server, or may do so where the
// server's control group is not known.
func (s *Snapshot) byUnit() bool {
	return s.System.Logind.Systemd && (s.Pages.Unit != nil || !s.Pages.Cgroup.Server)
}

// startScript are the lines that a start script needs, where no unit runs the
// server, and those that take them back.
func startScript(lines ...string) (fix, undo []string) {
	fix = append([]string{"# in the script that starts the server, before it, as root:"}, lines...)
	return fix, append([]string{"# in the script that starts the server, take out again:"}, lines...)
}

// serverProcesses is how many processes a server may have: sessions, workers of
// each kind, and its own.
func serverProcesses(s *Snapshot) uint64 {
	const own = 12 // checkpointer, writers, launchers, logger, archiver, summarizer, startup, receiver
	n := uint64(own)
	for _, name := range []string{"max_connections", "autovacuum_worker_slots", "autovacuum_max_workers", "max_wal_senders", "max_worker_processes", "io_workers"} {
		v, ok := settingNumber(s, name)
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
	perProcess, _ := settingNumber(s, "max_files_per_process")
	const reserve = 64 // what the server keeps for other than data files, sockets and libraries
	need := uint64(perProcess) + reserve
	limit := s.System.Limits.OpenFiles
	all := uint64(perProcess) * serverProcesses(s)
	fileMax, okMax := s.sysctl("fs.file-max")
	c.Found = fmt.Sprintf("a process may open %s files; max_files_per_process is %d", limitText(limit), perProcess)
	if okMax {
		c.Found += fmt.Sprintf("; all processes of the server may come to %s, the machine allows %s", number64(int64(all)), anyNumber(fileMax))
		if f := strings.Fields(s.System.Sysctls["fs.file-nr"]); len(f) == 3 {
			c.Found += " and has " + f[0] + " open"
		}
	}
	c.Expected = fmt.Sprintf("at least %s for a process, %s for the machine", number64(int64(need)), number64(int64(all)))
	c.Status = OK
	if limit < need {
		c.Status = Warn
		value := max(need*2, 65536)
		c.Fix, c.Undo = limitFix(s, "pgtlb-files.conf", "LimitNOFILE", value, fmt.Sprintf("ulimit -n %d", value), fmt.Sprintf("--ulimit nofile=%d:%d", value, value), "--ulimit nofile="+limitText(limit))
		c.Takes = TakesRestart
	}
	if okMax && fileMax > 0 && uint64(fileMax) < all {
		c.Status = Warn
		fix, undo := persistent(s, "91-pgtlb-files.conf", fmt.Sprintf("fs.file-max=%d", 2*all))
		c.Fix, c.Undo = append(fix, c.Fix...), append(undo, c.Undo...)
		if c.Takes == "" {
			c.Takes = TakesNothing
		}
	}
	return c
}

// limitFix are the lines that raise a limit of the postmaster.
func limitFix(s *Snapshot, file, name string, value uint64, script, option, old string) (fix, undo []string) {
	if s.inContainer() {
		const head = "# start the container with this option:"
		return []string{head, option}, []string{head, old}
	}
	if !s.byUnit() {
		return startScript(script)
	}
	return dropIn(s, file, fmt.Sprintf("%s=%d", name, value))
}

// tasksFix are the lines that raise pids.max at the level that is tight, and those
// that take them back.
func tasksFix(s *Snapshot, t Tasks, value uint64) (fix, undo []string, takes Takes) {
	group := path.Base(path.Dir(t.File))
	managed := strings.HasSuffix(group, ".slice") || strings.HasSuffix(group, ".service") || strings.HasSuffix(group, ".scope")
	switch {
	case s.inContainer():
		const head = "# start the container with this option:"
		return []string{head, fmt.Sprintf("--pids-limit=%d", value)}, []string{head, fmt.Sprintf("--pids-limit=%d", t.Max)}, TakesRestart
	case managed && s.System.Logind.Systemd: // in effect at once, and kept in a file
		set := func(n uint64) []string {
			return []string{fmt.Sprintf("systemctl set-property %s TasksMax=%d", quote(group), n)}
		}
		return set(value), set(uint64(t.Max)), TakesNothing
	}
	write := func(n uint64) []string { return []string{fmt.Sprintf("echo %d > %s", n, quote(t.File))} }
	return write(value), write(uint64(t.Max)), TakesNothing
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
	c.Found = fmt.Sprintf("the server may come to %d processes; its account may have %s", need, limitText(limit))
	c.Expected = fmt.Sprintf("at least %d at every limit", need)
	c.Status = OK
	if limit < need {
		c.Status = Warn
		c.Fix, c.Undo = limitFix(s, "pgtlb-processes.conf", "LimitNPROC", 2*need, fmt.Sprintf("ulimit -u %d", 2*need), fmt.Sprintf("--ulimit nproc=%d:%d", 2*need, 2*need), "--ulimit nproc="+limitText(limit))
		c.Takes = TakesRestart
	}
	if t := s.System.Tasks; t.File != "" {
		c.Found += fmt.Sprintf("; %s allows %d, %d are there", t.File, t.Max, t.Now)
		if t.Max >= 0 && uint64(t.Max) < need {
			c.Status = Warn
			fix, undo, takes := tasksFix(s, t, 2*need)
			c.Fix, c.Undo = append(c.Fix, fix...), append(c.Undo, undo...)
			if c.Takes == "" {
				c.Takes = takes
			}
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
			fix, undo := persistent(s, "91-pgtlb-processes.conf", fmt.Sprintf("%s=%d", name, max(4*need, 32768)))
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
	c.Fix, c.Undo = persistent(s, "91-pgtlb-somaxconn.conf", fmt.Sprintf("net.core.somaxconn=%d", asked))
	c.Takes = TakesRestart
	return c
}
