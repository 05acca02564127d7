package experiment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A full disk takes only a part of a line. It is taken back, so that the journal can be
// read and the experiment goes on when there is room again.
func TestJournalOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=32k"); err != nil {
		t.Skip("need: root, to mount a small disk")
	}
	defer func() { _ = unix.Unmount(dir, 0) }()
	j, err := Create(dir, plan(2, "a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	made := Made{Step: j.Plan.Steps()[0], Started: time.Now(), Ended: time.Now(), State: Failed, Why: strings.Repeat("x", 40<<10)}
	if err := j.add(made); err == nil || len(j.Made) > 0 {
		t.Fatalf("more than fits was written: %v", err)
	}
	if b, err := os.ReadFile(filepath.Join(Dir(dir), j.Plan.Name+extension)); err != nil || !strings.HasSuffix(string(b), "}\n") || len(b) > 2<<10 {
		t.Errorf("%d bytes are left: %v", len(b), err)
	}
	made.Why = "it hung"
	if err := j.add(made); err != nil {
		t.Error(err)
	}
	if err := j.Close("ended"); err != nil {
		t.Error(err)
	}
	if back, err := Open(dir, "last"); err != nil || len(back.Made) != 1 || back.End == nil {
		t.Errorf("read again: %+v, %v", back, err)
	}
}
