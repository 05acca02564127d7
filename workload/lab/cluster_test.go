package lab

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func show(t *testing.T, c *Cluster, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var out string
	if err := conn.QueryRow(t.Context(), sql).Scan(&out); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return out
}

func execute(t *testing.T, c *Cluster, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func TestStartStop(t *testing.T) {
	parent := labParent(t)
	var phases []string
	c, err := Start(t.Context(), Options{
		Server: needServer(t), Parent: parent, SharedBuffers: "32MB",
		Settings: map[string]string{"Work_Mem": "7MB", "pgtlb.odd": `it's "odd" \ value`, "jit": "on"},
	}, func(phase, _ string, done, total int64) {
		if len(phases) == 0 || phases[len(phases)-1] != phase {
			phases = append(phases, phase)
		}
		if total > 0 && done > total {
			t.Errorf("%s: %d of %d done", phase, done, total)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop(context.Background())
	if got := strings.Join(phases, ","); got != "find server,initdb,start" {
		t.Errorf("phases %q", got)
	}
	for sql, want := range map[string]string{
		"SHOW work_mem": "7MB", "SHOW shared_buffers": "32MB", "SHOW huge_pages": "off", "SHOW listen_addresses": "", "SHOW jit": "on",
		"SHOW restart_after_crash": "off", "SHOW server_encoding": "UTF8", "SHOW fsync": "off",
		"SHOW pgtlb.odd": `it's "odd" \ value`,
		"SELECT setting FROM pg_settings WHERE name = 'data_directory'": c.Data(),
	} {
		if got := show(t, c, sql); got != want {
			t.Errorf("%s = %q, want %q", sql, got, want)
		}
	}
	fi, err := os.Stat(c.Dir())
	if err != nil {
		t.Fatal(err)
	}
	uid, _, _ := ownerOf(fi)
	if fi.Mode().Perm() != 0o700 || uid != c.account.uid() || (os.Geteuid() == 0 && uid == 0) {
		t.Errorf("directory: mode %v, uid %d", fi.Mode(), uid)
	}
	m, err := readMarker(c.Dir(), os.Geteuid())
	if err != nil || m.Owner.PID != os.Getpid() || m.Postmaster == nil || m.Postmaster.PID != c.Pid() {
		t.Errorf("marker %+v, %v", m, err)
	}
	if group, err := syscall.Getpgid(c.Pid()); err != nil || group != c.Pid() {
		t.Errorf("process group %d, %v", group, err)
	}
	wantIn(t, strings.Join(c.LogTail(20), "\n"), "database system is ready to accept connections")

	pid := c.Pid()
	if err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantGone(t, pid)
	wantEmpty(t, parent)
	wantIn(t, strings.Join(c.LogTail(5), "\n"), "database system is shut down")
	if c.Running() || c.Err() != nil {
		t.Errorf("after Stop: running %v, reason %v", c.Running(), c.Err())
	}
	if err := c.Stop(t.Context()); err != nil {
		t.Errorf("second Stop: %v", err)
	}
	if err := c.Restart(t.Context(), Change{}, nil); err == nil {
		t.Error("a stopped lab restarted")
	}
}

func TestFailedStartLeavesNothing(t *testing.T) {
	s := quickly(t, needServer(t))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tc := range map[string]struct {
		ctx  context.Context
		o    Options
		want []string
	}{
		"unknown setting": {t.Context(), Options{Settings: map[string]string{"no_such_setting": "1"}}, []string{`unrecognized configuration parameter "no_such_setting"`}},
		"bad value":       {t.Context(), Options{Settings: map[string]string{"max_connections": "many"}}, []string{`invalid value for parameter "max_connections": "many"`}},
		"not ours":        {t.Context(), Options{Settings: map[string]string{"port": "1"}}, []string{"setting port"}},
		"too large":       {t.Context(), Options{SharedBuffers: "64TB"}, []string{"64 TB", "do not fit", "take less"}},
		"no size":         {t.Context(), Options{SharedBuffers: "much"}, []string{`"much"`, "512MB"}},
		"no account":      {t.Context(), Options{OSUser: "no-such-account"}, []string{"no-such-account"}},
		"cancelled":       {cancelled, Options{}, []string{"context canceled"}},
		"no parent":       {t.Context(), Options{Parent: "/no/such/place"}, []string{"TMPDIR"}},
		"long path":       {t.Context(), Options{Parent: "/tmp/" + strings.Repeat("x", 90)}, []string{"Unix socket", "TMPDIR"}},
		"no server":       {t.Context(), Options{Server: Server{Bindir: "/no/such/bin", Major: 15}}, []string{"/no/such/bin"}},
	} {
		t.Run(name, func(t *testing.T) {
			parent := labParent(t) // checks that it is empty
			tc.o.Parent = cmp.Or(tc.o.Parent, parent)
			if tc.o.Server.Bindir == "" {
				tc.o.Server = s
			}
			tc.o.SharedBuffers = cmp.Or(tc.o.SharedBuffers, "32MB")
			c, err := Start(tc.ctx, tc.o, nil)
			if err == nil {
				t.Fatal("started", c.Stop(context.Background()))
			}
			wantIn(t, err.Error(), tc.want...)
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %v", err)
			}
		})
	}
}

func TestUnreachableParent(t *testing.T) {
	needRoot(t)
	parent := labParent(t)
	if err := os.Chmod(parent, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Options{Server: needServer(t), Parent: parent, SharedBuffers: "32MB"}, nil)
	if err == nil {
		t.Fatal("started where the account cannot go")
	}
	wantIn(t, err.Error(), "cannot reach", "TMPDIR")
}

func TestKeep(t *testing.T) {
	parent := labParent(t)
	c, err := Start(t.Context(), Options{Server: quickly(t, needServer(t)), Parent: parent, SharedBuffers: "32MB", Keep: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pid := c.Pid()
	if err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantGone(t, pid)
	if _, err := os.Stat(filepath.Join(c.Data(), "PG_VERSION")); err != nil {
		t.Errorf("not kept: %v", err)
	}
	wantIn(t, c.KeptHint(), c.Data())
	abandon(t, c)
	o := SweepOptions{Parents: []string{parent}, Pools: Pools{Dir: t.TempDir()}}
	if lines, err := Sweep(t.Context(), o); err != nil || len(lines) != 0 {
		t.Errorf("a kept lab was swept: %q, %v", lines, err)
	}
	o.All = true
	if lines, err := Sweep(t.Context(), o); err != nil || len(lines) != 1 {
		t.Errorf("sweeping all: %q, %v", lines, err)
	}
}

// abandon makes the marker say that another process, which is gone, made the lab.
func abandon(t *testing.T, c *Cluster) {
	t.Helper()
	m, err := readMarker(c.Dir(), os.Geteuid())
	if err != nil {
		t.Fatal(err)
	}
	m.Owner.Start++ // the pid used again: another process
	if err := writeJSON(filepath.Join(c.Dir(), markerName), m); err != nil {
		t.Fatal(err)
	}
}

func TestSweepEndsTheServer(t *testing.T) {
	parent := labParent(t)
	c := startLab(t, Options{Parent: parent})
	o := SweepOptions{Parents: []string{parent}, Pools: Pools{Dir: t.TempDir()}}
	if lines, err := Sweep(t.Context(), o); err != nil || len(lines) != 0 || !c.Running() {
		t.Fatalf("a living lab was swept: %q, %v", lines, err)
	}
	abandon(t, c)
	pid := c.Pid()
	lines, err := Sweep(t.Context(), o)
	if err != nil || len(lines) != 1 {
		t.Fatalf("%q, %v", lines, err)
	}
	wantIn(t, lines[0], strconv.Itoa(pid), c.Dir())
	wantGone(t, pid)
	wantEmpty(t, parent)
}

func TestSweepLeavesWhatIsNotALab(t *testing.T) {
	parent := t.TempDir()
	for name, text := range map[string]string{"pgtlb-lab-1": "", "pgtlb-lab-2": `{"what":"something else"}`, "pgtlb-lab-3": "{", "other": `{"what":"pgtlb lab"}`} {
		dir := filepath.Join(parent, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if text != "" {
			if err := os.WriteFile(filepath.Join(dir, markerName), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	lines, err := Sweep(t.Context(), SweepOptions{Parents: []string{parent}, Pools: Pools{Dir: t.TempDir()}})
	if err != nil || len(lines) != 0 {
		t.Errorf("%q, %v", lines, err)
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) != 4 {
		t.Errorf("%d left, %v", len(left), err)
	}
}

// A pgtlb that is killed takes its server along, and the next one removes the directory.
func TestSweepAfterKill(t *testing.T) {
	needServer(t)
	parent := labParent(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashHelper+"="+parent)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err, cmd.Wait())
	}
	f := strings.Fields(line)
	pid, err := strconv.Atoi(f[1])
	if err != nil {
		t.Fatal(err)
	}
	id, err := identify(Roots{}, pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	exit := (*exec.ExitError)(nil)
	if err := cmd.Wait(); !errors.As(err, &exit) {
		t.Fatalf("the helper ended with %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if gone, err := id.awaitEnd(ctx, Roots{}, time.Minute); !gone {
		t.Errorf("the server outlived its pgtlb: %v", err)
	}
	lines, err := Sweep(t.Context(), SweepOptions{Parents: []string{parent}, Pools: Pools{Dir: t.TempDir()}})
	if err != nil || len(lines) != 1 {
		t.Fatalf("%q, %v", lines, err)
	}
	wantIn(t, lines[0], f[0])
}

// A server that no longer reacts is killed with its backends, and nothing of it stays.
func TestStopOfAServerThatHangs(t *testing.T) {
	c := startLab(t, Options{})
	conn, err := pgx.Connect(t.Context(), c.DSN())
	if err != nil {
		t.Fatal(err)
	}
	var backend int
	if err := conn.QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&backend); err != nil {
		t.Fatal(err)
	}
	pid, held := c.Pid(), c.mark.Residue
	if err := errors.Join(syscall.Kill(pid, syscall.SIGSTOP), syscall.Kill(backend, syscall.SIGSTOP)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()                                // no patience with the orderly shutdown
	c.process().immediate = time.Second / 2 // nor with the immediate one, which a stopped process cannot do either
	if err := c.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	wantGone(t, pid)
	wantGone(t, backend)
	for path := range held.Shm {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("left behind: %s", path)
		}
	}
	closing, done := context.WithTimeout(t.Context(), time.Second)
	defer done()
	_ = conn.Close(closing) // its backend was killed, so whatever it says is right
}
