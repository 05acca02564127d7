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
// window is everything up to the first stop, or to the end.
func LoadWindow(frames []probes.Frame) (from, to int, ok bool) {
	var w loadWatch
	for i := range frames {
		begins, counts, more := w.next(&frames[i])
		switch {
		case begins:
			from, to, ok = i+1, i+1, true
		case counts:
			to = i + 1
		}
		if !more {
			break
		}
	}
	return from, to, ok
}

// loadWatch finds the window of the load frame by frame. Its zero value has seen
// nothing.
type loadWatch struct {
	began, ended bool
	running      int
}

// next tells of a frame whether the load begins at its end, so that neither it nor one
// before it is of the load; else whether it is of the load; and whether later frames may
// be.
func (w *loadWatch) next(f *probes.Frame) (begins, counts, more bool) {
	counts = w.began || !w.ended
	for _, m := range f.Marks {
		switch m.Kind {
		case probes.LoadStarted:
			if !w.began {
				w.began, begins = true, true
			}
			w.running++
		case probes.LoadWarmed:
			begins = begins || w.began
		case probes.LoadStopped:
			w.ended = true
			if w.began { // one that stops before any start was at work from the beginning on
				w.running--
			}
		}
	}
	return begins, counts, !w.began || w.running > 0
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
