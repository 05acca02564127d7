package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

	"pgtlb/workload/lab/labtest"
)

// binary builds pgtlb once for all tests of this package.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "pgtlb-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "pgtlb")
	cmd := exec.Command("go", "build", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building: %w\n%s", err, out)
	}
	return path, nil
})

// programs are those that labs are made with.
var programs labtest.Programs

func TestMain(m *testing.M) {
	code := m.Run()
	if err := programs.Remove(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if path, err := binary(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// sandbox is the place that one test's pgtlb works in.
type sandbox struct {
	t     *testing.T
	state string // XDG_STATE_HOME
	work  string // working directory
	tmp   string // TMPDIR, open to the server's account
}

func newSandbox(t *testing.T) *sandbox {
	t.Helper()
	tmp, err := os.MkdirTemp("", "pgtlb-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(tmp) })
	if err := os.Chmod(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	return &sandbox{t: t, state: t.TempDir(), work: t.TempDir(), tmp: tmp}
}

// command prepares the real binary in the sandbox.
func (s *sandbox) command(ctx context.Context, args ...string) *exec.Cmd {
	s.t.Helper()
	path, err := binary()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	cmd.Dir = s.work
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+s.state, "TMPDIR="+s.tmp, "TERM=xterm-256color", "LC_ALL=C.UTF-8", "NO_COLOR=")
	return cmd
}

// result is what a headless call printed and how it ended.
type result struct {
	out, err string
	code     int
}

// run executes the binary without a terminal.
func (s *sandbox) run(args ...string) result {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 3*time.Minute)
	defer cancel()
	cmd := s.command(ctx, args...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil && cmd.ProcessState == nil {
		s.t.Fatal(err)
	}
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// nothingLeft fails the test when the sandbox's temporary directory still holds
// anything, or a process still works in it.
func (s *sandbox) nothingLeft() {
	s.t.Helper()
	entries, err := os.ReadDir(s.tmp)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range entries {
		s.t.Errorf("left behind: %s", filepath.Join(s.tmp, e.Name()))
	}
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, l := range links {
		if cwd, err := os.Readlink(l); err == nil && strings.HasPrefix(cwd, s.tmp) {
			s.t.Errorf("still running in %s: %s", cwd, l)
		}
	}
}

// screen is the binary in a pseudo terminal, as a person sees it.
type screen struct {
	t    *testing.T
	cmd  *exec.Cmd
	pty  *os.File
	mu   sync.Mutex // guards the cells of term
	term *vt.Emulator
	done chan struct{} // closed when the terminal is closed from the other side
}

// open starts the binary in a terminal of that size.
func (s *sandbox) open(w, h int, args ...string) *screen {
	s.t.Helper()
	cmd := s.command(context.WithoutCancel(s.t.Context()), args...)
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: uint16(h), Cols: uint16(w)})
	if err != nil {
		s.t.Fatal(err)
	}
	sc := &screen{t: s.t, cmd: cmd, pty: f, term: vt.NewEmulator(w, h), done: make(chan struct{})}
	go func() {
		defer close(sc.done)
		_, _ = io.Copy(writing{sc}, f)
	}()
	// What the terminal answers to the program's questions goes back to it.
	go func() { _, _ = io.Copy(f, sc.term) }()
	s.t.Cleanup(sc.close)
	return sc
}

// close ends the program in case the test did not.
func (s *screen) close() {
	if s.cmd.ProcessState == nil {
		_ = s.cmd.Process.Signal(os.Interrupt)
		_ = s.cmd.Wait()
	}
	_ = s.pty.Close()
	<-s.done
}

// writing draws what the program writes.
type writing struct{ *screen }

func (w writing) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.term.Write(p)
}

// text is what stands on the screen.
func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for y := range s.term.Height() {
		for x := 0; x < s.term.Width(); x++ {
			c := s.term.CellAt(x, y)
			if c == nil || c.Content == "" {
				b.WriteByte(' ')
				continue
			}
			b.WriteString(c.Content)
			x += max(c.Width, 1) - 1
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// patience bounds waiting for the screen; only a program that hangs reaches it.
const patience = 2 * time.Minute

// waitFor waits until the screen satisfies a condition.
func (s *screen) waitFor(what string, ok func(string) bool) string {
	s.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		text := s.text()
		if ok(text) {
			return text
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("waited in vain for %s; the screen shows:\n%s", what, text)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// waitText waits until all the texts stand on the screen.
func (s *screen) waitText(texts ...string) string {
	s.t.Helper()
	return s.waitFor(fmt.Sprintf("%q", texts), func(screen string) bool {
		for _, t := range texts {
			if !strings.Contains(screen, t) {
				return false
			}
		}
		return true
	})
}

// press types keys.
func (s *screen) press(keys string) {
	s.t.Helper()
	if _, err := io.WriteString(s.pty, keys); err != nil {
		s.t.Fatal(err)
	}
}

// exit waits for the program's end and returns its exit code.
func (s *screen) exit() int {
	s.t.Helper()
	ended := make(chan struct{})
	go func() {
		_ = s.cmd.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		s.t.Fatalf("the program does not end; the screen shows:\n%s", s.text())
		return -1
	}
}
