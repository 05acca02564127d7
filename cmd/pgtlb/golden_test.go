package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"pgtlb/probes"
	"pgtlb/tui"
	"pgtlb/workload/trial"
)

var update = flag.Bool("update", false, "write the golden screens anew")

// TestGoldenScreens replays two runs recorded on an emulated machine whose
// kernel counts cycles, instructions and dTLB misses, and compares the screen
// with the one on file. Emulated page costs are no figures to quote: the runs
// are there because every pane is filled.
func TestGoldenScreens(t *testing.T) {
	t.Setenv("TZ", "UTC")
	store, err := trial.OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"emulated-base.ndjson", "emulated-run.ndjson"} {
		b, err := os.ReadFile(filepath.Join("testdata", f))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(store.Dir(), f), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cases := []struct {
		name    string
		compare bool
		w, h    int
		keys    []string
	}{
		{"live-120x40", false, 120, 40, nil},
		{"live-80x24", false, 80, 24, nil},
		{"compare-120x40", true, 120, 40, nil},
		{"compare-80x24", true, 80, 24, nil},
		{"values-120x40", true, 120, 40, []string{"v"}},
		{"values-80x24", true, 80, 24, []string{"v"}},
		{"zoom-dtlb-120x40", false, 120, 40, []string{"tab", "tab", "tab", "enter"}},
		{"help-80x24", false, 80, 24, []string{"?"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			run, err := store.Load("emulated-run")
			if err != nil {
				t.Fatal(err)
			}
			r := trial.NewReplay(run, store, t.TempDir())
			if c.compare {
				if err := r.UseBaseline("emulated-base"); err != nil {
					t.Fatal(err)
				}
			}
			got := ansi.Strip(tui.Snapshot(r.Whole(), tui.Picture(tui.Options{Version: "test"}, false), c.w, c.h, c.keys...)) + "\n"
			checkSize(t, got, c.w, c.h)
			file := filepath.Join("testdata", c.name+".golden")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the screen is not the one in %s (go test ./cmd/pgtlb -run Golden -update writes it anew):\n%s", file, got)
			}
		})
	}
}

func checkSize(t *testing.T, screen string, w, h int) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(screen, "\n"), "\n")
	if len(lines) != h {
		t.Errorf("%d lines, want %d", len(lines), h)
	}
	for i, l := range lines {
		if n := ansi.StringWidth(l); n > w {
			t.Errorf("line %d is %d wide, the screen %d: %s", i+1, n, w, l)
		}
	}
}

// TestEmulatedRunHasHardwareFigures: the recording that the golden screens show
// holds what this machine may not be able to count.
func TestEmulatedRunHasHardwareFigures(t *testing.T) {
	run, err := trial.Read("testdata/emulated-run.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	s := trial.Summarize(trial.Frames(run))
	for _, id := range []string{probes.CyclesUser, probes.CyclesKernel, probes.Instructions, probes.DTLBLoadMisses, probes.DTLBMissesPerKInstr} {
		if f := s.Get(id); !f.OK() || f.Value <= 0 {
			t.Errorf("%s: %+v", id, f)
		}
	}
	if run.Meta.Host.Emulated == "" {
		t.Error("the run does not say that it comes from an emulated machine")
	}
}
