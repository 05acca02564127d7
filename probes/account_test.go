package probes

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestReadCPUTime(t *testing.T) {
	got, err := ReadCPUTime(fixture("amd64"))
	want := CPUTime{
		Busy: 196270 * time.Millisecond, // user, nice, system, irq, softirq: 19627 ticks
		Idle: 1390770 * time.Millisecond, Steal: 420 * time.Millisecond, HasSteal: true,
	}
	if err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if _, err := ReadCPUTime(Roots{Proc: t.TempDir()}); err == nil {
		t.Error("no error without the file")
	}
}

// family makes a proc directory with processes: their stat lines by pid.
func family(t *testing.T, children string, stats map[string]string) Roots {
	t.Helper()
	root := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("loadavg", "1.25 0.50 0.10 2/345 678\n")
	write("100/task/100/children", children)
	for pid, times := range stats {
		write(pid+"/stat", pid+" (post) gres) S 1 1 1 0 -1 0 10 20 30 40 "+times+" 20 0 1 0 5000 1 1 1"+strings.Repeat(" 0", 27)+"\n")
	}
	return Roots{Proc: root}
}

func TestFamilyCPU(t *testing.T) {
	// utime, stime, cutime, cstime
	roots := family(t, "101 102 ", map[string]string{"100": "1 2 300 400", "101": "10 20 0 0", "102": "5 6 7 8"})
	got, err := FamilyCPU(roots, 100)
	if want := 7590 * time.Millisecond; err != nil || got != want {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if l, err := LoadAverage(roots); err != nil || l != 1.25 {
		t.Errorf("load average %v, %v", l, err)
	}
	if _, err := FamilyCPU(roots, 999); err == nil {
		t.Error("no error for a process that is not there")
	}
	// A child that is listed and gone is read for again, not left out.
	if _, err := FamilyCPU(family(t, "101 ", map[string]string{"100": "1 2 3 4"}), 100); err == nil || !strings.Contains(err.Error(), "too fast") {
		t.Errorf("a child that is never there: %v", err)
	}
}

// TestFamilyCPUOfThisProcess: what an ended child has used stays in the sum.
func TestFamilyCPUOfThisProcess(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("need: a /proc file system")
	}
	before, err := FamilyCPU(SystemRoots(), os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	after, err := FamilyCPU(SystemRoots(), os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if grown := after - before; grown < used-20*time.Millisecond { // ticks of 10 ms
		t.Errorf("grew by %v, the child used %v", grown, used)
	}
}
