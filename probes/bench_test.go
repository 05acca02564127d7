package probes

import (
	"context"
	"os"
	"os/exec"
	"testing"
)

// BenchmarkOneProcess is what one backend costs per tick: about 6 µs and no
// allocation, with the files kept open.
func BenchmarkOneProcess(b *testing.B) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		b.Skip("need: /proc of a Linux kernel")
	}
	// A backend has one thread; the kernel adds up all threads of a process.
	ctx, cancel := context.WithCancel(b.Context())
	child := exec.CommandContext(ctx, "sleep", "600")
	if err := child.Start(); err != nil {
		b.Skipf("need: the program sleep (%v)", err)
	}
	defer func() {
		cancel()
		_ = child.Wait() // killed
	}()
	t := newProcessTable(SystemRoots())
	defer t.close()
	p, err := t.look(child.Process.Pid, 0)
	if err != nil {
		b.Fatal(err)
	}
	p.named = true // as for every process that has its title
	b.ReportAllocs()
	for b.Loop() {
		if err := t.refresh(p, 0); err != nil {
			b.Fatal(err)
		}
	}
}
