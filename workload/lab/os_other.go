//go:build !linux

package lab

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"syscall"
)

// supported tells why a lab cannot run on this system; nil means it can.
func supported() error {
	return errors.New("a lab needs Linux (procfs, huge page pools); it is not supported on " + runtime.GOOS)
}

func procAttr(*account, syscall.Signal) *syscall.SysProcAttr { return nil }

func signalGroup(pid int, _ syscall.Signal) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

func signalPid(pid int, sig syscall.Signal) error { return signalGroup(pid, sig) }

func tryLock(*os.File) bool { return false }

func ownerOf(fs.FileInfo) (uid int, inode uint64, ok bool) { return 0, 0, false }

func removeSysV(id, uid int) error { return supported() }
