package perf

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// installFilter gives every thread of the process a seccomp filter.
func installFilter(prog []unix.SockFilter) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("setting no_new_privs: %w", err)
	}
	const setModeFilter, tsync = 1, 1 // SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC
	f := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	r, _, errno := unix.Syscall(unix.SYS_SECCOMP, setModeFilter, tsync, uintptr(unsafe.Pointer(&f)))
	if errno != 0 || r != 0 {
		return fmt.Errorf("installing a seccomp filter: %w (thread %d)", errno, r)
	}
	return nil
}
