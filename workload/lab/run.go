package lab

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// command is one run of a program that is expected to end by itself.
type command struct {
	path    string
	args    []string
	env     []string // nil means the environment of pgtlb
	dir     string
	account *account          // nil means the account of pgtlb
	out     io.Writer         // gets stdout and stderr as they come; nil means collect only
	line    func(line string) // called for each line of stdout and stderr
	in      string            // what the program reads from its stdin
	used    *time.Duration    // takes the CPU time, user and kernel, that the program used
}

// runError is a program that failed: what it said is the best explanation there is.
type runError struct {
	name   string
	state  string // "exit status 1", "signal: bus error"
	output string
	code   int // exit status, 128+signal when a signal ended it, -1 when it could not be run
	err    error
}

func (e *runError) Error() string {
	if e.output == "" {
		return fmt.Sprintf("running %s: %s", e.name, e.state)
	}
	return fmt.Sprintf("running %s: %s: %s", e.name, e.state, lastLines(e.output, 4))
}

func (e *runError) Unwrap() error { return e.err }

// run executes c and returns its stdout. The program is in its own process group, which is killed when ctx ends, and is
// killed by the kernel should pgtlb itself be killed.
func run(ctx context.Context, c command) (string, error) {
	// The kernel sends the parent death signal when the *thread* that forked ends, so the thread is held.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	cmd := exec.CommandContext(ctx, c.path, c.args...)
	cmd.Env, cmd.Dir = c.env, c.dir
	cmd.SysProcAttr = procAttr(c.account, syscall.SIGKILL)
	cmd.Cancel = func() error { return signalGroup(cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	var stdout, stderr bytes.Buffer
	lines := &lineWriter{call: c.line}
	both := []io.Writer{lines}
	if c.out != nil {
		both = append(both, c.out)
	}
	// stdout and stderr are copied by two goroutines: what both write to is locked.
	shared := &syncWriter{w: io.MultiWriter(both...)}
	cmd.Stdout = io.MultiWriter(&stdout, shared)
	cmd.Stderr = io.MultiWriter(&stderr, shared)
	if c.in != "" {
		cmd.Stdin = strings.NewReader(c.in)
	}
	err := cmd.Run()
	if c.used != nil && cmd.ProcessState != nil {
		*c.used = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	lines.flush()
	if err == nil {
		return stdout.String(), nil
	}
	if ctx.Err() != nil {
		return stdout.String(), fmt.Errorf("running %s: %w", filepath.Base(c.path), context.Cause(ctx))
	}
	e := &runError{name: filepath.Base(c.path), state: err.Error(), code: -1, err: err}
	e.output = strings.TrimSpace(stderr.String())
	if e.output == "" {
		e.output = strings.TrimSpace(stdout.String())
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		e.code = exit.ExitCode()
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			e.code = 128 + int(ws.Signal())
		}
	}
	return stdout.String(), e
}

// syncWriter lets one goroutine at a time write.
type syncWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *syncWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// lineWriter cuts what is written into lines and hands each on.
type lineWriter struct {
	call func(string)
	rest []byte
}

func (w *lineWriter) Write(p []byte) (int, error) {
	if w.call == nil {
		return len(p), nil
	}
	w.rest = append(w.rest, p...)
	for {
		i := bytes.IndexByte(w.rest, '\n')
		if i < 0 {
			return len(p), nil
		}
		w.call(string(w.rest[:i]))
		w.rest = w.rest[i+1:]
	}
}

func (w *lineWriter) flush() {
	if w.call != nil && len(w.rest) > 0 {
		w.call(string(w.rest))
		w.rest = nil
	}
}

// lastLines gives the last n lines of s, joined for one sentence.
func lastLines(s string, n int) string {
	var lines []string
	for sc := bufio.NewScanner(strings.NewReader(s)); sc.Scan(); {
		if line := strings.TrimSpace(sc.Text()); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "; ")
}
