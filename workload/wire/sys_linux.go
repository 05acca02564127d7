package wire

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// transmit sends what the socket takes of b, which must not be empty, without
// waiting. It goes past the scheduler's bookkeeping, as receive does: neither call can block.
func transmit(fd int, b []byte) (int, unix.Errno) {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)),
			unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		if errno == 0 {
			return int(n), 0
		}
		if errno != unix.EINTR {
			return 0, errno
		}
	}
}

// receive reads what has arrived into b, which must not be empty, without waiting.
// 0 bytes without an error are the end of the stream.
func receive(fd int, b []byte) (int, unix.Errno) {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)),
			unix.MSG_DONTWAIT, 0, 0)
		if errno == 0 {
			return int(n), 0
		}
		if errno != unix.EINTR {
			return 0, errno
		}
	}
}

// brief is how long a thread waits without telling Go's scheduler, in ms.
const brief = 10

// waitBriefly waits for events for a short time. The scheduler is not told, so that
// the thread comes back at once: a collection of garbage that begins meanwhile waits
// no longer than that, and a preemption's signal ends the wait.
func waitBriefly(epoll int, events []unix.EpollEvent) int {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), brief, 0, 0)
	if errno != 0 {
		return 0 // the wait that follows meets the same error
	}
	return int(n)
}

// threadCPU is the CPU time, user and kernel, of the calling thread.
func threadCPU() int64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &u) != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
