//go:build unix

package experiment

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// opened is a file, opened again.
func opened(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestLockIsOfOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	held, f := opened(t, path), opened(t, path)
	if err := Lock(held); err != nil {
		t.Fatal(err)
	}
	if locked, known := Locked(f); !locked || !known {
		t.Errorf("locked %v, known %v", locked, known)
	}
	if err := Lock(f); !errors.Is(err, ErrBusy) {
		t.Errorf("a lock that another holds: %v", err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if locked, known := Locked(f); locked || !known {
		t.Errorf("after the end: locked %v, known %v", locked, known)
	}
	if err := Lock(f); err != nil {
		t.Error(err)
	}
}

// Who looks at a lock holds it for an instant: that is waited for.
func TestLockWaitsForALook(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	looking, f := opened(t, path), opened(t, path)
	if err := flock(looking, unix.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	looked := make(chan error, 1)
	go func() {
		time.Sleep(30 * time.Millisecond)
		looked <- flock(looking, unix.LOCK_UN)
	}()
	if err := errors.Join(Lock(f), <-looked); err != nil {
		t.Error(err)
	}
}
