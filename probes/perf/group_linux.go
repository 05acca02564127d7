package perf

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// target is one thing to count: a CPU (pid -1), a task (cpu -1, pid 0 is the calling thread), or what a cgroup runs on a
// CPU (pid is the descriptor of the cgroup's directory).
type target struct {
	pid, cpu int
	cgroup   bool
}

// flags are those of perf_event_open.
func (t target) flags() int {
	if t.cgroup {
		return unix.PERF_FLAG_FD_CLOEXEC | unix.PERF_FLAG_PID_CGROUP
	}
	return unix.PERF_FLAG_FD_CLOEXEC
}

// group is the same group of events open on every target.
type group struct {
	name    string
	events  []Event
	how     how
	members []members
	buf     []byte  // for one read
	counts  []Count // of one target
}

// how is what all groups of a layout have in common.
type how struct {
	inherit   bool // children count too
	atomic    bool // one read for the whole group; kernels before 4.13 refuse it together with inherit
	exclusive bool
}

// members are the descriptors of a group on one target, in the order of the events.
type members struct {
	target target
	fds    []int
	ids    []uint64 // the kernel's ids of the events
}

// openError says which event did not open.
type openError struct {
	event Event
	errno syscall.Errno
}

func (e *openError) Error() string {
	return fmt.Sprintf("opening %s: %v", e.event.Title, e.errno)
}

func (e *openError) Unwrap() error { return e.errno }

// openGroup opens the events as one group on every target and starts them. Tasks that ended meanwhile are left out,
// except the first one. On an error nothing stays open.
func openGroup(name string, events []Event, targets []target, h how) (*group, error) {
	g := &group{name: name, events: events, how: h, counts: make([]Count, len(events))}
	g.buf = make([]byte, max(groupHeader+len(events)*groupMember, singleSize)+1)
	for i, t := range targets {
		m, err := openMembers(events, t, h)
		if i > 0 && errors.Is(err, unix.ESRCH) {
			continue
		}
		if err != nil {
			return nil, errors.Join(err, g.close())
		}
		g.members = append(g.members, m)
	}
	for _, m := range g.members {
		if err := unix.IoctlSetInt(m.fds[0], unix.PERF_EVENT_IOC_ENABLE, unix.PERF_IOC_FLAG_GROUP); err != nil {
			return nil, errors.Join(fmt.Errorf("enabling group %s: %w", name, err), g.close())
		}
	}
	return g, nil
}

// openMembers opens a group on one target.
func openMembers(events []Event, t target, h how) (members, error) {
	m := members{target: t, fds: make([]int, 0, len(events)), ids: make([]uint64, 0, len(events))}
	for i, e := range events {
		leader := -1
		if i > 0 {
			leader = m.fds[0]
		}
		a := e.attr(i == 0, h.inherit, h.atomic)
		if i == 0 && h.exclusive {
			a.Bits |= unix.PerfBitExclusive
		}
		fd, err := unix.PerfEventOpen(a, t.pid, t.cpu, leader, t.flags())
		if err != nil {
			return members{}, errors.Join(&openError{event: e, errno: toErrno(err)}, m.close())
		}
		m.fds = append(m.fds, fd)
		id, err := eventID(fd)
		if err != nil {
			return members{}, errors.Join(fmt.Errorf("asking for the id of %s: %w", e.Title, err), m.close())
		}
		m.ids = append(m.ids, id)
	}
	return m, nil
}

// eventID asks the kernel which id it writes beside the values of an event.
func eventID(fd int) (uint64, error) {
	var id uint64
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.PERF_EVENT_IOC_ID, uintptr(unsafe.Pointer(&id)))
	runtime.KeepAlive(&id)
	if errno != 0 {
		return 0, errno
	}
	return id, nil
}

// toErrno unwraps the number of a failed system call; 0 where there is none.
func toErrno(err error) syscall.Errno {
	var errno syscall.Errno
	errors.As(err, &errno)
	return errno
}

// close closes siblings before their leader.
func (m members) close() error {
	var errs []error
	for i := len(m.fds) - 1; i >= 0; i-- {
		if err := unix.Close(m.fds[i]); err != nil {
			errs = append(errs, fmt.Errorf("closing an event: %w", err))
		}
	}
	return errors.Join(errs...)
}

func (g *group) close() error {
	var errs []error
	for _, m := range g.members {
		errs = append(errs, m.close())
	}
	g.members = nil
	return errors.Join(errs...)
}

// read adds one reading per event to dst, whose spare room is used again.
func (g *group) read(dst []Reading) ([]Reading, error) {
	first := len(dst)
	for _, e := range g.events {
		dst = grow(dst)
		r := &dst[len(dst)-1]
		r.ID, r.Group, r.Per, r.CPU = e.ID, g.name, r.Per[:0], r.CPU[:0]
	}
	out := dst[first:]
	for _, m := range g.members {
		if err := g.readMembers(m, g.counts); err != nil {
			return dst[:first], fmt.Errorf("reading group %s: %w", g.name, err)
		}
		for i := range out {
			out[i].Per = append(out[i].Per, g.counts[i])
			if m.target.cpu >= 0 {
				out[i].CPU = append(out[i].CPU, m.target.cpu)
			}
		}
	}
	return dst, nil
}

// grow adds one element to s and keeps what an earlier use left in it.
func grow(s []Reading) []Reading {
	if len(s) < cap(s) {
		return s[:len(s)+1]
	}
	return append(s, Reading{})
}

// readMembers reads the group on one target into counts.
func (g *group) readMembers(m members, counts []Count) error {
	if g.how.atomic {
		n, err := readFD(m.fds[0], g.buf)
		if err != nil {
			return err
		}
		return parseGroup(g.buf[:n], m.ids, counts)
	}
	for i, fd := range m.fds {
		n, err := readFD(fd, g.buf)
		if err != nil {
			return err
		}
		if counts[i], err = parseSingle(g.buf[:n], m.ids[i]); err != nil {
			return err
		}
	}
	return nil
}

// readFD reads once; buf is one byte longer than the longest answer, so a longer one is noticed.
func readFD(fd int, buf []byte) (int, error) {
	for {
		n, err := unix.Read(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 0, err
		}
		return n, nil
	}
}
