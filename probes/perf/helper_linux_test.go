package perf

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// helperVar makes the test binary play another process: a tree that touches pages on command, or one that only opens.
const helperVar = "PGTLB_PERF_HELPER"

func TestMain(m *testing.M) {
	switch os.Getenv(helperVar) {
	case "":
		os.Exit(m.Run())
	case "tree":
		exitOn(treeHelper(os.Stdin, os.Stdout))
	case "open":
		exitOn(openHelper(os.Stdout))
	case "seccomp":
		exitOn(denyPerf())
		exitOn(openHelper(os.Stdout))
	}
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// touchPages faults n fresh pages in.
func touchPages(n int) error {
	page := os.Getpagesize()
	mem, err := unix.Mmap(-1, 0, n*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	_ = unix.Madvise(mem, unix.MADV_NOHUGEPAGE)
	for i := range n {
		mem[i*page] = 1
	}
	return unix.Munmap(mem)
}

// touchByThreads faults n fresh pages in from four threads that are made for it.
func touchByThreads(n int) error {
	const threads = 4
	done := make(chan error, threads)
	for range threads {
		go func() {
			runtime.LockOSThread() // not unlocked: the thread ends with its goroutine
			done <- touchPages(n / threads)
		}()
	}
	var errs []error
	for range threads {
		errs = append(errs, <-done)
	}
	return errors.Join(errs...)
}

// switchThreads sends n bytes to another thread and back: each waits for the other one's.
func switchThreads(n int) error {
	var to, back [2]int
	if err := errors.Join(unix.Pipe2(to[:], unix.O_CLOEXEC), unix.Pipe2(back[:], unix.O_CLOEXEC)); err != nil {
		return err
	}
	pass := func(from, to int) error {
		var b [1]byte
		for range n {
			if _, err := unix.Read(from, b[:]); err != nil {
				return err
			}
			if _, err := unix.Write(to, b[:]); err != nil {
				return err
			}
		}
		return nil
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		done <- pass(to[0], back[1])
	}()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, err := unix.Write(to[1], []byte{0}); err != nil {
		return err
	}
	err := pass(back[0], to[1])
	err = errors.Join(err, <-done)
	for _, fd := range []int{to[0], to[1], back[0], back[1]} {
		err = errors.Join(err, unix.Close(fd))
	}
	return err
}

// treeHelper has one child from the start. Each line is a command: "self N", "old N" (the first child) or "new N" (a
// child made now) touch N pages, "threads N" does so from new threads, "switches N" makes two threads wait for each
// other N times; each is answered with "ok".
func treeHelper(in io.Reader, out io.Writer) error {
	var old *helper
	if os.Getenv("PGTLB_PERF_LEAF") == "" {
		var err error
		if old, err = startHelper("tree", "PGTLB_PERF_LEAF=1"); err != nil {
			return err
		}
		defer old.stop()
	}
	fmt.Fprintln(out, "ready")
	for sc := bufio.NewScanner(in); sc.Scan(); {
		verb, arg, _ := strings.Cut(sc.Text(), " ")
		n, err := strconv.Atoi(arg)
		if err != nil {
			return err
		}
		switch verb {
		case "self":
			err = touchPages(n)
		case "threads":
			err = touchByThreads(n)
		case "switches":
			err = switchThreads(n)
		case "old":
			err = old.do("self", n)
		case "new":
			var child *helper
			if child, err = startHelper("tree", "PGTLB_PERF_LEAF=1"); err == nil {
				err = child.do("self", n)
				child.stop()
			}
		}
		if err != nil {
			return err
		}
		fmt.Fprintln(out, "ok")
	}
	return nil
}

// helper is a running test binary in a helper role.
type helper struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startHelper(role string, env ...string) (*helper, error) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), append(env, helperVar+"="+role)...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	h := &helper{cmd: cmd, in: in, out: bufio.NewReader(out)}
	if line, err := h.out.ReadString('\n'); err != nil || line != "ready\n" {
		h.stop()
		return nil, fmt.Errorf("helper %s answered %q: %w", role, line, err)
	}
	return h, nil
}

// do sends a command and waits for its end.
func (h *helper) do(verb string, n int) error {
	if _, err := fmt.Fprintf(h.in, "%s %d\n", verb, n); err != nil {
		return err
	}
	if line, err := h.out.ReadString('\n'); err != nil || line != "ok\n" {
		return fmt.Errorf("helper answered %q: %w", line, err)
	}
	return nil
}

// stop ends the helper by closing its input.
func (h *helper) stop() {
	h.in.Close()
	_ = h.cmd.Wait()
}

// opened is what a helper that only opens found.
type opened struct {
	Events  []string
	Missing []Missing
	Err     string
}

func openHelper(out io.Writer) error {
	o := Options{Binary: "/usr/bin/pgtlb"}
	if s := os.Getenv("PGTLB_PERF_TREE"); s != "" {
		pid, err := strconv.Atoi(s)
		if err != nil {
			return err
		}
		if pid == 0 {
			pid = os.Getpid()
		}
		o.Scope = Tree(pid)
	}
	var res opened
	s, missing, err := Open(o)
	res.Missing = missing
	if err != nil {
		res.Err = err.Error()
	} else {
		for _, e := range s.Events() {
			res.Events = append(res.Events, e.ID)
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
	return json.NewEncoder(out).Encode(res)
}

// openAs runs Open in another process, as another user where uid is not 0.
func openAs(t *testing.T, role string, uid uint32, tree string) opened {
	t.Helper()
	exe, err := os.Open("/proc/self/exe") // the path may not be reachable for another user
	if err != nil {
		t.Fatal(err)
	}
	defer exe.Close()
	cmd := exec.Command("/proc/self/fd/3")
	cmd.ExtraFiles = []*os.File{exe}
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), helperVar+"="+role, "PGTLB_PERF_TREE="+tree)
	if uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("helper: %v: %s", err, stderr.String())
	}
	var res opened
	if err := json.Unmarshal(stdout.Bytes(), &res); err != nil {
		t.Fatalf("helper wrote %q: %v", stdout.String(), err)
	}
	return res
}

// denyPerf installs a seccomp filter on every thread that answers perf_event_open with EPERM, as the default profile of
// container runtimes does.
func denyPerf() error {
	prog := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the system call's number
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 0, Jf: 1, K: unix.SYS_PERF_EVENT_OPEN},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0x00050000 | uint32(unix.EPERM)}, // SECCOMP_RET_ERRNO
		{Code: unix.BPF_RET | unix.BPF_K, K: 0x7fff0000},                      // SECCOMP_RET_ALLOW
	}
	return installFilter(prog)
}
