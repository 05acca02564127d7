package lab

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pgtlb/probes"
)

// residue is what a killed postmaster leaves outside its directory. A server that ended in order leaves nothing.
type residue struct {
	SysV int               `json:"sysv_id"`           // System V shared memory id, -1 for none
	Shm  map[string]uint64 `json:"dev_shm,omitempty"` // path under /dev/shm and inode
}

var shmLine = regexp.MustCompile(`(/dev/shm/PostgreSQL\.[0-9]+)$`)

// readResidue notes what the postmaster pid holds outside its data directory while it runs.
func readResidue(r Roots, pid int, data string) residue {
	out := residue{SysV: -1, Shm: map[string]uint64{}}
	if id, ok := sysvID(data); ok {
		out.SysV = id
	}
	b, err := os.ReadFile(r.ProcPath(strconv.Itoa(pid), "maps"))
	if err != nil {
		return out
	}
	for _, line := range strings.Split(string(b), "\n") {
		path := shmLine.FindString(line)
		if fi, err := os.Lstat(path); path != "" && err == nil {
			if _, inode, ok := ownerOf(fi); ok {
				out.Shm[path] = inode
			}
		}
	}
	return out
}

// sysvID reads line 7 of postmaster.pid: the key and the id of the server's System V segment.
func sysvID(data string) (int, bool) {
	lines := postmasterPid(data)
	if len(lines) < 7 {
		return 0, false
	}
	f := strings.Fields(lines[6])
	if len(f) != 2 {
		return 0, false
	}
	id, err := strconv.Atoi(f[1])
	return id, err == nil
}

// postmasterPid gives the lines of postmaster.pid; none when it is not there.
func postmasterPid(data string) []string {
	b, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimRight(string(b), "\n"), "\n")
}

func (c *Cluster) clearResidue() error {
	return c.mark.Residue.clear(c.opts.Roots, c.data, c.account.uid())
}

// clear ends the backends that outlived their postmaster and removes what they shared.
func (x residue) clear(r Roots, data string, uid int) error {
	var errs []error
	if err := endStrays(r, data, uid); err != nil {
		errs = append(errs, err)
	}
	if x.SysV >= 0 {
		if err := removeSysV(x.SysV, uid); err != nil {
			errs = append(errs, fmt.Errorf("removing System V segment %d: %w", x.SysV, err))
		}
	}
	for path, inode := range x.Shm {
		fi, err := os.Lstat(path)
		if err != nil || !shmLine.MatchString(path) {
			continue
		}
		if owner, ino, ok := ownerOf(fi); ok && owner == uid && ino == inode {
			errs = append(errs, removeListed(path, uid), os.Remove(path))
		}
	}
	return errors.Join(errs...)
}

// controlMagic begins the postmaster's list of dynamic shared memory segments (PG_DYNSHMEM_CONTROL_MAGIC).
const controlMagic = 0x9a503d32

// removeListed removes the segments that a control segment lists: backends made them after the postmaster's maps were
// read. The layout of the list differs between versions, the number in a segment's file name is always in it as 32 bits.
func removeListed(control string, uid int) error {
	b, err := os.ReadFile(control)
	if err != nil || len(b) < 4 || binary.NativeEndian.Uint32(b) != controlMagic {
		return err
	}
	listed := map[string]bool{}
	for i := 4; i+4 <= len(b); i += 4 {
		listed["PostgreSQL."+strconv.FormatUint(uint64(binary.NativeEndian.Uint32(b[i:])), 10)] = true
	}
	entries, err := os.ReadDir(filepath.Dir(control))
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		fi, err := e.Info()
		if err != nil || !listed[e.Name()] || !fi.Mode().IsRegular() {
			continue
		}
		path := filepath.Join(filepath.Dir(control), e.Name())
		if owner, _, ok := ownerOf(fi); ok && owner == uid && path != control {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// endStrays ends every process of uid that works in the data directory, which all of a server's processes do and nothing
// else should. The postmaster is gone; its backends go by themselves, mostly, when they notice.
func endStrays(r Roots, data string, uid int) error {
	deadline := time.NewTimer(killWait)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		left := workingIn(r, data, uid)
		if len(left) == 0 {
			return nil
		}
		for _, pid := range left {
			if err := signalPid(pid, syscall.SIGKILL); err != nil {
				return fmt.Errorf("ending backend %d: %w", pid, err)
			}
		}
		select {
		case <-deadline.C:
			return fmt.Errorf("ending backends: %v are still there after SIGKILL", left)
		case <-tick.C:
		}
	}
}

// workingIn lists the live processes of uid whose working directory is dir.
func workingIn(r Roots, dir string, uid int) []int {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // cwd is shown without links
	}
	all, err := probes.ListPids(r)
	if err != nil {
		return nil
	}
	var pids []int
	for _, pid := range all {
		if pid == 1 || pid == os.Getpid() {
			continue
		}
		proc := r.ProcPath(strconv.Itoa(pid))
		cwd, err := os.Readlink(filepath.Join(proc, "cwd"))
		if err != nil || cwd != dir {
			continue
		}
		if fi, err := os.Stat(proc); err == nil {
			if owner, _, ok := ownerOf(fi); ok && owner == uid {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
