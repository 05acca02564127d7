package lab

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// supported tells why a lab cannot run on this system; nil means it can.
func supported() error { return nil }

// procAttr gives a program its own process group, an account, and a signal for the case that pgtlb is killed.
func procAttr(a *account, death syscall.Signal) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: death}
	if a != nil {
		attr.Credential = &syscall.Credential{Uid: a.UID, Gid: a.GID, Groups: []uint32{a.GID}}
	}
	return attr
}

// signalGroup signals the process group that pid leads. A group that is gone is no error.
func signalGroup(pid int, sig syscall.Signal) error {
	if err := syscall.Kill(-pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// signalPid signals one process. A process that is gone is no error.
func signalPid(pid int, sig syscall.Signal) error {
	if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// tryLock takes the exclusive lock on f unless somebody has it; closing f releases it.
func tryLock(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// ownerOf gives the uid and inode of a file.
func ownerOf(fi fs.FileInfo) (uid int, inode uint64, ok bool) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(st.Uid), st.Ino, true
}

// removeSysV removes the System V shared memory segment id, which a killed postmaster leaves behind, when it belongs
// to uid and nobody is attached to it.
func removeSysV(id, uid int) error {
	var ds unix.SysvShmDesc
	if _, err := unix.SysvShmCtl(id, unix.IPC_STAT, &ds); err != nil {
		return nil // gone: the server removed it itself
	}
	if ds.Nattch != 0 || int(ds.Perm.Uid) != uid {
		return nil
	}
	_, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	return err
}
