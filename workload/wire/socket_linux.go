package wire

import (
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// open takes the descriptor out of a connection, and closes that: the runtime's
// own poller is not to watch it. Otherwise it says why that cannot be done.
func open(conn net.Conn) (s socket, fd int, indirect string, err error) {
	if why := wrapping(conn); why != "" {
		return netSocket{conn}, -1, why, nil
	}
	fd, err = duplicate(conn.(syscall.Conn))
	if closing := conn.Close(); err == nil && closing != nil {
		_ = unix.Close(fd) // the error before it counts
		err = closing
	}
	return fdSocket(fd), fd, "", err
}

// duplicate returns a second descriptor, which stays non-blocking.
func duplicate(conn syscall.Conn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd := -1
	var failed error
	err = raw.Control(func(old uintptr) { fd, failed = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0) })
	if err != nil {
		return -1, err
	}
	return fd, failed
}

// fdSocket is a socket that only its descriptor stands for.
type fdSocket int

func (s fdSocket) stream() (net.Conn, error) {
	f := os.NewFile(uintptr(s), "socket")
	conn, err := net.FileConn(f)
	if closing := f.Close(); err == nil && closing != nil {
		_ = conn.Close() // the error before it counts
		err = closing
	}
	return conn, err
}

func (s fdSocket) interrupt() {
	_ = unix.Shutdown(int(s), unix.SHUT_RDWR) // one that is gone already is as good
}

func (s fdSocket) close(broken bool) error {
	if !broken {
		// The server ends the session too if the message does not reach it.
		_, _ = transmit(int(s), []byte(terminate))
	}
	return unix.Close(int(s))
}
