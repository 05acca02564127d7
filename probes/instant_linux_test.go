package probes

import (
	"os"
	"testing"
)

// TestOnlyTheKernelsOwnFilesAreInstant: a file of procfs is read by the sampler
// itself; one of the same name that something else makes is not.
func TestOnlyTheKernelsOwnFilesAreInstant(t *testing.T) {
	made := Roots{Proc: t.TempDir(), Sys: t.TempDir()}
	for _, name := range []string{"meminfo", "stat", "vmstat"} {
		b, err := os.ReadFile("/proc/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(made.ProcPath(name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	open := map[string]func(Roots) (Probe, []Miss){
		"meminfo": openMeminfo, "cpu": openCPU,
		"vmstat": func(r Roots) (Probe, []Miss) { return openVMStat(r, true) },
	}
	for name, open := range open {
		for _, c := range []struct {
			roots Roots
			want  bool
		}{{made, false}, {Roots{Proc: "/proc", Sys: "/sys"}, true}} {
			p, misses := open(c.roots)
			if p == nil {
				t.Fatalf("%s: %+v", name, misses)
			}
			if got := p.(instant).instant(); got != c.want {
				t.Errorf("%s of %s: instant %v", name, c.roots.Proc, got)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if !madeByKernel("/proc/self/stat") {
		t.Error("/proc/self/stat is not taken for the kernel's")
	}
}
