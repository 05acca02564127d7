package wire

import (
	"context"
	"fmt"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sys/unix"
)

// Adopt takes a connection over from pgconn, which must be idle, outside a
// transaction, and is of no more use afterwards. The error is an *UnsupportedError
// for a connection with TLS or another wrapper; conn is then untouched. After
// another error conn may be closed. The caller closes the Conn.
func Adopt(ctx context.Context, conn *pgconn.PgConn) (*Conn, error) {
	if err := drivable(conn); err != nil {
		return nil, err
	}
	c, h, err := takeOver(ctx, conn)
	if err != nil {
		return nil, err
	}
	// A second descriptor of the socket, which stays non-blocking; the first is
	// closed, so that the runtime's own poller does not watch it.
	c.fd, err = duplicate(h.Conn.(syscall.Conn))
	if closing := h.Conn.Close(); err == nil && closing != nil {
		_ = unix.Close(c.fd) // the error before it counts
		err = closing
	}
	if err != nil {
		return nil, fmt.Errorf("taking a connection over: %w", err)
	}
	return c, nil
}

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

// terminate is the message that ends a session.
const terminate = "X\x00\x00\x00\x04"

// Close ends the session and closes the connection. A second Close does nothing.
func (c *Conn) Close() error {
	if c.fd < 0 {
		return nil
	}
	if !c.broken {
		// The server ends the session too if the message does not reach it.
		_, _ = transmit(c.fd, []byte(terminate))
	}
	err := unix.Close(c.fd)
	c.fd = -1
	if err != nil {
		return fmt.Errorf("closing a connection: %w", err)
	}
	return nil
}

// shutdown ends the connection under a thread that waits for it.
func (c *Conn) shutdown() {
	_ = unix.Shutdown(c.fd, unix.SHUT_RDWR) // one that is gone already is as good
}
