package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgtlb/workload/trial"
)

// smallLab are the arguments of a lab that is ready soon.
func smallLab(t *testing.T, more ...string) []string {
	return append([]string{"lab", "--rows", "20000", "-c", "2", "--shared-buffers", "64MB", "--pg-bindir", labBindir(t)}, more...)
}

// theRun reads the only run of a sandbox.
func (s *sandbox) theRun() *trial.Run {
	s.t.Helper()
	files, _ := filepath.Glob(filepath.Join(s.state, "pgtlb", "runs", "*.ndjson"))
	if len(files) != 1 {
		s.t.Fatalf("runs: %v, want one", files)
	}
	run, err := trial.Read(files[0])
	if err != nil {
		s.t.Fatal(err)
	}
	return run
}

// TestSignalsEndInOrder: whatever ends the program, the run has its footer and
// no process, directory or pool stays.
func TestSignalsEndInOrder(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			box := newSandbox(t)
			s := box.open(80, 24, smallLab(t)...)
			s.waitText("● 1 point-select")
			time.Sleep(1500 * time.Millisecond) // let the run have a sample
			if err := s.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if code := s.exit(); code != exitInterrupted {
				t.Errorf("exit code %d, want %d", code, exitInterrupted)
			}
			box.nothingLeft()
			if run := box.theRun(); run.End == nil || run.End.Reason != "interrupted" {
				t.Errorf("the run's end: %+v", run.End)
			}
		})
	}
}

// TestHangUpWhilePreparing: the terminal goes away before anything is ready.
func TestHangUpWhilePreparing(t *testing.T) {
	box := newSandbox(t)
	s := box.open(80, 24, smallLab(t, "--rows", "3000000", "--shared-buffers", "1GB")...)
	s.waitText("load")
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if code := s.exit(); code != exitInterrupted {
		t.Errorf("exit code %d, want %d", code, exitInterrupted)
	}
	box.nothingLeft()
}

// TestQuitAsksWhileALoadRuns and leaves the plain screen with a summary.
func TestQuitAsksWhileALoadRuns(t *testing.T) {
	box := newSandbox(t)
	s := box.open(80, 24, smallLab(t)...)
	s.runFor(1, "point-select", 1)
	s.press("q")
	s.waitText("Stop it and quit?")
	s.press("n")
	s.waitFor("the question to go", func(text string) bool { return !strings.Contains(text, "Stop it and quit?") })
	s.press("q")
	s.waitText("Stop it and quit?")
	s.press("y")
	if code := s.exit(); code != exitDone {
		t.Errorf("exit code %d", code)
	}
	s.waitText("1 run recorded", "the lab is removed")
	box.nothingLeft()
}

// TestSweepAfterAKill: kill -9 leaves what the next start puts right.
func TestSweepAfterAKill(t *testing.T) {
	box := newSandbox(t)
	s := box.open(80, 24, smallLab(t)...)
	s.waitText("● 1 point-select")
	time.Sleep(1500 * time.Millisecond)
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.exit()
	if entries, err := os.ReadDir(box.tmp); err != nil || len(entries) == 0 {
		t.Fatalf("nothing to sweep: %v %v", entries, err)
	}
	r := box.run("lab", "--sweep")
	if r.code != exitDone || !strings.Contains(r.out, "removed") {
		t.Errorf("sweep: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	box.nothingLeft()
	run := box.theRun()
	if run.End != nil || len(run.Samples) == 0 {
		t.Errorf("the killed run: end %+v, %d samples", run.End, len(run.Samples))
	}
	if r := box.run("report", "last"); r.code != exitDone || !strings.Contains(r.out, "interrupted") {
		t.Errorf("its report: exit code %d %s", r.code, r.err)
	}
}

// TestServerThatDies: the screen shows the server's own words and can be left.
func TestServerThatDies(t *testing.T) {
	box := newSandbox(t)
	s := box.open(100, 30, smallLab(t)...)
	s.waitText("● 1 point-select")
	pid := serverOf(t, box)
	if err := syscall.Kill(pid, syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	s.waitText("ended by itself")
	s.press("q")
	if code := s.exit(); code != exitUsage {
		t.Errorf("exit code %d, want %d", code, exitUsage)
	}
	box.nothingLeft()
}

// postmasterFile reads the lines of postmaster.pid of a sandbox's only lab.
func postmasterFile(t *testing.T, box *sandbox) []string {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(box.tmp, "*", "data", "postmaster.pid"))
	if len(files) != 1 {
		t.Fatalf("postmaster.pid: %v", files)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(b), "\n")
}

// serverOf finds the postmaster that works in a sandbox.
func serverOf(t *testing.T, box *sandbox) int {
	t.Helper()
	first := postmasterFile(t, box)[0]
	pid, err := strconv.Atoi(first)
	if err != nil || pid < 2 {
		t.Fatalf("postmaster.pid holds %q", first)
	}
	return pid
}

// TestFailingStart shows the server's own words on the screen.
func TestFailingStart(t *testing.T) {
	box := newSandbox(t)
	s := box.open(100, 30, smallLab(t, "--set", "work_mem=banana")...)
	s.waitText("work_mem", "banana")
	s.press("q")
	if code := s.exit(); code != exitUsage {
		t.Errorf("exit code %d, want %d", code, exitUsage)
	}
	box.nothingLeft()
}
