package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// postmaster is one running server process. The goroutine that started it waits for it and ends with it.
type postmaster struct {
	pid    int
	proc   *os.Process   // safe to signal after the end, when the pid may be somebody else's
	exited chan struct{} // closed when the process is gone and reaped, and lost has been told
	gone   atomic.Bool   // set when it is reaped, a moment before exited
	state  string        // how it ended; read it after exited
	asked  atomic.Bool   // whether its end was asked for
	ready  atomic.Bool   // whether it has accepted connections
	// immediate is how long stop waits for an immediate shutdown before it kills.
	immediate time.Duration
}

// startPostmaster starts cmd. lost is called when it ends without having been asked to, after it had become ready.
func startPostmaster(cmd *exec.Cmd, lost func(state string)) (*postmaster, error) {
	p := &postmaster{exited: make(chan struct{}), immediate: immediateWait}
	started := make(chan error, 1)
	go func() {
		defer close(p.exited)
		// The kernel ties the parent death signal to the thread that forked; this one waits here as long as the server
		// lives, so a killed pgtlb takes its server along and nothing else does.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err == nil {
			p.proc, p.pid = cmd.Process, cmd.Process.Pid
		}
		started <- err
		if err != nil {
			return
		}
		p.state = "exit status 0"
		if err := cmd.Wait(); err != nil {
			p.state = err.Error()
		}
		p.gone.Store(true)
		if p.ready.Load() && !p.asked.Load() {
			lost(p.state)
		}
	}()
	if err := <-started; err != nil {
		<-p.exited
		return nil, err
	}
	return p, nil
}

func (p *postmaster) running() bool { return !p.gone.Load() }

// wait waits for the end of the process, at most d, and not longer than ctx.
func (p *postmaster) wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return !p.running()
}

const (
	immediateWait = 10 * time.Second // the postmaster itself gives its children 5 s
	killWait      = 10 * time.Second
)

// stop ends the server: a fast shutdown, after fast or at the end of ctx an immediate one, then SIGKILL. It returns how
// it ended ("fast", "immediate", "killed", "" when it had ended by itself) and waits for the process to be gone.
func (p *postmaster) stop(ctx context.Context, fast time.Duration) (how string, err error) {
	p.asked.Store(true)
	// After the first the end of ctx no longer matters: leaving a server behind is worse than being late.
	late := context.WithoutCancel(ctx)
	for _, step := range []struct {
		how string
		sig syscall.Signal
		ctx context.Context
		d   time.Duration
	}{
		{"fast", syscall.SIGINT, ctx, fast},
		{"immediate", syscall.SIGQUIT, late, p.immediate},
		{"killed", syscall.SIGKILL, late, killWait},
	} {
		if step.d == 0 {
			continue
		}
		if err := p.proc.Signal(step.sig); errors.Is(err, os.ErrProcessDone) {
			<-p.exited
			return "", nil
		} else if err != nil {
			return "", fmt.Errorf("stopping the server: %w", err)
		}
		if p.wait(step.ctx, step.d) {
			return step.how, nil
		}
	}
	return "", fmt.Errorf("stopping the server: process %d is still there after SIGKILL", p.pid)
}

// startWait is long because a server with 1 GB pages needed 18 s once: the kernel clears them at start.
const startWait = 2 * time.Minute

// awaitReady waits until the server of this process takes connections: its own status line in postmaster.pid says so,
// and the socket answers.
func (p *postmaster) awaitReady(ctx context.Context, data, socketDir string) error {
	deadline := time.NewTimer(startWait)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-p.exited:
			return &StartError{State: p.state}
		case <-ctx.Done():
			return fmt.Errorf("starting the server: %w", context.Cause(ctx))
		case <-deadline.C:
			return fmt.Errorf("starting the server: it was not ready after %s", startWait)
		case <-tick.C:
		}
		if !p.saysReady(data) {
			continue
		}
		dialer := net.Dialer{Timeout: time.Second}
		conn, err := dialer.DialContext(ctx, "unix", socketPath(socketDir))
		if err != nil {
			continue
		}
		p.ready.Store(true)
		return conn.Close()
	}
}

// saysReady reads line 8 of postmaster.pid, which the postmaster keeps: "starting", "ready", "standby", "stopping".
func (p *postmaster) saysReady(data string) bool {
	lines := postmasterPid(data)
	return len(lines) >= 8 && lines[0] == strconv.Itoa(p.pid) && strings.TrimSpace(lines[7]) == "ready"
}

func socketPath(dir string) string { return filepath.Join(dir, ".s.PGSQL."+strconv.Itoa(labPort)) }

// maxSocketPath is the room in sockaddr_un.sun_path less its closing zero.
const maxSocketPath = 107
