package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

// comparedArms are six pairs of runs entered by hand, after two identical runs.
func comparedArms(t *testing.T) *trial.Comparison {
	t.Helper()
	tps := [][2]float64{{54263, 58564}, {54100, 58300}, {54400, 58700}, {54200, 58500}, {54350, 58650}, {54300, 58420}}
	arms := []trial.ArmRuns{{Name: "4kB"}, {Name: "2MB"}}
	position := 0
	add := func(arm, block int, v, faults float64) {
		position++
		arms[arm].Runs = append(arms[arm].Runs, &trial.Run{End: &trial.End{Reason: "finished"}, Meta: trial.Meta{
			Name: fmt.Sprintf("pages-%02d", position), Created: epoch.Add(time.Duration(position) * time.Minute), Pages: arms[arm].Name,
			Loads: []trial.LoadMeta{{Scenario: "point-select", Clients: 8}},
			Step:  &trial.StepMeta{Experiment: "pages", Arm: arms[arm].Name, Block: block, Position: position},
			ByHand: &trial.ByHand{LoadS: 30, CounterWindowS: 25, Metrics: map[string]float64{
				probes.TPS: v, probes.LatencyMean: 8000 / v, probes.PageFaults: faults, probes.DTLBMissPct: 2.73 - 0.24*float64(arm), probes.CyclesUser: 400e9 + v}},
		}})
	}
	add(0, 0, 54250, 1.4e6)
	add(0, 0, 54420, 1.4e6)
	for i, p := range tps {
		add(i%2, i+1, p[i%2], []float64{1.4e6, 1044}[i%2])
		add(1-i%2, i+1, p[1-i%2], []float64{1.4e6, 1044}[1-i%2])
	}
	c, err := trial.CompareArms(arms[0], arms[1:], trial.CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &c
}

func TestResultScreen(t *testing.T) {
	c := comparedArms(t)
	for _, size := range [][2]int{{120, 40}, {80, 24}, {40, 12}} {
		w, h := size[0], size[1]
		next, _ := newModel(still{}, Options{width: w, height: h}, nil, nil).take(demo{seconds: 90, loads: 1}.state())
		m := next.(Model)
		m.overlay = newResult(c)
		got := onTerminal(t, m.screen(), w, h)
		name := fmt.Sprintf("result-%dx%d", w, h)
		path := filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("the screen differs from %s (go test ./tui -update accepts it):\n%s", path, got)
		}
		o, _ := m.overlay.key(&m, "end")
		m.overlay = o
		if end := onTerminal(t, m.screen(), w, h); w > 40 && !strings.Contains(end, "percentage points") {
			t.Errorf("the end of the list is not in sight:\n%s", end)
		}
		if o, _ := m.overlay.key(&m, "esc"); o != nil {
			t.Error("esc does not close the result")
		}
	}
}
