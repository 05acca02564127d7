//go:build unix

package probes

import (
	"time"

	"golang.org/x/sys/unix"
)

// OwnCPU is the CPU time, user and kernel, that this process has used.
func OwnCPU() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
