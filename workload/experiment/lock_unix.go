//go:build unix

package experiment

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// The lock of a file is one of the kernel's (flock): it is the open file's, so it
// ends with the program whatever way that ends, and stays with the file when it is
// renamed.

// errNoLocks says that the file system knows none.
var errNoLocks = errors.New("files have no locks here")

// lockNow takes the lock unless another has it.
func lockNow(f *os.File) error { return orNone(flock(f, unix.LOCK_EX|unix.LOCK_NB)) }

// WaitLock is Lock for a file that nobody else changes: one that looks at it at this
// moment is waited for.
func WaitLock(f *os.File) error { return orNone(flock(f, unix.LOCK_EX)) }

// Locked tells whether another program has the lock of a file; known is false where
// that cannot be told.
func Locked(f *os.File) (locked, known bool) {
	err := flock(f, unix.LOCK_SH|unix.LOCK_NB)
	if err == nil {
		_ = flock(f, unix.LOCK_UN) // else it ends with the file, a moment later
	}
	return errors.Is(err, ErrBusy), err == nil || errors.Is(err, ErrBusy)
}

func orNone(err error) error {
	if errors.Is(err, errNoLocks) {
		return nil
	}
	return err
}

func flock(f *os.File, how int) error {
	for {
		switch err := unix.Flock(int(f.Fd()), how); {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrBusy
		case errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
			return errNoLocks
		default:
			return err
		}
	}
}
