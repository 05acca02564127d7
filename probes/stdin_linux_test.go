package probes

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAProcessThatEndsWhileItIsMetLeavesTheStandardInputOpen: its first file can
// still be opened, the next no more, and what was never opened is not closed.
func TestAProcessThatEndsWhileItIsMetLeavesTheStandardInputOpen(t *testing.T) {
	if _, err := unix.FcntlInt(0, unix.F_GETFD, 0); err != nil {
		t.Fatalf("the test has no standard input: %v", err)
	}
	tr := newTree(t, 1)
	if err := os.Remove(tr.roots.ProcPath("1001", "stat")); err != nil {
		t.Fatal(err)
	}
	table := newProcessTable(tr.roots)
	defer table.close()
	if list, err := table.read(tr.postmaster()); err != nil || len(list) != 1 {
		t.Fatalf("%d processes, %v", len(list), err)
	}
	if _, err := unix.FcntlInt(0, unix.F_GETFD, 0); err != nil {
		t.Errorf("the standard input was closed: %v", err)
	}
}
