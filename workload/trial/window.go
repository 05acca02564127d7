package trial

import (
	"slices"
	"time"

	"pgtlb/probes"
)

// LoadWindow finds the frames of the load: from the one after the frame whose
// sample carries the first LoadStarted (that frame ends where the load starts),
// or the LoadWarmed after it, up to, not including, index to: the frame after the one in which the last
// load stopped, or the end. Where no frame tells of a start, ok is false and the
// window is everything up to the last stop, or to the end.
func LoadWindow(frames []probes.Frame) (from, to int, ok bool) {
	running, stopped := 0, len(frames)
	for i, f := range frames {
		for _, m := range f.Marks {
			switch m.Kind {
			case probes.LoadStarted:
				if !ok {
					from, ok = i+1, true
				}
				running++
			case probes.LoadWarmed:
				if ok {
					from = i + 1
				}
			case probes.LoadStopped:
				running--
				stopped = i + 1
			}
		}
		if ok && running <= 0 {
			return from, i + 1, true
		}
	}
	if !ok {
		return 0, stopped, false
	}
	return from, len(frames), true
}

// warmedUp finds the frames of the load's warm-up; ok is false where there was
// none.
func warmedUp(frames []probes.Frame) (from, to int, ok bool) {
	started := false
	for i := range frames {
		switch {
		case !started && frames[i].Marked(probes.LoadStarted):
			from, started = i+1, true
		case started && frames[i].Marked(probes.LoadWarmed):
			return from, i + 1, true
		}
	}
	return 0, 0, false
}

// Summarize makes the Summary of the load window of frames, or of all frames
// where no load started.
func Summarize(frames []probes.Frame) *Summary {
	from, to, _ := LoadWindow(frames)
	return summarize(frames, from, to)
}

func summarize(frames []probes.Frame, from, to int) *Summary {
	a := NewAccumulator()
	if from > 0 && from <= len(frames) {
		a.Begin(frames[from-1])
	}
	for i := from; i < to; i++ {
		a.Add(frames[i])
	}
	return a.Summary()
}

// usual is the median time between the samples of at least one frame.
func usual(frames []probes.Frame) time.Duration {
	all := make([]time.Duration, len(frames))
	for i := range frames {
		all[i] = frames[i].Elapsed
	}
	slices.Sort(all)
	return all[len(all)/2]
}
