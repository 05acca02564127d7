package wire

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// What an event belongs to, if not to a client, whose number is not negative.
const (
	wakeUp = -1 - iota
	clock
)

// poller waits for a thread's descriptors. Connections are watched edge-triggered:
// an event comes once for what has arrived.
type poller struct {
	epoll, event, timer int
	armed               time.Duration // when timer fires, negative for never
	events              []unix.EpollEvent
	// hold has the thread keep its place in Go's scheduler at the beginning of a
	// wait. Giving it up and getting it back costs the process
	// 2 to 3 µs for each wait; others need another place meanwhile.
	hold bool
}

func newPoller(clients int, hold bool) (*poller, error) {
	p := &poller{epoll: -1, event: -1, timer: -1, armed: -1, hold: hold, events: make([]unix.EpollEvent, clients+2)}
	var err error
	if p.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("making an epoll instance: %w", err)
	}
	if p.event, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		p.close()
		return nil, fmt.Errorf("making an eventfd: %w", err)
	}
	if p.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK); err != nil {
		p.close()
		return nil, fmt.Errorf("making a timerfd: %w", err)
	}
	for fd, id := range map[int]int{p.event: wakeUp, p.timer: clock} {
		if err := p.control(unix.EPOLL_CTL_ADD, fd, unix.EPOLLIN|unix.EPOLLET, id); err != nil {
			p.close()
			return nil, err
		}
	}
	return p, nil
}

func (p *poller) control(op, fd int, events uint32, id int) error {
	err := unix.EpollCtl(p.epoll, op, fd, &unix.EpollEvent{Events: events, Fd: int32(id)})
	if err != nil {
		return fmt.Errorf("watching a descriptor: %w", err)
	}
	return nil
}

// add watches a connection for what arrives.
func (p *poller) add(fd, id int) error {
	return p.control(unix.EPOLL_CTL_ADD, fd, unix.EPOLLIN|unix.EPOLLET, id)
}

// again has an event come for what is there now: to read, and with out to write.
func (p *poller) again(fd, id int, out bool) error {
	events := uint32(unix.EPOLLIN | unix.EPOLLET)
	if out {
		events |= unix.EPOLLOUT
	}
	return p.control(unix.EPOLL_CTL_MOD, fd, events, id)
}

// remove watches a connection no more.
func (p *poller) remove(fd int) error { return p.control(unix.EPOLL_CTL_DEL, fd, 0, 0) }

// wait waits until something happens and returns what. at is when the thread has
// something to do by itself, in how long that is: not positive is now. A negative at is never.
func (p *poller) wait(at, in time.Duration) ([]unix.EpollEvent, error) {
	block := -1
	if at >= 0 && in <= 0 {
		block = 0
	} else if err := p.arm(at, in); err != nil {
		return nil, err
	}
	if block < 0 && p.hold {
		if n := waitBriefly(p.epoll, p.events); n > 0 {
			return p.events[:n], nil
		}
	}
	for {
		n, err := unix.EpollWait(p.epoll, p.events, block)
		if err == nil {
			return p.events[:n], nil
		}
		if err != unix.EINTR {
			return nil, fmt.Errorf("waiting for the server: %w", err)
		}
	}
}

// arm sets the timer, unless it is set to that time already.
func (p *poller) arm(at, in time.Duration) error {
	if at == p.armed {
		return nil
	}
	p.armed = at
	var when unix.ItimerSpec // zero is never
	if at >= 0 {
		when.Value = unix.NsecToTimespec(int64(in))
	}
	if err := unix.TimerfdSettime(p.timer, 0, &when, nil); err != nil {
		return fmt.Errorf("setting a timer: %w", err)
	}
	return nil
}

// wake has a wait return. Any goroutine may call it until the poller is closed.
func (p *poller) wake() {
	one := [8]byte{1}
	_, _ = unix.Write(p.event, one[:]) // it only fails when the thread has been woken 2^64 times
}

func (p *poller) close() {
	for _, fd := range []int{p.epoll, p.event, p.timer} {
		if fd >= 0 {
			_ = unix.Close(fd) // nothing is lost with it
		}
	}
}
