//go:build unix

package labtest

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"time"
)

// Pools keeps the huge page pools of this machine for a test until it ends: packages are
// tested at the same time, and one must not count what another reserves. A test takes
// them once, itself, and not again in its subtests. Where there is no 2 MB pool there is
// nothing to keep.
func Pools(t testing.TB) {
	t.Helper()
	// Not the folder above it, which a lab locks.
	f, err := os.Open("/sys/kernel/mm/hugepages/hugepages-2048kB")
	if err != nil {
		return
	}
	t.Cleanup(func() { _ = f.Close() })
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			t.Fatalf("keeping the huge page pools for this test: %v", err)
		}
		select {
		case <-t.Context().Done():
			t.Fatal("the huge page pools were never free")
		case <-time.After(50 * time.Millisecond):
		}
	}
}
