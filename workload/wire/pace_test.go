//go:build linux

package wire

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

func TestSleepAndThrottle(t *testing.T) {
	onBoth(t, func(t *testing.T, with connector) {
		const nap = 30 * time.Millisecond
		var woke, slept time.Duration
		_, err := runSteps(t, with, func(b []byte) ([]byte, Action) { return b, Sleep(nap) }, query("SELECT 1"))
		if err != nil {
			t.Fatal(err)
		}
		task := taskFunc(func(at Moment, b []byte) ([]byte, Action) {
			if slept == 0 {
				slept = at.Now
				return b, Sleep(at.Now + nap)
			}
			woke = at.Now
			return b, Stop()
		})
		l := &tallies{}
		if _, err := Run(t.Context(), Options{Clients: []Client{{with.adopt(t, needServer(t).DSN(), 1, nil)[0], task}}, Recorder: l.recorder}); err != nil {
			t.Fatal(err)
		}
		if woke-slept < nap {
			t.Errorf("slept %v instead of %v", woke-slept, nap)
		}
	})
}

func TestRateBeginsNothingEarly(t *testing.T) {
	onBoth(t, func(t *testing.T, with connector) {
		const clients, each = 6, 20
		conns := with.adopt(t, needServer(t).DSN(), clients, nil)
		given := make([]Client, clients)
		var early atomic.Int64
		for i := range given {
			task := endless("SELECT 1")
			given[i] = Client{conns[i], taskFunc(func(at Moment, b []byte) ([]byte, Action) {
				if at.Begin > at.Now {
					early.Add(1)
				}
				return task.Next(at, b)
			})}
		}
		var l tallies
		s, err := Run(t.Context(), Options{Clients: given, Threads: 2, Recorder: l.recorder, Rate: 2000, Seed: 7, Transactions: each})
		if err != nil {
			t.Fatal(err)
		}
		if sum := l.sum(); s.Transactions != clients*each || early.Load() != 0 || sum.LagMax <= 0 || sum.LagMax > sum.LagSum {
			t.Errorf("%+v, %d early, %+v", s, early.Load(), sum)
		}
		// Two threads draw 60 starts each: the last cannot be before the schedule says so.
		th := newThrottle(&Options{Rate: 2000, Seed: 7}, 0, 2)
		for range clients / 2 * each {
			th.draw()
		}
		if s.Elapsed < th.next {
			t.Errorf("done after %v, the last start was scheduled for %v", s.Elapsed, th.next)
		}
	})
}

func TestLateTransactionsAreSkipped(t *testing.T) {
	onBoth(t, func(t *testing.T, with connector) {
		const clients, each = 3, 500
		conns := with.adopt(t, needServer(t).DSN(), clients, nil)
		given := make([]Client, clients)
		for i := range given {
			given[i] = Client{conns[i], endless("SELECT 1")}
		}
		var l tallies
		s, err := Run(t.Context(), Options{Clients: given, Recorder: l.recorder, Rate: 1e7, Transactions: each, LatencyLimit: time.Nanosecond})
		if err != nil {
			t.Fatal(err)
		}
		sum := l.sum()
		if s.Skipped == 0 || s.Transactions+s.Skipped != clients*each || sum.Skipped != s.Skipped || s.Late != s.Transactions {
			t.Errorf("%+v, recorded %d skipped", s, sum.Skipped)
		}
	})
}

// TestDurationFinishesWhatItBegan: transactions in flight at the end count.
func TestDurationFinishesWhatItBegan(t *testing.T) {
	onBoth(t, func(t *testing.T, with connector) {
		const clients = 5
		conns := with.adopt(t, needServer(t).DSN(), clients, nil)
		given := make([]Client, clients)
		var asked atomic.Int64
		const end = 50 * time.Millisecond
		var lastAsked [clients]time.Duration
		for i := range given {
			task := endless("SELECT pg_sleep(0.3)")
			given[i] = Client{conns[i], taskFunc(func(at Moment, b []byte) ([]byte, Action) {
				b, act := task.Next(at, b)
				if act.kind == send {
					asked.Add(1)
					lastAsked[i] = at.Now
				}
				return b, act
			})}
		}
		var l tallies
		s, err := Run(t.Context(), Options{Clients: given, Threads: 1, Recorder: l.recorder, Duration: end})
		if err != nil || s.Transactions != asked.Load() || s.Transactions == 0 || slices.Max(lastAsked[:]) >= end || s.Elapsed < end || s.Cancelled {
			t.Errorf("%v %+v, asked %d times until %v", err, s, asked.Load(), lastAsked)
		}
		execOn(t, conns[0])
	})
}
