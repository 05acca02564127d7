//go:build !unix

package experiment

import "os"

// Systems without flock have no locks: whether another program is at a file is not
// known there.

func lockNow(*os.File) error { return nil }

// WaitLock does nothing where there are no such locks.
func WaitLock(*os.File) error { return nil }

// Locked knows nothing where there are no such locks.
func Locked(*os.File) (locked, known bool) { return false, false }
