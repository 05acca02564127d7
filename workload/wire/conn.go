package wire

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Conn is a connection that was handed over. While a Run uses it, nobody else may.
type Conn struct {
	socket   socket
	fd       int // the descriptor of a direct one, else -1
	indirect string
	broken   bool
	closed   bool
	// from is of no use any more but to know how a cancel request gets to the server.
	from *pgconn.PgConn
}

// socket is the end of a connection that is this package's own.
type socket interface {
	// stream is the socket as a net.Conn, which replaces it; after an error it is
	// closed.
	stream() (net.Conn, error)
	// interrupt ends, in the middle of it, what any other goroutine does with it.
	interrupt()
	// close closes it, after a word to the server if it still listens.
	close(broken bool) error
}

// terminate is the message that ends a session.
const terminate = "X\x00\x00\x00\x04"

// Adopt takes a connection over from pgconn, which must be idle, outside a
// transaction, and is of no more use afterwards. After an error conn may be closed.
// The caller closes the Conn.
func Adopt(ctx context.Context, conn *pgconn.PgConn) (*Conn, error) {
	if s := conn.TxStatus(); s != 'I' {
		return nil, fmt.Errorf("taking a connection over: it is in a transaction (status %c)", s)
	}
	// The server must have nothing more to say.
	if err := conn.SyncConn(ctx); err != nil {
		return nil, fmt.Errorf("taking a connection over: %w", err)
	}
	h, err := conn.Hijack()
	if err != nil {
		return nil, fmt.Errorf("taking a connection over: %w", err)
	}
	c := &Conn{from: conn}
	if c.socket, c.fd, c.indirect, err = open(h.Conn); err != nil {
		return nil, fmt.Errorf("taking a connection over: %w", err)
	}
	return c, nil
}

// PID is the server's process for the connection.
func (c *Conn) PID() int { return int(c.from.PID()) }

// Indirect says why the connection cannot be driven from its descriptor, in words that
// follow its name: "is encrypted (TLS 1.3)". It is empty if it can.
func (c *Conn) Indirect() string { return c.indirect }

// Close ends the session and closes the connection. A second Close does nothing.
func (c *Conn) Close() error {
	if c.closed {
		return nil
	}
	c.closed = true
	if err := c.socket.close(c.broken); err != nil {
		return fmt.Errorf("closing a connection: %w", err)
	}
	return nil
}

// stream has the connection be no more than a net.Conn from now on.
func (c *Conn) stream() (net.Conn, error) {
	conn, err := c.socket.stream()
	if err != nil {
		c.closed = true
		return nil, fmt.Errorf("giving a connection to the runtime: %w", err)
	}
	c.socket, c.fd = netSocket{conn}, -1
	if c.indirect == "" {
		c.indirect = "was used together with one that cannot be driven directly"
	}
	return conn, nil
}

// cancel asks the server to cancel the connection's query, through a connection
// of its own, encrypted if this one is, and waits until the server has passed the request
// on or ctx ends.
func (c *Conn) cancel(ctx context.Context) error {
	if err := c.from.CancelRequest(ctx); err != nil {
		return fmt.Errorf("cancelling: %w", err)
	}
	return nil
}

// netSocket is a socket that the runtime's own poller watches.
type netSocket struct{ conn net.Conn }

func (s netSocket) stream() (net.Conn, error) { return s.conn, nil }

func (s netSocket) interrupt() {
	_ = s.conn.SetDeadline(time.Unix(0, 1)) // one that is closed already is as good
}

// parting is how long a server may take to take in that a session ends.
const parting = 100 * time.Millisecond

func (s netSocket) close(broken bool) error {
	// The server ends the session too if the message does not reach it.
	if !broken && s.conn.SetDeadline(time.Now().Add(parting)) == nil {
		_, _ = s.conn.Write([]byte(terminate))
	}
	if over, ok := s.conn.(*tls.Conn); ok {
		return over.NetConn().Close() // TLS itself would have one more word, and wait for it to be taken
	}
	return s.conn.Close()
}

// wrapping says what is between a connection and its socket, empty for nothing.
func wrapping(conn net.Conn) string {
	switch c := conn.(type) {
	case *net.TCPConn, *net.UnixConn:
		return ""
	case *tls.Conn:
		return fmt.Sprintf("is encrypted (%s)", tls.VersionName(c.ConnectionState().Version))
	}
	return fmt.Sprintf("is no plain TCP or Unix socket but a %T", conn)
}
