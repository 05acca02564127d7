//go:build unix

package experiment

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Lock takes the file for this process until it is closed or the process dies.
func Lock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errors.New("another pgtlb is at it")
	}
	return err
}
