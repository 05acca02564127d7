package trial

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"pgtlb/probes"
	"pgtlb/workload"
)

// load is a scenario of the session and what it does. It belongs to the loop;
// its current drive has its own goroutine.
type load struct {
	key      int
	scenario workload.Scenario
	values   workload.Values
	clients  int
	seed     int64
	duration time.Duration
	status   LoadStatus
	started  time.Time
	ended    time.Time
	detail   string
	drive    *drive // nil while stopped, and while it waits for the server
	resume   bool   // it was ended for a restart and goes on afterwards
}

// drive is one execution of a load.
type drive struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when every client has returned
	meta   LoadMeta
	meter  *workload.Meter
	result workload.Result // once done
	// once makes the end of the drive's run happen a single time, whoever comes
	// first: the key, the clock or the driver itself.
	once sync.Once
}

func newLoad(key int, sc workload.Scenario, o LabOptions) *load {
	l := &load{key: key, scenario: sc, clients: sc.Clients, seed: o.Seed, status: LoadStopped,
		duration: o.Duration, values: workload.Values{"rows": o.Rows, "data_seed": o.Seed}}
	if sc.Name == o.Scenario && o.Clients > 0 {
		l.clients = o.Clients
	}
	return l
}

// state is the load as a screen shows it.
func (l *load) state(now time.Time) LoadState {
	st := LoadState{Key: l.key, Name: l.scenario.Name, Summary: l.scenario.Summary, Shows: l.scenario.Shows,
		Script: l.scenario.Script, Clients: l.clients, Status: l.status, Started: l.started, Detail: l.detail}
	switch {
	case l.started.IsZero():
	case !l.ended.IsZero():
		st.Elapsed = l.ended.Sub(l.started)
	default:
		st.Elapsed = now.Sub(l.started)
	}
	return st
}

// toggle starts or stops the load of a key.
func (s *Session) toggle(ctx context.Context, key int) {
	if key < 1 || key > len(s.loads) {
		if s.o.Mode == Watching {
			s.notify(true, "watch never changes the server, so it starts no load; pgtlb lab does, on a private server")
		} else {
			s.notify(true, fmt.Sprintf("no scenario has key %d", key))
		}
		return
	}
	l := s.loads[key-1]
	switch l.status {
	case LoadRunning:
		s.stopLoad(ctx, l, "stopped by key")
	case LoadStarting:
		if l.drive == nil {
			l.status, l.detail = LoadStopped, ""
			return
		}
		l.status, l.detail = LoadStopping, "cancelling"
		l.drive.cancel()
	case LoadStopping:
	default:
		s.startOrWait(ctx, l)
	}
}

// startOrWait starts a load, or has it wait for the restart that is under way.
func (s *Session) startOrWait(ctx context.Context, l *load) {
	switch s.st.Phase {
	case Ready:
		s.startLoad(ctx, l)
	case Changing:
		l.status, l.detail = LoadStarting, "waits for the server"
	default:
		s.notify(true, "the server is not ready yet")
	}
}

// startWaiting starts the loads that wait for the server.
func (s *Session) startWaiting(ctx context.Context) {
	for _, l := range s.loads {
		if l.status == LoadStarting && l.drive == nil {
			s.startLoad(ctx, l)
		}
	}
}

// startLoad begins a drive of a load; its outcome is posted.
func (s *Session) startLoad(ctx context.Context, l *load) {
	ctx, cancel := context.WithCancel(ctx)
	values, err := l.scenario.Resolve(l.values)
	if err != nil {
		cancel()
		l.status, l.detail = LoadFailed, err.Error()
		s.notify(true, l.scenario.Name+": "+err.Error())
		return
	}
	d := &drive{cancel: cancel, done: make(chan struct{}), meter: workload.NewMeter(l.scenario.Name),
		meta: LoadMeta{Scenario: l.scenario.Name, Version: l.scenario.Version, Params: values, Clients: l.clients,
			Seed: l.seed, DurationS: l.duration.Seconds()}}
	l.drive, l.status, l.detail = d, LoadStarting, "prewarming"
	l.started, l.ended = time.Time{}, time.Time{}
	what := workload.Load{Scenario: l.scenario, Values: values, Clients: l.clients, Seed: l.seed, Connect: connectTo(s.cluster.DSN(), "pgtlb "+l.scenario.Name)}
	duration := l.duration
	s.job(func() {
		defer cancel()
		err := s.driveLoad(ctx, l, d, what, duration)
		s.post(func() { s.loadEnded(l, d, err) })
		close(d.done)
	})
}

// driveLoad prewarms, runs the clients and ends the run. It is a job.
func (s *Session) driveLoad(ctx context.Context, l *load, d *drive, what workload.Load, duration time.Duration) error {
	warm, err := workload.Prewarm(ctx, what.Connect, func(p workload.Progress) {
		s.post(func() { l.detail = fmt.Sprintf("prewarming %s, %d of %d %s", p.Detail, p.Done, p.Total, p.Unit) })
	})
	if err != nil {
		return err
	}
	if warm.Percent() < 99 {
		s.post(func() { s.notify(false, warm.String()+": the load will read from outside shared buffers too") })
	}
	s.post(func() { l.detail = fmt.Sprintf("connecting %d clients", what.Clients) })
	var clock *time.Timer
	what.Started = func() {
		s.beginRun(ctx, d)
		s.post(func() { l.status, l.started, l.detail = LoadRunning, time.Now(), "" })
		if duration > 0 {
			clock = time.AfterFunc(duration, func() { s.finish(ctx, d, "finished") })
		}
	}
	d.result, err = workload.NewRunner(d.meter).Run(ctx, what)
	if clock != nil {
		clock.Stop()
	}
	reason := "load ended"
	if err != nil && !errors.Is(err, context.Canceled) {
		reason = "load failed: " + err.Error()
	}
	s.finish(context.WithoutCancel(ctx), d, reason)
	if errors.Is(err, context.Canceled) {
		return nil // asked for while it was starting
	}
	return err
}

// stopLoad ends the load's part of the run first, while it is still under way,
// so that the end of the window is not bent by clients leaving one by one.
func (s *Session) stopLoad(ctx context.Context, l *load, reason string) {
	l.status, l.detail = LoadStopping, ""
	d := l.drive
	s.job(func() { s.finish(ctx, d, reason) })
}

// finish closes the run that a drive is part of and cancels its clients.
func (s *Session) finish(ctx context.Context, d *drive, reason string) {
	d.once.Do(func() {
		s.runs.leave(ctx, s, d, reason)
		d.cancel()
	})
}

// loadEnded notes the end of a drive.
func (s *Session) loadEnded(l *load, d *drive, err error) {
	l.drive, l.ended = nil, time.Now()
	if l.started.IsZero() {
		l.ended = time.Time{}
	}
	l.status, l.detail = LoadStopped, ""
	if err != nil {
		l.status, l.detail = LoadFailed, err.Error()
		s.notify(true, l.scenario.Name+": "+err.Error())
	}
	if l.resume && err == nil {
		l.status, l.detail = LoadStarting, "waits for the server"
	}
	l.resume = false
	s.last = &d.result
}

// pauseLoads ends every load; those that ran start again once the server is
// back. wait must be called outside the loop.
func (s *Session) pauseLoads(ctx context.Context, reason string) (wait func()) {
	var drives []*drive
	for _, l := range s.loads {
		if l.drive == nil {
			continue
		}
		l.resume = l.status == LoadRunning || l.status == LoadStarting
		l.status = LoadStopping
		drives = append(drives, l.drive)
	}
	return func() {
		for _, d := range drives {
			s.finish(ctx, d, reason)
			<-d.done
		}
	}
}

// runSet is the run being recorded and the loads in it. A run has the same
// loads from its start to its end: when one joins or leaves, the run is closed
// and another begun, so that every run can be compared.
type runSet struct {
	mu     sync.Mutex
	active []*drive
}

// beginRun adds a drive whose clients are ready to the loads under way.
func (s *Session) beginRun(ctx context.Context, d *drive) {
	r := &s.runs
	r.mu.Lock()
	defer r.mu.Unlock()
	s.closeRun(ctx, r.active, d.meta.Scenario+" was started")
	if err := s.sampler.Add(ctx, d.meter); err != nil {
		s.post(func() { s.notify(true, err.Error()) })
	}
	r.active = append(r.active, d)
	s.openRun(ctx, r.active)
}

// leave takes a drive out; the others go on in a run of their own.
func (r *runSet) leave(ctx context.Context, s *Session, d *drive, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var rest []*drive
	for _, a := range r.active {
		if a != d {
			rest = append(rest, a)
		}
	}
	if len(rest) == len(r.active) {
		return // it never began
	}
	s.closeRun(ctx, r.active, reason)
	r.active = rest
	if err := s.sampler.Remove(ctx, d.meter.Name()); err != nil && !errors.Is(err, probes.ErrSamplerStopped) {
		s.post(func() { s.notify(true, err.Error()) })
	}
	if len(rest) > 0 {
		s.openRun(ctx, rest)
	}
}

// endRun closes the run under way when the session ends.
func (s *Session) endRun(ctx context.Context, reason string) {
	s.runs.mu.Lock()
	active := s.runs.active
	s.runs.mu.Unlock()
	for _, d := range active {
		s.finish(ctx, d, reason)
	}
}

// closeRun takes the last sample of the loads and writes the footer.
func (s *Session) closeRun(ctx context.Context, active []*drive, reason string) {
	if len(active) == 0 {
		return
	}
	err := s.sampler.Mark(ctx, marks(probes.LoadStopped, active)...)
	err = errors.Join(err, s.rec.close(End{At: time.Now(), Reason: reason}))
	s.post(func() {
		if err != nil {
			s.notify(true, "ending the run: "+err.Error())
		}
		s.runClosed()
	})
}

// openRun begins a run file and takes its first sample.
func (s *Session) openRun(ctx context.Context, active []*drive) {
	var meta Meta
	if !s.query(func() { meta = s.meta(active) }) {
		return
	}
	rec, err := s.rec.open(s.o.Store.Dir(), meta)
	next := RunState{Label: RunLabel(meta)}
	if err == nil {
		next.Name, next.Path = rec.Name(), rec.Path()
	}
	s.post(func() {
		if err != nil {
			s.notify(true, "this run is not recorded: "+err.Error())
		} else {
			s.recorded = append(s.recorded, next.Name)
		}
		s.tl.next, s.runMeta = &next, meta
		s.compareMeta()
	})
	if err := s.sampler.Mark(ctx, marks(probes.LoadStarted, active)...); err != nil && ctx.Err() == nil {
		s.post(func() { s.notify(true, "starting the run: "+err.Error()) })
	}
}

func marks(kind probes.MarkKind, active []*drive) []probes.Mark {
	var m []probes.Mark
	for _, d := range active {
		m = append(m, probes.Mark{Kind: kind, Label: d.meta.Scenario})
	}
	return m
}

// meta describes a run that begins now.
func (s *Session) meta(active []*drive) Meta {
	m := Meta{Schema: Schema, Created: time.Now(), Program: s.o.Program, Kind: "load", Host: s.st.Host,
		Server: s.st.Server, Lab: s.o.Mode == InLab, Dataset: s.st.Dataset, Pages: s.st.Pages, Interval: s.st.Interval,
		Metrics: s.st.Metrics, Unavailable: s.st.Unavailable, Command: s.o.Command}
	for _, d := range active {
		m.Loads = append(m.Loads, d.meta)
		m.Metrics = append(append([]probes.Metric(nil), m.Metrics...), d.meter.Metrics()...)
	}
	return m
}

// RunLabel names a run for people: "point-select, 8 clients, 4kB".
func RunLabel(m Meta) string {
	var parts []string
	for _, l := range m.Loads {
		parts = append(parts, fmt.Sprintf("%s, %d clients", l.Scenario, l.Clients))
	}
	label := strings.Join(parts, " + ")
	if label == "" {
		label = "no load"
	}
	if m.Pages != "" {
		label += ", " + m.Pages
	}
	return label
}
