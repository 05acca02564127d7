package calibrate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

// withProbes runs with a watching session and without one in turn.
func (s *stand) withProbes(ctx context.Context) error {
	clients, mode := s.o.Clients[0], s.o.Modes[0]
	for round := range s.o.Rounds {
		pair := WatchPair{WatchedFirst: first(round)}
		before := observe(s.o.Roots, s.cluster.Pid())
		err := inTurn(round, func() error {
			w, err := s.watch(ctx)
			if err != nil {
				return err
			}
			from := w.samples()
			d, err := s.drive(ctx, round, clients, mode)
			pair.Watched = watchedRun(d)
			pair.Watched.Samples = w.samples() - from
			return errors.Join(err, w.stop())
		}, func() error {
			d, err := s.drive(ctx, round, clients, mode)
			pair.Unwatched = watchedRun(d)
			return err
		})
		if err != nil {
			return err
		}
		pair.Around = observe(s.o.Roots, s.cluster.Pid()).since(before, 0)
		if s.report.Probes == nil {
			s.report.Probes = &Watching{Setting: s.o.setting(clients, mode)}
		}
		s.report.Probes.Pairs = append(s.report.Probes.Pairs, pair)
		s.times.ran(2)
		s.say(Probes, round, fmt.Sprintf("%s TPS watched, %s not, cost %s %%",
			probes.Number(pair.Watched.TPS), probes.Number(pair.Unwatched.TPS), two(pair.costPct())))
	}
	return nil
}

func watchedRun(d driven) WatchedRun {
	r := WatchedRun{Measured: d.Measured}
	if d.threads > 0 && d.own > 0 && d.took > 0 {
		aside := 100 * float64(d.own-d.threads) / float64(d.took)
		r.Aside = &aside
	}
	return r
}

// watcher is a session over the lab's server, with all that stands behind the
// screen of pgtlb watch but the drawing.
type watcher struct {
	cancel context.CancelFunc
	ended  chan error // has room for what the session returned

	mu   sync.Mutex
	last trial.State
}

// watch starts a session and returns when it samples everything that it can.
func (s *stand) watch(ctx context.Context) (*watcher, error) {
	cfg, err := pgx.ParseConfig(s.cluster.DSN())
	if err != nil {
		return nil, fmt.Errorf("watching the lab: %w", err)
	}
	store, err := trial.OpenStore("") // only read, and nothing asks for it
	if err != nil {
		return nil, err
	}
	session := trial.NewSession(trial.Options{Mode: trial.Watching, Config: cfg, Store: store, Roots: s.o.Roots, Scope: s.o.Scope})
	work, cancel := context.WithCancel(ctx)
	w := &watcher{cancel: cancel, ended: make(chan error, 1)}
	ready := make(chan struct{})
	states := make(chan struct{})
	go func() {
		defer close(states)
		w.follow(context.WithoutCancel(ctx), session, ready)
	}()
	go func() {
		err := session.Run(work)
		<-states
		w.ended <- err
	}()
	select {
	case <-ready:
		return w, nil
	case <-work.Done():
	case <-time.After(watchPatience):
		return nil, errors.Join(errors.New("watching the lab: no sample came"), w.stop())
	}
	if err := w.stop(); err != nil {
		return nil, fmt.Errorf("watching the lab: %w", err)
	}
	return nil, context.Cause(ctx)
}

// follow takes the session's states until it is over, as a screen does. It
// closes ready after the first whole interval with all probes, and ends a
// session that has failed.
func (w *watcher) follow(ctx context.Context, session *trial.Session, ready chan<- struct{}) {
	var from uint64 // the first sample with all probes; 0 before it
	for told := false; ; {
		st, err := session.Next(ctx) // io.EOF when the session is over
		if err != nil {
			return
		}
		w.mu.Lock()
		w.last = st
		w.mu.Unlock()
		switch f := st.Last(); {
		case st.Phase == trial.Failed || st.Phase == trial.Lost:
			w.cancel()
		case told || st.Phase != trial.Ready || f == nil:
		case from == 0:
			from = f.Seq + 1
		case f.Seq > from:
			close(ready)
			told = true
		}
	}
}

// watchPatience is how long the first samples may take.
const watchPatience = 30 * time.Second

// samples is how many have been taken since the session began.
func (w *watcher) samples() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f := w.last.Last(); f != nil {
		return int(f.Seq)
	}
	return 0
}

// stop ends the session and waits for it.
func (w *watcher) stop() error {
	w.cancel()
	return <-w.ended
}
