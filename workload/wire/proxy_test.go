//go:build linux

package wire

import (
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// proxy makes a server's Unix socket reachable by TCP. Deaf, it takes everything
// and answers nothing.
type proxy struct {
	dsn  string
	deaf atomic.Bool
}

func newProxy(t *testing.T, dsn string) *proxy {
	t.Helper()
	config, err := pgconn.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	network, address := pgconn.NetworkAddress(config.Host, config.Port)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{dsn: fmt.Sprintf("host=127.0.0.1 port=%d user=%s dbname=%s sslmode=disable", l.Addr().(*net.TCPAddr).Port, config.User, config.Database)}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			front, err := l.Accept()
			if err != nil {
				return
			}
			back, err := net.Dial(network, address)
			if err != nil {
				_ = front.Close()
				continue
			}
			wg.Go(func() { p.pass(back, front); _ = back.Close() })
			wg.Go(func() { p.pass(front, back); _ = front.Close(); _ = back.Close() })
		}
	})
	t.Cleanup(func() { _ = l.Close(); wg.Wait() })
	return p
}

func (p *proxy) pass(to io.Writer, from io.Reader) {
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		if p.deaf.Load() {
			continue
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}
