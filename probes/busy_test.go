package probes

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// TestBusyProcesses: the ones that used CPU time since, most first, without the
// server, and a process that has got the pid of another from its own start.
func TestBusyProcesses(t *testing.T) {
	root := t.TempDir()
	put := func(pid, ppid int, name string, start, ticks int) {
		t.Helper()
		dir := filepath.Join(root, strconv.Itoa(pid))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf("%d (%s) S %d 0 0 0 -1 0 0 0 0 0 %d 0 0 0 20 0 1 0 %d 0 0\n", pid, name, ppid, ticks, start)
		if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(line), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put(100, 1, "postgres", 5, 10)
	put(101, 100, "postgres", 6, 10)
	put(200, 1, "backup", 7, 10)
	put(201, 1, "idle one) (x", 7, 10)
	put(202, 1, "old", 7, 1000)
	r := NewBusyReader(Roots{Proc: root}, 100)
	if got, err := r.Look(5); err != nil || len(got) != 0 {
		t.Fatalf("the first look: %v %v", got, err)
	}
	put(100, 1, "postgres", 5, 5000)
	put(101, 100, "postgres", 6, 5000)
	put(200, 1, "backup", 7, 60)
	up, err := sinceBoot()
	if err != nil {
		t.Skip("need: the boot clock")
	}
	later := int(up/(time.Second/ticksPerSecond)) + 100
	put(202, 1, "new\x1b[31m", later, 20)
	put(203, 1, "young", later, 5)
	put(204, 1, "unread before", 8, 5000)
	got, err := r.Look(2)
	if err != nil || len(got) != 2 || got[0].Pid != 200 || got[0].Name != "backup" || got[1].Pid != 202 || got[1].Name == "new\x1b[31m" {
		t.Fatalf("%+v %v", got, err)
	}
	if ratio := got[0].CPUPct / got[1].CPUPct; ratio < 2.49 || ratio > 2.51 || got[0].CPUPct <= 0 {
		t.Errorf("%+v", got)
	}
}
