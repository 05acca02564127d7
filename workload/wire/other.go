//go:build !linux

package wire

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"
)

func unsupported() error { return &UnsupportedError{Reason: "it needs Linux's epoll"} }

// Adopt returns an *UnsupportedError.
func Adopt(context.Context, *pgconn.PgConn) (*Conn, error) { return nil, unsupported() }

// Close does nothing: there is no Conn.
func (c *Conn) Close() error { return nil }

// Run returns an *UnsupportedError.
func Run(context.Context, Options) (Stats, error) { return Stats{}, unsupported() }
