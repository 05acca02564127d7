package probes_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"pgtlb/probes"
)

// What printServer does before it looks, by variables of its environment.
const (
	dsnVariable   = "PGTLB_TEST_DSN"
	procVariable  = "PGTLB_TEST_PROC"  // mounts a proc of its own with these options
	decoyVariable = "PGTLB_TEST_DECOY" // a process with the title of a server's backend
	uidVariable   = "PGTLB_TEST_NOBODY"
)

// seenFrom is what pgtlb sees of a server from another place.
type seenFrom struct {
	Pid           int
	Why           string
	Rows, Figures int // rows, and those with figures of a process
	Misses        int
	HolderLimits  []string
	DecoyPid      int
}

// printServer is what these tests run in another namespace or as another account.
func printServer() error {
	var out seenFrom
	if o, ok := os.LookupEnv(procVariable); ok {
		// Not the machine's: what is mounted here stays in this namespace.
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			return err
		}
		if err := unix.Mount("proc", "/proc", "proc", 0, o); err != nil {
			return err
		}
	}
	if os.Getenv(uidVariable) != "" {
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(nobody), syscall.Setuid(nobody)); err != nil {
			return err
		}
	}
	if title := os.Getenv(decoyVariable); title != "" {
		decoy := exec.Command("/bin/sleep", "60")
		decoy.Args[0] = title
		if err := decoy.Start(); err != nil {
			return err
		}
		defer func() { _ = decoy.Process.Kill(); _ = decoy.Wait() }()
		out.DecoyPid = decoy.Process.Pid
	}
	ctx := context.Background()
	cfg, err := pgx.ParseConfig(os.Getenv(dsnVariable))
	if err != nil {
		return err
	}
	s, err := probes.Connect(ctx, cfg, probes.SystemRoots())
	if err != nil {
		return err
	}
	defer s.Close(ctx)
	info, err := s.Info(ctx)
	if err != nil {
		return err
	}
	p, misses := probes.NewBackends(ctx, s)
	defer p.Close()
	b, err := p.Read(ctx)
	if err != nil {
		return err
	}
	out.Pid, out.Why, out.Rows, out.Misses = info.PostmasterPid, info.NoPostmasterWhy, len(b.Backends), len(misses)
	for _, r := range b.Backends {
		if r.Mem != nil || r.Use != nil || r.StartTicks != 0 {
			out.Figures++
		}
	}
	u, err := probes.HugetlbHolders(probes.SystemRoots())
	if err != nil {
		return err
	}
	out.HolderLimits = u.Limits
	return json.NewEncoder(os.Stdout).Encode(out)
}

// from runs printServer in new namespaces.
func from(t *testing.T, cfg *pgx.ConnConfig, namespaces uintptr, env ...string) seenFrom {
	t.Helper()
	needNamespaces(t)
	cmd := helper(t, "server")
	cmd.Env = append(cmd.Env, append(env, dsnVariable+"="+cfg.ConnString())...)
	cmd.SysProcAttr.Cloneflags = namespaces
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s%s", err, text, stderr.String())
	}
	var out seenFrom
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

func needNamespaces(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("need: root, to make namespaces")
	}
}

// onlySQL looks that there are rows and no figures, with the sentence.
func (s seenFrom) onlySQL(t *testing.T, sentence string) {
	t.Helper()
	if s.Pid != 0 || s.Rows < 5 || s.Figures != 0 || s.Misses != 2 {
		t.Errorf("not SQL only: %+v", s)
	}
	if !strings.HasPrefix(s.Why, "SQL only: ") || !strings.Contains(s.Why, sentence) {
		t.Errorf("says %q, want %q", s.Why, sentence)
	}
}

// nspids are the pids of a process in its pid namespaces, outermost first.
func nspids(t *testing.T, pid int) []string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "NSpid:"); ok {
			return strings.Fields(v)
		}
	}
	t.Fatal("no NSpid")
	return nil
}

// TestServersInOtherPidNamespaces: two containers on one host, whose processes
// have the same pids there. Each gets its own processes' figures, with the pids
// of this machine.
func TestServersInOtherPidNamespaces(t *testing.T) {
	needNamespaces(t)
	two := []ownServer{startOwn(t, syscall.CLONE_NEWPID), startOwn(t, syscall.CLONE_NEWPID)}
	taken := map[int]bool{}
	for i, o := range two {
		for name, cfg := range map[string]*pgx.ConnConfig{"socket": o.unix, "tcp": o.tcp} {
			s := watch(t, cfg, probes.SystemRoots())
			info, err := s.Info(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if info.PostmasterPid != o.pid || info.NoPostmasterWhy != "" {
				t.Errorf("%d by %s: postmaster %d (%s), want %d", i, name, info.PostmasterPid, info.NoPostmasterWhy, o.pid)
			}
			app := fmt.Sprintf("pidns %d %s", i, name)
			conn := client(t, cfg, app)
			var inside string
			if err := conn.QueryRow(t.Context(), "SELECT pg_backend_pid()::text").Scan(&inside); err != nil {
				t.Fatal(err)
			}
			p, misses := openBackends(t, s)
			if len(misses) != 0 {
				t.Fatalf("misses %+v", misses)
			}
			b := read(t, p)
			row := rowOf(t, b, app)
			if ns := nspids(t, row.Pid); len(ns) != 2 || ns[1] != inside || row.Mem == nil || row.Use == nil {
				t.Errorf("%s: pids %v, the server says %s; %+v", app, ns, inside, row)
			}
			for _, r := range b.Backends {
				if r.Mem == nil || r.Role == probes.RoleOther {
					t.Errorf("%s: %+v", app, r)
				}
				if name == "socket" && taken[r.Pid] {
					t.Errorf("process %d is shown for both servers", r.Pid)
				}
			}
			checkAllChildren(t, b, o.pid)
			if name == "socket" {
				for _, r := range b.Backends {
					taken[r.Pid] = true
				}
			}
		}
	}
}

// TestFromAnotherPidNamespace: pgtlb runs in a container, the server outside of
// it. A process of its own that looks like the server's is not taken.
func TestFromAnotherPidNamespace(t *testing.T) {
	if testing.Short() {
		t.Skip("need: more time than -short leaves")
	}
	o := startOwn(t, 0)
	const elsewhere = "the server runs on another machine or in another pid namespace"
	decoy := decoyVariable + "=postgres: its own: postgres postgres [local] SELECT"
	for name, cfg := range map[string]*pgx.ConnConfig{"socket": o.unix, "tcp": o.tcp} {
		t.Run(name, func(t *testing.T) {
			seen := from(t, cfg, syscall.CLONE_NEWPID|syscall.CLONE_NEWNS, procVariable+"=", decoy)
			seen.onlySQL(t, elsewhere)
			if seen.DecoyPid == 0 {
				t.Error("there was no decoy")
			}
		})
	}
	// The machine's proc shows the server's processes, with the machine's pids.
	t.Run("with the proc of the machine", func(t *testing.T) {
		if seen := from(t, o.unix, syscall.CLONE_NEWPID); seen.Pid != o.pid || seen.Figures < 5 || seen.Misses != 0 {
			t.Errorf("%+v, want postmaster %d", seen, o.pid)
		}
	})
}

// TestServerElsewhere: the address is this machine's, the server is not: what
// listens only passes the bytes on.
func TestServerElsewhere(t *testing.T) {
	o := startOwn(t, syscall.CLONE_NEWPID)
	cfg := config(t, fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", forward(t, o.tcp.Port)))
	seen := from(t, cfg, syscall.CLONE_NEWPID|syscall.CLONE_NEWNS, procVariable+"=")
	seen.onlySQL(t, "run pgtlb on the server's host")
}

// TestHidePidOnAServer: another account than the server's, where proc hides the
// processes of others.
func TestHidePidOnAServer(t *testing.T) {
	if testing.Short() {
		t.Skip("need: more time than -short leaves")
	}
	o := startOwn(t, 0)
	for _, options := range []string{"hidepid=1", "hidepid=2"} {
		for name, cfg := range map[string]*pgx.ConnConfig{"socket": o.unix, "tcp": o.tcp} {
			t.Run(options+" "+name, func(t *testing.T) {
				seen := from(t, cfg, syscall.CLONE_NEWNS, procVariable+"="+options, uidVariable+"=yes")
				seen.onlySQL(t, "is mounted with hidepid")
				if !strings.Contains(seen.Why, "run pgtlb as root or as the server's OS user") {
					t.Errorf("no remedy in %q", seen.Why)
				}
				if !strings.Contains(strings.Join(seen.HolderLimits, "\n"), "hidepid") {
					t.Errorf("who holds huge pages says only %q", seen.HolderLimits)
				}
			})
		}
		t.Run(options+" root", func(t *testing.T) {
			if seen := from(t, o.tcp, syscall.CLONE_NEWNS, procVariable+"="+options); seen.Pid != o.pid || seen.Figures < 5 {
				t.Errorf("%+v, want postmaster %d", seen, o.pid)
			}
		})
	}
}

// TestAnotherAccount: without hidepid the processes' figures are everybody's.
func TestAnotherAccount(t *testing.T) {
	if testing.Short() {
		t.Skip("need: more time than -short leaves")
	}
	o := startOwn(t, 0)
	if seen := from(t, o.unix, syscall.CLONE_NEWNS, uidVariable+"=yes"); seen.Pid != o.pid || seen.Figures < 5 || seen.Misses != 0 {
		t.Errorf("%+v, want postmaster %d", seen, o.pid)
	}
}
