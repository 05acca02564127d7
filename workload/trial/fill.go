package trial

import (
	"slices"

	"pgtlb/probes"
)

// Fill says where the filling of page tables ended in a load window.
type Fill struct {
	// At is the index of the first frame after the filling; the end of the
	// window where Clear is false.
	At int
	// Clear tells whether the end can be seen.
	Clear bool
	// Why says how the end was found, or why not, in one sentence.
	Why string
}

// The rule of FillEnd, in frames and ratios.
const (
	fillLeast   = 12   // frames of a window in which an end can be told
	fillRun     = 3    // frames in a row that must be quiet
	fillRest    = 0.10 // share of the peak's excess that counts as quiet
	fillRise    = 1.5  // peak ÷ steady level from which on there was a filling
	fillSettled = 1.3  // drift within the last third that still counts as level
)

// FillEnd finds where the filling of page tables ended: a load that meets
// shared buffers for the first time takes a minor fault for each part of them,
// and these die out. What counts is the minor faults of the server's client
// backends; where they were not recorded, those of the whole machine. The rule:
// the steady level is the median rate of minor faults in the last third of the
// load window; the filling ends before the first
// three frames in a row whose rate is above it by at most a tenth of what the
// first third's highest rate was above it. Where the last third itself still
// falls by more than 1.3-fold, no end is named.
func FillEnd(frames []probes.Frame) Fill {
	from, to, _ := LoadWindow(frames)
	if from < to && frames[to-1].TooShort {
		to--
	}
	rates, ok := faultRates(frames[from:to])
	n := len(rates)
	switch {
	case !ok:
		return Fill{At: to, Why: "page faults were not measured in every interval, so the filling of page tables cannot be told from the steady state"}
	case n < fillLeast:
		return Fill{At: to, Why: "the run is too short to tell the filling of page tables from the steady state"}
	}
	third := n / 3
	last := rates[n-third:]
	level := probes.Median(last)
	peak := slices.Max(rates[:third])
	before, after := probes.Median(last[:len(last)/2]), probes.Median(last[len(last)/2:])
	if before > fillSettled*max(after, 1) && before-after > fillRest*(peak-level) {
		return Fill{At: to, Why: "page faults were still becoming fewer at the end: the run shows the filling of page tables, not the steady state"}
	}
	if peak < fillRise*max(level, 1) {
		return Fill{At: from, Clear: true, Why: "page faults stayed level from the start: there was no filling of page tables to set apart"}
	}
	limit := level + fillRest*(peak-level)
	quiet := 0
	for i, r := range rates {
		if r > limit {
			quiet = 0
			continue
		}
		if quiet++; quiet == fillRun {
			return Fill{At: from + i + 1 - fillRun, Clear: true, Why: "the rate of minor page faults had fallen to its later level"}
		}
	}
	return Fill{At: to, Why: "the rate of page faults went up and down too much to tell the filling of page tables from the steady state"}
}

// faultRates returns the rate of page faults of each frame: those of the
// server's own processes, else the machine's minor ones, else all of the
// machine. A frame that lacks it, because a read came late, has the rate of its
// neighbour.
func faultRates(frames []probes.Frame) ([]float64, bool) {
	for _, id := range []string{probes.ServerPageFaults, probes.PageFaultsMinor, probes.PageFaults} {
		if rates, ok := ratesOf(id, frames); ok {
			return rates, true
		}
	}
	return nil, false
}

// fillGaps is the share of frames that may lack the rate of faults.
const fillGaps = 0.2

func ratesOf(id string, frames []probes.Frame) ([]float64, bool) {
	rates := make([]float64, len(frames))
	last, there := 0.0, 0
	for i := range frames {
		if v := frames[i].Get(id); v.OK() {
			if there == 0 {
				for j := range i {
					rates[j] = v.V
				}
			}
			last = v.V
			there++
		}
		rates[i] = last
	}
	return rates, there > 0 && float64(len(frames)-there) <= fillGaps*float64(len(frames))
}
