package probes

import (
	"errors"
	"fmt"
	"net"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// peerPid is the pid, in our namespace, of the process that called listen on
// the other end of a Unix socket; 0 when that process is outside of it.
func peerPid(c *net.UnixConn) (int, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("asking for the peer of the socket: %w", err)
	}
	var cred *unix.Ucred
	var cerr error
	if err := raw.Control(func(fd uintptr) {
		cred, cerr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return 0, fmt.Errorf("asking for the peer of the socket: %w", err)
	}
	if cerr != nil {
		return 0, fmt.Errorf("asking for the peer of the socket: %w", cerr)
	}
	return int(cred.Pid), nil
}

// sinceBoot is the clock that the start times in /proc/PID/stat are in. Not
// /proc/uptime: in some containers that file tells the container's age.
func sinceBoot() (time.Duration, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0, fmt.Errorf("reading the boot clock: %w", err)
	}
	return time.Duration(ts.Nano()), nil
}

// procFile is a file of a process. Kept open, it belongs to that process for
// good: after its end reads fail, also when the pid is used again.
type procFile struct {
	path string
	fd   int // -1 when it is not kept open
}

// noProcFile has no descriptor to close. The zero procFile has one: 0, the standard
// input.
func noProcFile() procFile { return procFile{fd: -1} }

// openProcFile opens a file. Without keep, or when this process may open no
// more files, it is opened anew for each read.
func openProcFile(path string, keep bool) (procFile, error) {
	f := procFile{path, -1}
	if !keep {
		return f, nil
	}
	fd, err := openRetry(path)
	switch {
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return f, nil
	case err != nil:
		return f, err
	}
	f.fd = fd
	return f, nil
}

func openRetry(path string) (int, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// read returns the whole file in buf or, when that is too small, in a larger
// one. One read is enough: the kernel makes these files in one piece.
func (f procFile) read(buf []byte) ([]byte, error) {
	fd := f.fd
	if fd < 0 {
		var err error
		if fd, err = openRetry(f.path); err != nil {
			return buf[:0], err
		}
		defer func() { _ = unix.Close(fd) }() // opened for reading: nothing is lost
	}
	for {
		n, err := readStart(fd, buf[:cap(buf)])
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return buf[:0], err
		case n < cap(buf):
			return buf[:n], nil
		default:
			buf = make([]byte, 0, 2*cap(buf))
		}
	}
}

// readStart is pread(2) from the start of a file, without telling Go's scheduler:
// status, stat and schedstat wait for nobody, and with a few µs each the
// scheduler's part would be a quarter to a half of the cost.
func readStart(fd int, buf []byte) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_PREAD64, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(len(buf)), 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

func (f procFile) close() {
	if f.fd >= 0 {
		_ = unix.Close(f.fd) // opened for reading: nothing is lost
	}
}

// mayOpen is how many files this process may have open. Go has raised the soft
// limit to the hard one when the process began.
func mayOpen() int {
	var lim unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &lim) != nil {
		return 0
	}
	return int(min(lim.Cur, 1<<20))
}

// madeByKernel tells whether a file is one of procfs or sysfs themselves, not one
// that is mounted over it.
func madeByKernel(path string) bool {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil {
		return false
	}
	return int64(st.Type) == unix.PROC_SUPER_MAGIC || int64(st.Type) == unix.SYSFS_MAGIC
}

// gone tells whether a read failed because the process has ended.
func gone(err error) bool {
	return errors.Is(err, unix.ESRCH) || errors.Is(err, unix.ENOENT)
}

// fileMemory identifies a file as the memory map of a process that has it mapped
// does, and tells how much memory or disk it takes, in kB.
func fileMemory(path string) (memoryID, uint64, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return memoryID{}, 0, err
	}
	const blocksPerKB = 2 // st_blocks is in units of 512 bytes
	dev := fmt.Sprintf("%02x:%02x", unix.Major(st.Dev), unix.Minor(st.Dev))
	return memoryID{dev, st.Ino}, uint64(st.Blocks) / blocksPerKB, nil
}
