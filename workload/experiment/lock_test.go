package experiment

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A look at a file for a moment is no recording of it.
func TestLockWaitsForALook(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	held, f := open(), open()
	if err := Lock(held); err != nil {
		t.Fatal(err)
	}
	if locked, known := Locked(f); locked && known {
		if err := Lock(f); err == nil {
			t.Error("a lock that another holds was taken")
		}
	} else {
		t.Skip("need: locks of files")
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Lock(f); err != nil {
		t.Error(err)
	}
}

// An experiment is under way while its journal is locked, and not after a crash.
func TestUnderWay(t *testing.T) {
	j, dir := create(t, plan(1, "a", "b"))
	under, known := again(t, dir).UnderWay()
	if !known {
		t.Skip("need: locks of files")
	}
	if !under {
		t.Error("it is not seen")
	}
	if err := j.Release(); err != nil { // as a crash does
		t.Fatal(err)
	}
	if under, _ := again(t, dir).UnderWay(); under {
		t.Error("it is still seen")
	}
	more := again(t, dir)
	if err := errors.Join(more.GoOn(), more.GoOn()); err != nil {
		t.Error(err)
	}
	if under, _ := again(t, dir).UnderWay(); !under {
		t.Error("gone on with, it is not seen")
	}
	if err := errors.Join(more.Release(), more.Release()); err != nil {
		t.Error(err)
	}
}
