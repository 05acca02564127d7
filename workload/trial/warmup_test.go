package trial

import (
	"testing"
	"time"

	"pgtlb/probes"
)

// faulting makes frames of one second each with these rates of page faults.
func faulting(rates ...float64) []probes.Frame {
	var frames []probes.Frame
	for i, r := range rates {
		frames = append(frames, probes.Frame{Seq: uint64(i + 1), T: time.Duration(i+1) * time.Second, Elapsed: time.Second,
			Values: map[probes.Key]probes.Value{{ID: probes.ServerPageFaults}: {V: r, Delta: r}}})
	}
	return frames
}

func TestSettled(t *testing.T) {
	for name, c := range map[string]struct {
		rates []float64
		want  bool
	}{
		"nothing yet":              {nil, false},
		"too short":                {[]float64{900, 900, 900, 900, 900}, false},
		"level from the start":     {[]float64{900, 910, 890, 905, 900, 895}, true},
		"falling":                  {[]float64{22000, 18000, 14000, 11000, 8000, 6000}, false},
		"fallen, then level":       {[]float64{22000, 9000, 3000, 1000, 990, 1010, 1000, 995, 1005}, true},
		"falling below notice":     {[]float64{22000, 9000, 3000, 90, 60, 40}, true},
		"one dip is not the end":   {[]float64{22000, 20000, 18000, 15000, 40, 12000}, false},
		"none":                     {[]float64{0, 0, 0, 0, 0, 0}, true},
		"rising":                   {[]float64{100, 500, 1000, 2000, 3000, 4000}, true},
		"still falling by a fifth": {[]float64{1300, 1290, 1280, 1050, 1040, 1030}, false},
	} {
		if got := Settled(faulting(c.rates...)); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	blind := faulting(1, 1, 1, 1, 1, 1)
	for i := range blind {
		blind[i].Values = nil
	}
	if Settled(blind) {
		t.Error("settled without a measurement of page faults")
	}
}

func TestWarmUpIsNotInTheLoadWindow(t *testing.T) {
	frames := faulting(0, 5000, 3000, 1000, 900, 910, 905)
	frames[0].Marks = []probes.Mark{{Kind: probes.LoadStarted, Label: "x"}}
	frames[3].Marks = []probes.Mark{{Kind: probes.LoadWarmed, Label: "x"}}
	frames[6].Marks = []probes.Mark{{Kind: probes.LoadStopped, Label: "x"}}
	if from, to, ok := LoadWindow(frames); from != 4 || to != 7 || !ok {
		t.Errorf("the window is %d to %d, %v", from, to, ok)
	}
	if from, to, ok := warmedUp(frames); from != 1 || to != 4 || !ok {
		t.Errorf("the warm-up is %d to %d, %v", from, to, ok)
	}
	p := partsOf("current", frames)
	if f, s := p.filling.Get(probes.ServerPageFaults), p.steady.Get(probes.ServerPageFaults); f.Total != 9000 || s.Total != 2715 {
		t.Errorf("faults while warming up %v, then %v", f.Total, s.Total)
	}
	if p.note != "current: warmed up for 3 s, then measured for 3 s" {
		t.Error(p.note)
	}
	var tl timeline
	for _, f := range frames {
		tl.add(f)
	}
	if got := tl.run.Summary.Get(probes.ServerPageFaults); got.Total != 2715 || tl.run.Start != frames[3].T {
		t.Errorf("the live run has %v faults from %v", got.Total, tl.run.Start)
	}
}
