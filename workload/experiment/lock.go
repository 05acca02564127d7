package experiment

import (
	"errors"
	"os"
	"time"
)

// ErrBusy says that another program has the lock of a file.
var ErrBusy = errors.New("another pgtlb is at it")

// Lock takes a file that is about to be changed, until it is closed or the process
// dies. The error is ErrBusy where another has it. Who looks at a lock (Locked) holds it
// for an instant, so it is tried for a moment. Where files have no locks, there is none.
func Lock(f *os.File) error {
	const tries, pause = 20, 10 * time.Millisecond
	for range tries {
		if err := lockNow(f); !errors.Is(err, ErrBusy) {
			return err
		}
		time.Sleep(pause)
	}
	return ErrBusy
}
