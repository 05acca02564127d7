package doctor

import (
	"fmt"
	"strconv"
	"strings"
)

// Mount is a mounted file system.
type Mount struct {
	Type string `json:"type"`
	// SizeKB is the limit; 0 for none said, which is half of the memory for tmpfs.
	SizeKB uint64 `json:"size_kb,omitempty"`
}

// Semaphores are the System V semaphore sets of the postmaster's account.
type Semaphores struct {
	Seen bool `json:"seen"` // /proc/sysvipc/sem could be read
	Sets int  `json:"sets"`
	All  int  `json:"all"` // sets of all accounts
}

// lookAtShm reads what is mounted on /dev/shm where the postmaster sees it.
func lookAtShm(f files, postmaster int) *Mount {
	text, ok := f.text("/proc/" + processName(postmaster) + "/mounts")
	if !ok {
		return nil
	}
	return parseMount(text, "/dev/shm")
}

// processName is the directory of a process below /proc: our own for 0.
func processName(pid int) string {
	if pid == 0 {
		return "self"
	}
	return strconv.Itoa(pid)
}

// parseMount finds the last mount on a path in the lines of /proc/PID/mounts.
func parseMount(text, on string) *Mount {
	var m *Mount
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 4 || f[1] != on {
			continue
		}
		m = &Mount{Type: f[2]}
		for o := range strings.SplitSeq(f[3], ",") {
			if v, ok := strings.CutPrefix(o, "size="); ok {
				m.SizeKB, _ = parseSizeKB(v)
			}
		}
	}
	return m
}

// parseSizeKB reads a size as the kernel writes and takes it: "65536k", "2g", or bytes.
func parseSizeKB(s string) (uint64, bool) {
	digits := strings.TrimRight(s, "kKmMgG")
	n, err := strconv.ParseUint(digits, 10, 53)
	if err != nil {
		return 0, false
	}
	switch strings.ToLower(s[len(digits):]) {
	case "":
		return n >> 10, true
	case "k":
		return n, true
	case "m":
		return n << 10, n < 1<<40
	case "g":
		return n << 20, n < 1<<30
	}
	return 0, false
}

// lookAtSemaphores counts the sets of the postmaster's account.
func lookAtSemaphores(f files, postmaster *Process) Semaphores {
	text, ok := f.text("/proc/sysvipc/sem")
	if !ok {
		return Semaphores{}
	}
	out := Semaphores{Seen: true}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line) // key semid perms nsems uid …
		if len(fields) < 5 {
			continue
		}
		owner, err := strconv.Atoi(fields[4])
		if err != nil {
			continue // the heading
		}
		out.All++
		if postmaster != nil && owner == postmaster.UID {
			out.Sets++
		}
	}
	return out
}

// checkSharedMemoryType is "shared_memory_type": huge pages need mmap.
func checkSharedMemoryType(s *Snapshot) Check {
	c := Check{ID: "shared_memory_type", Title: "Kind of shared memory", Sources: []string{"pg_settings: shared_memory_type, huge_pages"},
		Expected: "mmap",
		Why:      "PostgreSQL gets huge pages on Linux only with shared_memory_type = mmap, the default. With sysv huge_pages = try is passed over without a word, and the kernel's limits of System V shared memory hold."}
	set, ok := serverSetting(s, &c, "shared_memory_type")
	if !ok {
		return c
	}
	pages, _ := s.Server.Exam.Setting("huge_pages")
	c.Found = fmt.Sprintf("shared_memory_type is %s, huge_pages is %s", set.Value, pages.Value)
	c.Status = OK
	if set.Value == "mmap" {
		return c
	}
	c.Status = Warn
	if pages.Value != "off" {
		c.Status = Fail
	}
	c.Fix, c.Undo, c.Takes = alter(s, set, "mmap")
	return c
}

// checkDynamicSharedMemory is "dynamic_shared_memory": whether parallel queries
// find room for what they share.
func checkDynamicSharedMemory(s *Snapshot) Check {
	c := Check{ID: "dynamic_shared_memory", Title: "Room for parallel queries (/dev/shm)",
		Sources: []string{"pg_settings: dynamic_shared_memory_type, work_mem, hash_mem_multiplier", "/proc/PID/mounts of the postmaster: /dev/shm"},
		Why: "Parallel queries share their hash tables in files below /dev/shm. A container's default is 64 MB: beyond it a query ends with " +
			"\"could not resize shared memory segment … No space left on device\". These pages are never huge pages of the pool."}
	set, ok := serverSetting(s, &c, "dynamic_shared_memory_type")
	if !ok {
		return c
	}
	switch set.Value {
	case "sysv":
		c.Status, c.Found = OK, "dynamic_shared_memory_type is sysv: the kernel's limits of System V shared memory hold, not /dev/shm"
		return c
	case "mmap":
		c.Status = Warn
		c.Found, c.Expected = "dynamic_shared_memory_type is mmap: parallel queries share files in the data directory, which the kernel writes to disk", "posix"
		c.Fix, c.Undo, c.Takes = alter(s, set, "posix")
		return c
	}
	if elsewhere(s, &c) {
		return c
	}
	hash, ok := hashKB(s, &c)
	if !ok {
		return c
	}
	const processes = 3 // the leader and two workers, the default number
	need := hash * processes
	m, room := s.System.Shm, uint64(0)
	switch {
	case m == nil:
		c.Status, c.Found = Unknown, "nothing is mounted on /dev/shm where the server sees it, or its mounts could not be read"
		return c
	case m.SizeKB > 0:
		room = m.SizeKB
	default:
		room = s.Pages.Memory.TotalKB / 2
	}
	c.Found = fmt.Sprintf("/dev/shm has at most %s; one parallel hash join may take %s (work_mem × hash_mem_multiplier × 3 processes)", memory(room), memory(need))
	// What is in /dev/shm is in memory: half of that is the most it should have.
	most := s.roomKB() / 2
	want := 2 * need
	c.Expected = "at least " + memory(want)
	if most > 0 && want > most {
		want = most
		c.Expected = fmt.Sprintf("at least %s, half of the memory; all that two such joins may take is more than that, which is a matter of work_mem for the roles that run them", memory(most))
	}
	c.Status = OK
	if room >= want {
		return c
	}
	c.Status = Warn
	size := tmpfsSize(4*need, most)
	switch {
	case s.inPod():
		c.Fix = []string{"# in the pod's manifest; counts towards the memory limit:", "volumes:", fmt.Sprintf("- {name: shm, emptyDir: {medium: Memory, sizeLimit: %si}}", strings.ToUpper(size)),
			"# in the container:", "volumeMounts:", "- {name: shm, mountPath: /dev/shm}"}
		c.Undo = []string{"# in the pod's manifest: take the volume shm and its mount out again"}
		c.Takes = TakesRestart
	case s.inContainer():
		c.Fix = []string{"# start the container with this option:", fmt.Sprintf("--shm-size=%s", size)}
		c.Undo = []string{"# start the container with this option:", fmt.Sprintf("--shm-size=%dk", room)}
		c.Takes = TakesRestart
	default:
		c.Fix = []string{fmt.Sprintf("mount -o remount,size=%s /dev/shm", size), "# to keep it, the same size= in the line of /dev/shm in /etc/fstab"}
		c.Undo = []string{fmt.Sprintf("mount -o remount,size=%dk /dev/shm", room)}
		c.Takes = TakesNothing
	}
	return c
}

// tmpfsSize writes the size of a tmpfs, "4g" or "750m": what is wanted in whole GB,
// at most so much.
func tmpfsSize(wantKB, mostKB uint64) string {
	gb := max(1, (wantKB+1<<20-1)>>20)
	if mostKB == 0 || gb<<20 <= mostKB {
		return fmt.Sprintf("%dg", gb)
	}
	return fmt.Sprintf("%dm", mostKB>>10)
}

// roomKB is the memory of the machine, or what the server's control group may have
// of it; 0 where it is not known.
func (s *Snapshot) roomKB() uint64 {
	total := s.Pages.Memory.TotalKB
	if l := s.Pages.Cgroup.tightest(0, 0); l != nil && uint64(l.Max)>>10 < total {
		total = uint64(l.Max) >> 10
	}
	return total
}

// hashKB is what one hash may take: work_mem times hash_mem_multiplier. False, with
// the check answered, where our role does not see the server's values.
func hashKB(s *Snapshot, c *Check) (uint64, bool) {
	times := 1.0
	for _, name := range []string{"work_mem", "hash_mem_multiplier"} {
		own, there := s.Server.Exam.Setting(name)
		set, ok := theServers(s, name)
		switch {
		case there && !ok:
			c.Status, c.Found = Unknown, notVisible(s, own)
			return 0, false
		case ok && name == "hash_mem_multiplier":
			if v, err := strconv.ParseFloat(set.Setting, 64); err == nil {
				times = v
			}
		}
	}
	work, _ := settingNumber(s, "work_mem")
	return uint64(float64(work) * times), true
}

// checkSysVSharedMemory is "sysv_shared_memory": the kernel's limits where they hold.
func checkSysVSharedMemory(s *Snapshot) Check {
	c := Check{ID: "sysv_shared_memory", Title: "Limits of System V shared memory",
		Sources: []string{"/proc/sys/kernel/shmmax, shmall, shmmni", "pg_settings: shared_memory_type, dynamic_shared_memory_type, shared_memory_size"},
		Why:     "With System V shared memory the server does not start, or a parallel query ends, where a segment is larger than kernel.shmmax or all of them than kernel.shmall."}
	kind, ok := serverSetting(s, &c, "shared_memory_type")
	if !ok {
		return c
	}
	dynamic, _ := s.Server.Exam.Setting("dynamic_shared_memory_type")
	if kind.Value != "sysv" && dynamic.Value != "sysv" {
		c.Status, c.Found = NotHere, fmt.Sprintf("shared_memory_type is %s and dynamic_shared_memory_type %s: of System V shared memory the server takes one segment of 56 bytes", kind.Value, dynamic.Value)
		return c
	}
	if elsewhere(s, &c) {
		return c
	}
	shmmax, okMax := unsigned(s.System.Sysctls["kernel.shmmax"])
	shmall, okAll := unsigned(s.System.Sysctls["kernel.shmall"])
	if !okMax || !okAll {
		return unknown(s, c, "/proc/sys/kernel/shmmax")
	}
	pageKB := uint64(s.granuleKB()) // kernel.shmall counts in the kernel's ordinary pages
	needKB := s.Server.Info.SharedMemoryKB
	if needKB == 0 {
		needKB = s.Server.Info.SharedBuffersKB * 11 / 10 // before 15: what else is shared is a tenth, as a rule
	}
	c.Found = fmt.Sprintf("the server's shared memory is %s; kernel.shmmax allows %s a segment, kernel.shmall %s pages of %d kB in all",
		memory(needKB), memory(shmmax>>10), strconv.FormatUint(shmall, 10), pageKB)
	c.Expected = fmt.Sprintf("kernel.shmmax at least %d, kernel.shmall at least %d", needKB<<10, needKB/pageKB+1)
	c.Status = OK
	if shmmax>>10 >= needKB && shmall >= needKB/pageKB+1 {
		return c
	}
	c.Status = Fail
	c.Fix, c.Undo = persistent(s, "91-pgtlb-shm.conf", fmt.Sprintf("kernel.shmmax=%d", max(shmmax, needKB<<10*5/4)),
		fmt.Sprintf("kernel.shmall=%d", max(shmall, needKB/pageKB*5/4+1)))
	c.Takes = TakesNothing
	return c
}

// unsigned reads a kernel setting that may be as large as 2^64−1.
func unsigned(text string) (uint64, bool) {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	return n, err == nil
}

// checkSemaphores is "semaphores": the kernel's limits where System V semaphores
// are in use.
func checkSemaphores(s *Snapshot) Check {
	c := Check{ID: "semaphores", Title: "Limits of System V semaphores",
		Sources: []string{"/proc/sysvipc/sem", "/proc/sys/kernel/sem"},
		Why:     "A server that is built for System V semaphores takes sets of them at its start, and does not start (\"No space left on device\") where the kernel has too few."}
	if noPostmaster(s, &c) {
		return c
	}
	sem := s.System.Semaphores
	if !sem.Seen {
		return unknown(s, c, "/proc/sysvipc/sem")
	}
	if sem.Sets == 0 {
		c.Status, c.Found = NotHere, "the server's account has no System V semaphores: this build uses POSIX semaphores in its shared memory, which no kernel setting limits"
		return c
	}
	f := strings.Fields(s.System.Sysctls["kernel.sem"])
	if len(f) != 4 {
		return unknown(s, c, "/proc/sys/kernel/sem")
	}
	var limit [4]int // semaphores a set, in all, operations a call, sets
	for i, t := range f {
		limit[i], _ = strconv.Atoi(t)
	}
	need, how := semaphoresNeeded(s)
	sets := (need + perSet - 1) / perSet
	c.Found = fmt.Sprintf("the account has %d sets of %d on the machine; kernel.sem is %d %d %d %d; the server needs %d semaphores (%s), in %d sets of %d",
		sem.Sets, sem.All, limit[0], limit[1], limit[2], limit[3], need, how, sets, perSet+1)
	wantAll, wantSets := max(limit[1], 2*sets*(perSet+1)), max(limit[3], 2*sets)
	c.Expected = fmt.Sprintf("kernel.sem at least %d %d %d %d", perSet+1, sets*(perSet+1), limit[2], sets)
	c.Status = OK
	others := sem.All - sem.Sets
	if limit[0] >= perSet+1 && limit[1] >= (sets+others)*(perSet+1) && limit[3] >= sets+others {
		return c
	}
	c.Status = Fail
	c.Fix, c.Undo = persistent(s, "91-pgtlb-sem.conf", fmt.Sprintf("kernel.sem=%d %d %d %d", max(limit[0], perSet+1), wantAll, limit[2], wantSets))
	c.Takes = TakesNothing
	return c
}

// perSet is how many semaphores of a set the server uses; one more marks the set
// (manual, "Managing Kernel Resources").
const perSet = 16

// semaphoresNeeded is how many semaphores a server takes, and how that is known:
// from 18 it says so itself, before that by the manual's sum.
func semaphoresNeeded(s *Snapshot) (n int, how string) {
	if v, ok := settingNumber(s, "num_os_semaphores"); ok {
		return int(v), "num_os_semaphores"
	}
	const own = 7 // of the server's own processes, in the manual of 17; no older version takes more
	n = own
	for _, name := range []string{"max_connections", "autovacuum_max_workers", "max_wal_senders", "max_worker_processes"} {
		v, _ := settingNumber(s, name)
		n += int(v)
	}
	return n, "max_connections + autovacuum_max_workers + max_wal_senders + max_worker_processes + 7"
}
