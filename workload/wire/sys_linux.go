package wire

import (
	"time"
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

// waitBriefly waits for events for a millisecond at most. The scheduler is not
// told, so that the thread comes back at once: a collection of garbage that begins
// meanwhile waits no longer than that, and a preemption's signal ends the wait.
func waitBriefly(epoll int, events []unix.EpollEvent) int {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), 1, 0, 0)
	if errno != 0 {
		return 0 // the wait that follows meets the same error
	}
	return int(n)
}

// slice is the time slice that a thread asks for, the shortest the kernel gives.
const slice = 100 * time.Microsecond

// wakeSoon has the calling thread run soon after something has arrived for it,
// instead of after a time slice of what runs then: all of its clients wait for it.
// It gets no more CPU time by that. Kernels before 6.12 pay no heed, and one that
// refuses is as good: the thread then runs as others do. The function returned
// undoes it.
func wakeSoon() (undo func()) {
	was, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return func() {}
	}
	soon := *was
	soon.Runtime = uint64(slice)
	if unix.SchedSetAttr(0, &soon, 0) != nil {
		return func() {}
	}
	return func() { _ = unix.SchedSetAttr(0, was, 0) } // what was set before is allowed
}

// threadCPU is the CPU time, user and kernel, of the calling thread.
func threadCPU() int64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &u) != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
