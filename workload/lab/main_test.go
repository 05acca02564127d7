package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pgtlb/probes"
	"pgtlb/workload/lab/labtest"
)

// programs are those that labs are made with where making one is not what is tried.
var programs labtest.Programs

// crashHelper makes the test binary itself a pgtlb that starts a lab and is then killed.
const crashHelper = "PGTLB_LAB_TEST_CRASH_IN"

func TestMain(m *testing.M) {
	if parent := os.Getenv(crashHelper); parent != "" {
		os.Exit(crashMain(parent))
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := programs.Remove(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		os.Exit(code)
	}))
}

// crashMain starts a lab in parent, prints its directory and pid, and waits to be killed.
func crashMain(parent string) int {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	s, err := Find(ctx, "")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	c, err := Start(ctx, Options{Server: s, Parent: parent, SharedBuffers: "32MB"}, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(c.Dir(), c.Pid())
	<-ctx.Done()
	return 1
}

// needServer gives the system's server, or skips naming the need.
func needServer(t *testing.T) Server {
	t.Helper()
	if err := supported(); err != nil {
		t.Skipf("need: Linux: %v", err)
	}
	f := NewFinder()
	f.Portable = nil
	s, err := f.Find(t.Context(), "")
	if errors.Is(err, ErrNoServer) {
		t.Skip("need: PostgreSQL's server programs: pgtlb setup")
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// quickly gives a server whose clusters are made soon.
func quickly(t *testing.T, s Server) Server {
	t.Helper()
	s.Bindir = programs.Of(t, s.Bindir)
	return s
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("need: root")
	}
}

// labParent is a directory the server's account may enter, which t.TempDir is not. That it is empty in the end is part
// of every test that uses it.
func labParent(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "pgtlb-labtest-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		wantEmpty(t, dir)
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("left behind: %s", filepath.Join(dir, e.Name()))
	}
}

// wantGone fails when the process with that pid still is the server of a lab.
func wantGone(t *testing.T, pid int) {
	t.Helper()
	if _, err := probes.StartTicks(Roots{}, pid); err == nil {
		t.Errorf("process %d is still there", pid)
	}
}

// startLab starts a small lab that ends with the test.
func startLab(t *testing.T, o Options) *Cluster {
	t.Helper()
	if o.Server.Bindir == "" {
		o.Server = needServer(t)
	}
	o.Server = quickly(t, o.Server)
	if o.Parent == "" {
		o.Parent = labParent(t)
	}
	if o.SharedBuffers == "" {
		o.SharedBuffers = "32MB"
	}
	c, err := Start(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// t.Context is over by now.
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		pid := c.Pid()
		if err := c.Stop(ctx); err != nil {
			t.Error(err)
		}
		if pid != 0 {
			wantGone(t, pid)
		}
	})
	return c
}

func wantIn(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q does not hold %q", text, part)
		}
	}
}
