package probes

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
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

// BenchmarkSessions is a tick over a made-up /proc up to the frame: all processes
// of a server looked at, joined with their rows, derived. A tenth of the sessions
// works, or all. The files are ordinary ones, so the kernel's part is not in it;
// the benchmark over a real server is in workload/trial.
func BenchmarkSessions(b *testing.B) {
	for _, n := range []int{1000, 100} {
		for _, share := range []int{10, 1} {
			b.Run(fmt.Sprintf("sessions=%d/working=%d", n, n/share), func(b *testing.B) {
				tr := newTree(b, n)
				table := newProcessTable(tr.roots)
				defer table.close()
				rows := newActivityTable()
				for pid := range tr.ran {
					rows.put([]activity{{pid: pid, backendType: "client backend", state: "idle", database: "shop", user: "web", query: "SELECT 1"}}, 0)
				}
				var d Deriver
				b.ReportAllocs()
				own := OwnCPU()
				defer func() { b.ReportMetric(float64((OwnCPU()-own).Microseconds())/float64(b.N), "cpu-µs/op") }()
				for i := 0; b.Loop(); i++ {
					for j := i % share; j < n; j += share { // they work
						if p := table.procs[tr.children[j]]; p != nil {
							p.runTime = 1
						}
					}
					list, err := table.read(tr.postmaster())
					if err != nil {
						b.Fatal(err)
					}
					batch := Batch{Probe: "backends", Backends: joinBackends(rows.byPid, seenProcesses{time.Now(), list})}
					batch.Readings, batch.Misses = backendSums(batch.Backends, nil)
					if f := d.Next(&Sample{T: time.Duration(i) * time.Second, Batches: []Batch{batch}}); len(f.Backends) != n+1 {
						b.Fatalf("%d rows", len(f.Backends))
					}
				}
			})
		}
	}
}
