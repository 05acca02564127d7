package probes

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// fakeProbe counts its reads; each takes as long as took says.
type fakeProbe struct {
	name  string
	reads int
	took  time.Duration
	err   error
}

func (p *fakeProbe) Name() string      { return p.name }
func (p *fakeProbe) Metrics() []Metric { return []Metric{MustLookup(Commits), MustLookup(Rollbacks)} }
func (p *fakeProbe) Close() error      { return nil }
func (p *fakeProbe) Read(ctx context.Context) (Batch, error) {
	p.reads++
	n := p.reads
	select {
	case <-time.After(p.took):
	case <-ctx.Done():
		return Batch{}, ctx.Err()
	}
	return Batch{Readings: []Reading{{ID: Commits, Value: float64(n)}}}, p.err
}

// sampling runs a sampler with the probes for a while of fake time.
func sampling(t *testing.T, every, length time.Duration, during func(context.Context, *Sampler), ps ...Probe) []Sample {
	t.Helper()
	s := NewSampler(every)
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var got []Sample
	done := make(chan error)
	go func() { done <- s.Run(ctx, func(x Sample) { got = append(got, x) }) }()
	for _, p := range ps {
		if err := s.Add(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	if during != nil {
		during(ctx, s)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return got
}

func batchOf(s Sample, probe string) *Batch {
	for i := range s.Batches {
		if s.Batches[i].Probe == probe {
			return &s.Batches[i]
		}
	}
	return nil
}

func TestSamplerTicksAndTakesALastSample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := sampling(t, time.Second, 3500*time.Millisecond, nil, &fakeProbe{name: "a"})
		var at []time.Duration
		for _, s := range got {
			at = append(at, s.T)
		}
		last := got[len(got)-1]
		if last.T != 3500*time.Millisecond {
			t.Errorf("last sample at %v, want the moment Run was ended; all: %v", last.T, at)
		}
		for i, s := range got[1 : len(got)-1] {
			if want := time.Duration(i+1) * time.Second; s.T != want {
				t.Errorf("tick %d at %v, want %v", i+1, s.T, want)
			}
		}
		for i, s := range got {
			if s.Seq != uint64(i) {
				t.Errorf("sample %d has seq %d", i, s.Seq)
			}
		}
	})
}

func TestSlowProbeIsNotWaitedForAndLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &fakeProbe{name: "slow", took: 900 * time.Millisecond}
		got := sampling(t, time.Second, 5500*time.Millisecond, nil, &fakeProbe{name: "fast"}, slow)
		var values []float64
		late := 0
		for _, s := range got {
			if b := batchOf(s, "fast"); b != nil && len(b.Readings) != 1 {
				t.Errorf("sample at %v lacks the fast probe", s.T)
			}
			b := batchOf(s, "slow")
			if b == nil {
				continue
			}
			for _, r := range b.Readings {
				values = append(values, r.Value)
				if b.Offset >= 0 {
					t.Errorf("a late read begun before the sample has offset %v", b.Offset)
				}
			}
			if len(b.Misses) > 0 {
				late++
				if !strings.Contains(b.Misses[0].Reason, "has not ended") {
					t.Errorf("reason %q", b.Misses[0].Reason)
				}
			}
		}
		if late == 0 || len(values) == 0 {
			t.Fatalf("late %d, values %v", late, values)
		}
		for i, v := range values {
			if v != float64(i+1) {
				t.Errorf("reads that arrived: %v, want every one once", values)
			}
		}
	})
}

func TestMarkSamplesAtOnceAndRealignsTheTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := sampling(t, time.Second, 3*time.Second, func(ctx context.Context, s *Sampler) {
			time.Sleep(1300 * time.Millisecond)
			if err := s.Mark(ctx, Mark{LoadStarted, "x"}); err != nil {
				t.Error(err)
			}
		}, &fakeProbe{name: "a"})
		marked := -1
		for i, s := range got {
			if len(s.Marks) > 0 {
				marked = i
			}
		}
		if marked < 0 || got[marked].T != 1300*time.Millisecond {
			t.Fatalf("no sample at the mark: %+v", got)
		}
		if next := got[marked+1].T; next != 2300*time.Millisecond {
			t.Errorf("next tick at %v, want one interval after the mark", next)
		}
	})
}

func TestFailingProbeGivesReasonsForWhatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &fakeProbe{name: "a", err: &Unavailable{What: "x", Reason: "no permission", Remedy: "be root"}}
		got := sampling(t, time.Second, 1500*time.Millisecond, nil, p)
		b := batchOf(got[1], "a")
		if len(b.Readings) != 1 || len(b.Misses) != 1 {
			t.Fatalf("batch %+v: want the reading kept and the other metric missed", b)
		}
		if m := b.Misses[0]; m != (Miss{ID: Rollbacks, Reason: "no permission", Remedy: "be root"}) {
			t.Errorf("miss %+v", m)
		}
	})
}

func TestAddRefusesASecondProbeOfOneNameAndRemoveTakesItOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := sampling(t, time.Second, 4500*time.Millisecond, func(ctx context.Context, s *Sampler) {
			if err := s.Add(ctx, &fakeProbe{name: "a"}); err == nil {
				t.Error("second probe of the same name was taken")
			}
			time.Sleep(2500 * time.Millisecond)
			if err := s.Remove(ctx, "a"); err != nil {
				t.Error(err)
			}
		}, &fakeProbe{name: "a"})
		if b := batchOf(got[len(got)-1], "a"); b != nil {
			t.Errorf("removed probe still in the sample: %+v", b)
		}
	})
}

func TestAskingAStoppedSampler(t *testing.T) {
	s := NewSampler(time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Run(ctx, func(Sample) {}); err != nil {
		t.Fatal(err)
	}
	if err := s.Mark(t.Context()); !errors.Is(err, ErrSamplerStopped) {
		t.Errorf("got %v", err)
	}
}

func TestSetIntervalBringsTheNextTickForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := sampling(t, time.Minute, 10*time.Second, func(ctx context.Context, s *Sampler) {
			if err := s.SetInterval(ctx, 2*time.Second); err != nil {
				t.Error(err)
			}
		}, &fakeProbe{name: "a"})
		if len(got) < 5 {
			t.Errorf("%d samples in 10 s at 2 s", len(got))
		}
	})
}

// stuckProbe hangs until its context ends.
type stuckProbe struct{ fakeProbe }

func (p *stuckProbe) Read(ctx context.Context) (Batch, error) {
	<-ctx.Done()
	return Batch{}, ctx.Err()
}

func TestHungProbeHoldsNobodyForTheLengthOfAnInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sampling(t, time.Minute, 90*time.Second, func(ctx context.Context, s *Sampler) {
			took := func(what string, most time.Duration, do func() error) {
				begun := time.Now()
				if err := do(); err != nil {
					t.Errorf("%s: %v", what, err)
				}
				if d := time.Since(begun); d > most {
					t.Errorf("%s took %v, want %v at most", what, d, most)
				}
			}
			// It may have to wait for the first tick before its own.
			took("a mark", 4*time.Second, func() error { return s.Mark(ctx, Mark{LoadStarted, "x"}) })
			time.Sleep(61 * time.Second) // a read is in flight
			took("taking it out", longestWait, func() error { return s.Remove(ctx, "stuck") })
			took("another mark", 0, func() error { return s.Mark(ctx, Mark{LoadStopped, "x"}) })
		}, &stuckProbe{fakeProbe{name: "stuck"}})
	})
}

// deafProbe hangs whatever its context says, as a read of a file can.
type deafProbe struct {
	fakeProbe
	free chan struct{}
}

func (p *deafProbe) Read(context.Context) (Batch, error) {
	<-p.free
	return Batch{}, nil
}

func TestRequestsEndWithTheirContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &deafProbe{fakeProbe{name: "deaf"}, make(chan struct{})}
		got := sampling(t, 10*time.Second, 30*time.Second, func(ctx context.Context, s *Sampler) {
			short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
			defer cancel()
			begun := time.Now()
			if err := s.Mark(short); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("mark: %v", err)
			}
			short, cancel = context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			if err := s.Remove(short, "deaf"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("remove: %v, want that a read is still in flight", err)
			}
			if d := time.Since(begun); d > 6*time.Second {
				t.Errorf("both took %v", d)
			}
			close(p.free)
		}, p)
		if len(got) < 3 {
			t.Errorf("%d samples: a hung probe stops the others", len(got))
		}
	})
}
