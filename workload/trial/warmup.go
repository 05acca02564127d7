package trial

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pgtlb/probes"
	"pgtlb/workload"
)

// WarmUp says how long a load works before it is measured. The zero WarmUp is
// not at all.
type WarmUp struct {
	// Most is its length; with Auto its greatest length.
	Most time.Duration
	// Auto ends it when page faults have settled: backends that meet shared
	// buffers for the first time take a fault for each part of them, and these die out.
	Auto bool
}

// DefaultWarmUp bounds a warm-up that ends by itself.
const DefaultWarmUp = 2 * time.Minute

// String is the warm-up as a flag has it.
func (w WarmUp) String() string {
	if w.Auto {
		return "auto"
	}
	return w.Most.String()
}

// warm has a load warm up.
func (s *Session) warm(ctx context.Context, l *load, d *drive, what *workload.Load, w WarmUp) {
	what.Warmup = &workload.Warmup{Most: w.Most}
	d.meta.WarmUp = w.String()
	if w.Auto {
		what.Warmup.Over = func() bool {
			over := false
			s.query(func() {
				frames := s.tl.sinceStart()
				over = Settled(frames)
				if l.drive == d && l.status == LoadRunning {
					l.detail = fmt.Sprintf("warming up until page faults settle, %d s", len(frames))
				}
			})
			return over
		}
	}
	what.Warmed = func() {
		s.runs.mark(ctx, s, probes.LoadWarmed, d)
		s.post(func() {
			if l.drive == d {
				l.detail = ""
			}
		})
	}
}

// mark puts a mark of a load that is at work into the run under way.
func (r *runSet) mark(ctx context.Context, s *Session, kind probes.MarkKind, d *drive) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.open || d.left {
		return
	}
	if err := s.sampler.Mark(ctx, marks(kind, []*drive{d})...); err != nil {
		s.post(func() { s.notify(true, "marking the end of the warm-up: "+err.Error()) })
	}
}

// sinceStart are the frames of the run under way.
func (t *timeline) sinceStart() []probes.Frame {
	if t.run == nil || !t.run.Active {
		return nil
	}
	for i := range t.history {
		if t.history[i].T > t.run.Start {
			return slices.Clone(t.history[i:])
		}
	}
	return nil
}

// The rule of Settled, in frames and rates.
const (
	settleHalf = 3    // frames of each half that are compared
	settleFall = 1.15 // fall from one half to the next that still counts as level
	settleRate = 100  // faults per second that do not matter whatever they do
)

// Settled tells whether the filling of page tables is over as far as it can be
// seen from a load that goes on: of the last six frames the later three have a
// median rate of page faults not clearly below that of the three before, or one that does not
// matter. Before there are six it is not; where faults are not measured it never is.
func Settled(frames []probes.Frame) bool {
	frames = slices.DeleteFunc(slices.Clone(frames), func(f probes.Frame) bool { return f.TooShort })
	if len(frames) < 2*settleHalf {
		return false
	}
	rates, ok := faultRates(frames)
	if !ok {
		return false
	}
	n := len(rates)
	before, after := probes.Median(rates[n-2*settleHalf:n-settleHalf]), probes.Median(rates[n-settleHalf:])
	return after <= settleRate || before <= settleFall*after
}
