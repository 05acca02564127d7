//go:build unix

package experiment

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Lock takes the file for this process until it is closed or the process dies. Where
// the file system knows no locks, there is none.
func Lock(f *os.File) error {
	for {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return errors.New("another pgtlb is at it")
		case errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
			return nil
		default:
			return err
		}
	}
}
