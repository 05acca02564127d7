//go:build linux

package wire

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"pgtlb/workload/lab"
)

// tlsServer starts a server that takes nothing but TLS over TCP, and returns the
// DSN with which its certificate is checked.
func tlsServer(t *testing.T) string {
	t.Helper()
	c := ownServer(t)
	// A lab's port is fixed; all of 127.0.0.0/8 is this machine.
	address := fmt.Sprintf("127.%d.%d.%d", 1+mathrand.IntN(200), mathrand.IntN(250), 1+mathrand.IntN(250))
	l, err := net.Listen("tcp", address+":5432")
	if err != nil {
		t.Skipf("need: TCP port 5432 free on the loopback interface: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	certificate, key := selfSigned(t, address)
	give(t, c, "server.crt", certificate)
	give(t, c, "server.key", key)
	give(t, c, "pg_hba.conf", []byte("local all all trust\nhostssl all all 127.0.0.0/8 trust\n"))
	for _, set := range []string{"ssl = on", "listen_addresses = '" + address + "'"} {
		execAll(t, c.DSN(), "ALTER SYSTEM SET "+set)
	}
	if err := c.Restart(t.Context(), lab.Change{}, nil); err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(t.TempDir(), "root.crt")
	if err := os.WriteFile(root, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := pgconn.ParseConfig(c.DSN())
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("host=%s port=5432 user=%s dbname=%s sslmode=verify-full sslrootcert=%s", address, config.User, config.Database, root)
}

// give writes a file into the data directory, for the server's account alone.
func give(t *testing.T, c *lab.Cluster, name string, content []byte) {
	t.Helper()
	info, err := os.Stat(c.Data())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(c.Data(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	if err := os.Chown(path, int(owner.Uid), int(owner.Gid)); err != nil {
		t.Fatal(err)
	}
}

// selfSigned makes a certificate for an address, and its key, both as PEM.
func selfSigned(t *testing.T, address string) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour), IPAddresses: []net.IP{net.ParseIP(address)}}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

// TestTLS: everything goes over TLS, the cancel requests too, as the server takes
// nothing else.
func TestTLS(t *testing.T) {
	dsn := tlsServer(t)
	const clients = 5
	conns := make([]*Conn, clients)
	for i := range conns {
		pc, err := pgconn.Connect(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		if conns[i], err = Adopt(t.Context(), pc); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := conns[i].Close(); err != nil {
				t.Error(err)
			}
		})
		if why := conns[i].Indirect(); !strings.HasPrefix(why, "is encrypted (TLS 1.") {
			t.Errorf("%q", why)
		}
	}
	// Longer than any buffer, both ways at once.
	const rows, size = 20, 1 << 20
	long := "SELECT length('" + strings.Repeat("y", 9<<20) + "')"
	s := &steps{requests: []func([]byte) ([]byte, Action){
		queryRows("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"),
		queryRows(fmt.Sprintf("SELECT repeat('x', %d) FROM generate_series(1, %d)", size, rows)), queryRows(long),
		query("SELECT 1 / 0"),
	}}
	stats, err := Run(t.Context(), Options{Clients: []Client{{conns[0], s}}, Recorder: (&tallies{}).recorder})
	if err != nil || !strings.Contains(stats.Indirect, "client 0 (of 1, from 0) is encrypted") {
		t.Fatalf("%v %+v", err, stats)
	}
	if s.rows[0][0] != "t" || s.rows[1+rows][0] != "9437184" || s.bytes != rows*size+1+7 || s.results[3].State.String() != "22012" {
		t.Errorf("%d bytes, %+v", s.bytes, s.results)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asked atomic.Int64
	given := make([]Client, clients)
	for i := range given {
		given[i] = Client{conns[i], taskFunc(func(_ Moment, b []byte) ([]byte, Action) {
			if asked.Add(1) == clients {
				cancel()
			}
			return AppendQuery(b, "SELECT pg_sleep(600)"), Send(1)
		})}
	}
	stats, err = Run(ctx, Options{Clients: given, Recorder: (&tallies{}).recorder})
	if err != nil || !stats.Cancelled || stats.Transactions != 0 {
		t.Errorf("%v %+v", err, stats)
	}
	// A loaded machine may not start a process for every cancel request in time.
	if !slices.ContainsFunc(conns, func(c *Conn) bool { return !c.broken }) {
		t.Error("every client was cut off instead of cancelled")
	}
}
