package trial

import (
	"testing"
	"time"

	"pgtlb/probes"
)

func TestLoadWindow(t *testing.T) {
	start := []probes.Mark{{Kind: probes.LoadStarted}}
	stop := []probes.Mark{{Kind: probes.LoadStopped}}
	for name, c := range map[string]struct {
		marks    map[int][]probes.Mark
		from, to int
		ok       bool
	}{
		"no load":           {nil, 0, 6, false},
		"start and stop":    {map[int][]probes.Mark{1: start, 4: stop}, 2, 5, true},
		"still running":     {map[int][]probes.Mark{1: start}, 2, 6, true},
		"two, overlapping":  {map[int][]probes.Mark{0: start, 1: start, 3: stop, 4: stop}, 1, 5, true},
		"stop only":         {map[int][]probes.Mark{3: stop}, 0, 4, false},
		"start at the end":  {map[int][]probes.Mark{5: start}, 6, 6, true},
		"both in one frame": {map[int][]probes.Mark{2: append(append([]probes.Mark{}, start...), stop...)}, 3, 3, true},
	} {
		frames := make([]probes.Frame, 6)
		for i := range frames {
			frames[i] = probes.Frame{Elapsed: time.Second, Marks: c.marks[i]}
		}
		from, to, ok := LoadWindow(frames)
		if from != c.from || to != c.to || ok != c.ok {
			t.Errorf("%s: %d to %d, %v; want %d to %d, %v", name, from, to, ok, c.from, c.to, c.ok)
		}
		if got, want := Summarize(frames).Seconds, float64(c.to-c.from); got != want {
			t.Errorf("%s: summed up over %v s, want the window's %v", name, got, want)
		}
	}
}
