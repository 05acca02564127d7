package probes_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pgtlb/probes"
)

// startTCP starts a server that listens on 127.0.0.1 only, which a lab never
// does, and returns its configuration and postmaster.
func startTCP(t *testing.T) (*pgx.ConnConfig, int) {
	t.Helper()
	o := startOwn(t, 0)
	return o.tcp, o.pid
}

// ownServer is a server that is no lab: every account may reach it, by TCP on
// 127.0.0.1 and by a Unix socket.
type ownServer struct {
	tcp, unix *pgx.ConnConfig
	pid       int // of the postmaster, as this machine sees it
}

// startOwn starts one in new namespaces as the flags say (CLONE_NEWPID).
func startOwn(t *testing.T, namespaces uintptr) ownServer {
	t.Helper()
	server := servers(t)[0]
	dir, err := os.MkdirTemp("/tmp", "pgtlb-own-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	attr := &syscall.SysProcAttr{}
	if os.Geteuid() == 0 {
		// The server refuses to run as root.
		u, err := user.Lookup("postgres")
		if err != nil {
			t.Skipf("need: the account postgres, as root cannot run the server (%v)", err)
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(dir, "data")
	initdb := exec.Command(filepath.Join(server.Bindir, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "--no-sync")
	initdb.SysProcAttr, initdb.Dir = attr, dir
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	port := freePort(t)
	pm := exec.Command(filepath.Join(server.Bindir, "postgres"), "-D", data, "-p", strconv.Itoa(port), "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories="+dir, "-c", "shared_buffers=16MB", "-c", "fsync=off", "-c", "cluster_name=its own")
	pm.SysProcAttr, pm.Dir = &syscall.SysProcAttr{Credential: attr.Credential, Cloneflags: namespaces}, dir
	var log strings.Builder
	pm.Stderr = &log
	if err := pm.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = pm.Process.Signal(syscall.SIGINT) // fails only when it has ended already
		_ = pm.Wait()
	})
	o := ownServer{pid: pm.Process.Pid,
		tcp:  config(t, fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)),
		unix: config(t, fmt.Sprintf("host=%s port=%d user=postgres dbname=postgres", dir, port))}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		conn, err := pgx.ConnectConfig(t.Context(), o.tcp)
		if err == nil {
			_ = conn.Close(context.Background())
			return o
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server does not start: %v\n%s", err, log.String())
		}
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func TestPostmasterByTCP(t *testing.T) {
	cfg, pid := startTCP(t)
	s := watch(t, cfg, probes.SystemRoots())
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if info.PostmasterPid != pid || info.NoPostmasterWhy != "" {
		t.Errorf("postmaster %d (%s), want %d", info.PostmasterPid, info.NoPostmasterWhy, pid)
	}
	if info.Where != fmt.Sprintf("127.0.0.1:%d", cfg.Port) || info.HugePages.Proof != "smaps KernelPageSize" {
		t.Errorf("info %+v", info)
	}
	p, misses := openBackends(t, s)
	if len(misses) != 0 {
		t.Fatalf("misses %+v", misses)
	}
	if own := rowOf(t, read(t, p), probes.AppName); !own.Own || own.Mem == nil {
		t.Errorf("own session %+v", own)
	}

	// Through something that passes the bytes on, the server's own view of its
	// client counts, so the processes are still found.
	cfg.Port = forward(t, cfg.Port)
	passed := watch(t, cfg, probes.SystemRoots())
	if info, err = passed.Info(t.Context()); err != nil || info.PostmasterPid != pid {
		t.Errorf("through a forwarder: postmaster %d (%s), %v", info.PostmasterPid, info.NoPostmasterWhy, err)
	}
}

// forward passes one connection on to a port and returns its own.
func forward(t *testing.T, to uint16) uint16 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- passOn(l, to) }()
	t.Cleanup(func() {
		_ = l.Close() // to end a wait for a client that never came
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return uint16(l.Addr().(*net.TCPAddr).Port)
}

// passOn takes one connection and copies it to and from a local port until
// either end closes.
func passOn(l net.Listener, to uint16) error {
	in, err := l.Accept()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	if err != nil {
		return err
	}
	out, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", to))
	if err != nil {
		return errors.Join(err, in.Close())
	}
	back := make(chan struct{})
	go func() {
		defer close(back)
		_, _ = io.Copy(in, out) // an end that closes ends both
		_ = in.Close()
	}()
	_, _ = io.Copy(out, in)
	_ = out.Close()
	<-back
	return nil
}
