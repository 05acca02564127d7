package wire

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgconn"
)

// Conn is a connection that was handed over. While a Run uses it, nobody else may.
type Conn struct {
	fd     int // -1 once closed
	broken bool
	pid    uint32
	key    []byte

	// Where a cancel request goes, and how it gets there.
	network, address string
	dial             pgconn.DialFunc
}

// PID is the server's process for the connection.
func (c *Conn) PID() int { return int(c.pid) }

// takeOver waits until the server has nothing more to say and takes the
// connection from pgconn, which does not know it any more.
func takeOver(ctx context.Context, from *pgconn.PgConn) (*Conn, *pgconn.HijackedConn, error) {
	if err := from.SyncConn(ctx); err != nil {
		return nil, nil, fmt.Errorf("taking a connection over: %w", err)
	}
	h, err := from.Hijack()
	if err != nil {
		return nil, nil, fmt.Errorf("taking a connection over: %w", err)
	}
	c := &Conn{fd: -1, pid: h.PID, key: h.SecretKey, dial: h.Config.DialFunc}
	// A Unix socket's remote address is the name that the server gave to bind,
	// which can be relative to its own directory.
	c.network, c.address = pgconn.NetworkAddress(h.Config.Host, h.Config.Port)
	if remote := h.Conn.RemoteAddr(); remote.Network() != "unix" {
		c.network, c.address = remote.Network(), remote.String()
	}
	return c, h, nil
}

// drivable returns why a connection cannot be driven from its descriptor, nil if
// it can.
func drivable(conn *pgconn.PgConn) error {
	switch conn.Conn().(type) {
	case *net.TCPConn, *net.UnixConn:
	default:
		return &UnsupportedError{Reason: fmt.Sprintf("it is no plain TCP or Unix socket but a %T, as with TLS", conn.Conn())}
	}
	if s := conn.TxStatus(); s != 'I' {
		return fmt.Errorf("taking a connection over: it is in a transaction (status %c)", s)
	}
	return nil
}

// cancelRequest is the code of a CancelRequest, which takes the place of a
// protocol version.
const cancelRequest = 80877102

// cancel asks the server to cancel the connection's query, through a connection
// of its own, and waits until the server has passed the request on or ctx ends.
func (c *Conn) cancel(ctx context.Context) error {
	conn, err := c.dial(ctx, c.network, c.address)
	if err != nil {
		return fmt.Errorf("cancelling: %w", err)
	}
	defer func() { _ = conn.Close() }() // the request has been sent or has failed
	if until, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(until); err != nil {
			return fmt.Errorf("cancelling: %w", err)
		}
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(12+len(c.key)))
	b = binary.BigEndian.AppendUint32(b, cancelRequest)
	b = binary.BigEndian.AppendUint32(b, c.pid)
	if _, err := conn.Write(append(b, c.key...)); err != nil {
		return fmt.Errorf("cancelling: %w", err)
	}
	// The server closes the connection when it has sent the signal.
	if _, err := io.Copy(io.Discard, conn); err != nil {
		return fmt.Errorf("cancelling: %w", err)
	}
	return nil
}
