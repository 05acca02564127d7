package perf

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// perfTool is a perf stat that waits to be told when to count: it answers when it has begun and ended, so that what is
// counted lies between two reads of ours that are next to its own.
type perfTool struct {
	t    *testing.T
	cmd  *exec.Cmd
	ctl  *os.File
	ack  *bufio.Reader
	text bytes.Buffer
}

// perfEvents are compared; the order is that of the arguments.
func perfEvents() []string { return []string{PageFaults, PageFaultsMinor, ContextSwitches} }

// startPerf starts perf stat with what to count: -a, -p PID.
func startPerf(t *testing.T, what ...string) *perfTool {
	t.Helper()
	tool, err := exec.LookPath("perf")
	if err != nil {
		t.Skip("need: the perf tool")
	}
	theirCtl, ourCtl, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ourAck, theirAck, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &perfTool{t: t, ctl: ourCtl, ack: bufio.NewReader(ourAck)}
	p.cmd = exec.Command(tool, append([]string{"stat", "-x", ",", "-D", "-1", "--control", "fd:3,4"}, what...)...)
	p.cmd.Env = append(os.Environ(), "LC_ALL=C")
	p.cmd.ExtraFiles, p.cmd.Stderr = []*os.File{theirCtl, theirAck}, &p.text
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.end()
		ourCtl.Close()
		ourAck.Close()
	})
	theirCtl.Close()
	theirAck.Close()
	return p
}

// tell sends a command and waits until perf has obeyed.
func (p *perfTool) tell(command string) {
	p.t.Helper()
	if _, err := p.ctl.WriteString(command + "\n"); err != nil {
		p.t.Fatal(err)
	}
	if line, err := p.ack.ReadString('\n'); err != nil || strings.Trim(line, "\x00\n") != "ack" {
		p.end()
		p.t.Skipf("need: a perf tool that counts these events and can be told when (%q, %v): %s", line, err, p.text.String())
	}
}

func (p *perfTool) end() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Signal(os.Interrupt)
		_ = p.cmd.Wait()
	}
}

// counts ends perf and returns what it counted, by event id.
func (p *perfTool) counts() map[string]float64 {
	p.t.Helper()
	p.end()
	out := map[string]float64{}
	for line := range strings.Lines(p.text.String()) {
		f := strings.Split(line, ",")
		if len(f) < 3 {
			continue
		}
		n, err := strconv.ParseFloat(f[0], 64)
		for i, name := range []string{"page-faults", "minor-faults", "context-switches"} {
			if err == nil && f[2] == name {
				out[perfEvents()[i]] = n
			}
		}
	}
	if len(out) != len(perfEvents()) {
		p.t.Fatalf("perf wrote %q", p.text.String())
	}
	return out
}

// perfNames are the arguments that choose the events.
func perfNames() []string { return []string{"-e", "page-faults,minor-faults,context-switches"} }

// compareWithPerf lets both count the same work and demands that they differ by at most 1 %. The work is all that
// happens in a process or cgroup; on the machine other processes work too, and what they do between perf's reads and
// ours is no disagreement: there perf has to lie between a count of ours that began before and ended after its own and
// one that is inside of it, and the three have to agree once in some tries.
func compareWithPerf(t *testing.T, o Options, what []string, work func() error) {
	t.Helper()
	tries := 1
	if o.Scope == System() {
		tries = 5
	}
	for try := 1; ; try++ {
		outer := openSoftware(t, o)
		p := startPerf(t, append(what, perfNames()...)...)
		before := mustRead(t, outer)
		p.tell("enable")
		inner := measure(t, outer, func() {
			if err := work(); err != nil {
				t.Fatal(err)
			}
		})
		p.tell("disable")
		after := mustRead(t, outer)
		theirs := p.counts()
		worst := 0.0
		for _, id := range perfEvents() {
			most := totalOf(after, id) - totalOf(before, id)
			t.Logf("%s: ours %.0f to %.0f, perf stat %.0f", id, inner[id], most, theirs[id])
			if theirs[id] < 0.99*inner[id] || theirs[id] > 1.01*most {
				t.Fatalf("%s: ours %.0f to %.0f, perf stat %.0f", id, inner[id], most, theirs[id])
			}
			worst = max(worst, math.Abs(inner[id]-theirs[id])/theirs[id])
		}
		if worst <= 0.01 {
			return
		}
		if try == tries {
			t.Fatalf("off by %.1f %%", 100*worst)
		}
	}
}

// totalOf is the count of an event since it was opened.
func totalOf(readings []Reading, id string) float64 {
	var sum float64
	for _, r := range readings {
		if r.ID == id {
			for _, c := range r.Per {
				sum += float64(c.Value)
			}
		}
	}
	return sum
}

// The work that is compared: pages touched by several threads, and bytes sent to and fro between two.
const (
	agreePages    = 60_000
	agreeSwitches = 6_000
)

func agreeWork(h *helper) func() error {
	return func() error {
		if err := h.do("threads", agreePages); err != nil {
			return err
		}
		return h.do("switches", agreeSwitches)
	}
}

func startTree(t *testing.T) *helper {
	t.Helper()
	h, err := startHelper("tree")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.stop)
	return h
}

func TestAgreesWithPerfStatSystemWide(t *testing.T) {
	compareWithPerf(t, Options{}, []string{"-a"}, agreeWork(startTree(t)))
}

// One process with its threads, those that it has and those that it makes later: as a backend and its workers.
func TestAgreesWithPerfStatOfAProcess(t *testing.T) {
	h, err := startHelper("tree", "PGTLB_PERF_LEAF=1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.stop)
	pid := h.cmd.Process.Pid
	compareWithPerf(t, Options{Scope: Tree(pid)}, []string{"-p", strconv.Itoa(pid)}, agreeWork(h))
}

func TestAgreesWithPerfStatOfACgroup(t *testing.T) {
	dir := ownCgroup(t)
	h := startTree(t)
	enter(t, dir, h.cmd.Process.Pid)
	// Its first child was there before; a cgroup counts those that are in it.
	compareWithPerf(t, Options{Scope: Cgroup(dir)}, []string{"-a", "--for-each-cgroup", filepath.Base(dir)}, agreeWork(h))
}

// A cgroup counts its own processes and their new children, also in groups below it, and nothing else.
func TestCgroupCountsItsProcessesOnly(t *testing.T) {
	dir := ownCgroup(t)
	h := startTree(t)
	enter(t, dir, h.cmd.Process.Pid)
	s := openSoftware(t, Options{Scope: Cgroup(dir)})
	for _, e := range s.Events() {
		if e.Scope != "cgroup "+filepath.Base(dir) {
			t.Fatalf("scope %q", e.Scope)
		}
	}
	const pages = 20000
	count := func(who string) float64 {
		t.Helper()
		return measure(t, s, func() {
			if err := h.do(who, pages); err != nil {
				t.Fatal(err)
			}
		})[PageFaults]
	}
	for _, who := range []string{"self", "new"} {
		if f := count(who); f < pages || f > 1.5*pages {
			t.Errorf("%s touched %d pages: %v faults", who, pages, f)
		}
	}
	if f := count("old"); f > pages/2 { // a child from before the move stays where it was
		t.Errorf("faults outside of the cgroup were counted: %v", f)
	}
	if _, err := s.SelfTest(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f := count("self"); f < pages || f > 1.5*pages {
		t.Errorf("after the self-test: %d pages, %v faults", pages, f)
	}
}

func TestNoSuchCgroup(t *testing.T) {
	for name, dir := range map[string]string{"no directory": filepath.Join(t.TempDir(), "gone"), "no cgroup": t.TempDir()} {
		s, _, err := Open(Options{Scope: Cgroup(dir)})
		if err == nil {
			s.Close()
			t.Errorf("%s: opened", name)
			continue
		}
		t.Logf("%s: %v", name, err)
		if !strings.Contains(err.Error(), "cgroup") {
			t.Errorf("%s: the reason does not name the cgroup: %v", name, err)
		}
	}
}

// ownCgroup makes a cgroup for a test, in the hierarchy by which this kernel counts events.
func ownCgroup(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("need: root, to make a cgroup")
	}
	mount := eventCgroups(t)
	if mount == "" {
		t.Skip("need: a cgroup hierarchy that counts events")
	}
	dir := filepath.Join(mount, fmt.Sprintf("pgtlb-test-%d", os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("need: the right to make a cgroup: %v", err)
	}
	t.Cleanup(func() {
		var err error
		for range 100 { // its last process may still be on its way out
			if err = unix.Rmdir(dir); err != unix.EBUSY {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		if err != nil {
			t.Errorf("removing the cgroup: %v", err)
		}
	})
	return dir
}

// eventCgroups is where the cgroups are by which this kernel counts events; empty where there are none.
func eventCgroups(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	mount := ""
	for line := range strings.Lines(string(b)) {
		before, after, _ := strings.Cut(line, " - ")
		f := strings.Fields(before)
		switch {
		case strings.HasPrefix(after, "cgroup2 ") && mount == "" && f[3] == "/":
			mount = f[4]
		case strings.HasPrefix(after, "cgroup ") && strings.Contains(after, "perf_event"):
			mount = f[4]
		}
	}
	return mount
}

// enter moves a process into a cgroup.
func enter(t *testing.T, dir string, pid int) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
		t.Skipf("need: the right to move a process into a cgroup: %v", err)
	}
}
