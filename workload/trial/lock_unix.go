//go:build unix

package trial

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// The lock of a run file is one of the kernel's (flock): it is the open file's, so
// it ends with the program whatever way that ends, and stays with the file when it
// is renamed.

// waitLock locks a file that is being written; a list that looks at it at this
// moment holds it for an instant. Where the file system knows no locks, there is
// none.
func waitLock(f *os.File) error { return flock(f, unix.LOCK_EX) }

// tryLock locks a file that is about to be changed. errBusy means that another
// program writes to it. A list that looks at it holds it for an instant, so it tries
// for a moment.
func tryLock(f *os.File) error {
	const tries, pause = 20, 10 * time.Millisecond
	for range tries {
		if err := flock(f, unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, errBusy) {
			return err
		}
		time.Sleep(pause)
	}
	return errBusy
}

// isLocked tells whether another program writes to a file.
func isLocked(f *os.File) bool {
	err := flock(f, unix.LOCK_SH|unix.LOCK_NB)
	if err == nil {
		_ = flock(f, unix.LOCK_UN) // else it ends with the file, a moment later
	}
	return errors.Is(err, errBusy)
}

func flock(f *os.File, how int) error {
	for {
		switch err := unix.Flock(int(f.Fd()), how); {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return errBusy
		case errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
			return nil
		default:
			return err
		}
	}
}
