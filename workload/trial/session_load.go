package trial

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"time"

	"pgtlb/probes"
	"pgtlb/workload"
)

// load is a scenario of the session and what it does. It belongs to the loop;
// its current drive has its own goroutine.
type load struct {
	key     int
	what    workload.Load // as it is to be driven next
	status  LoadStatus
	started time.Time
	ended   time.Time
	detail  string
	drive   *drive // nil while stopped, and while it waits for the server or an answer
	resume  bool   // it was ended for a restart and goes on afterwards
	tries   int    // starts that a person was asked about; only the last counts

	first  workload.Load // as the session began with it
	apdexT time.Duration
	apdex  *Apdex // of the run up to now, or the last
	files  string // the script files of a custom load, as typed
	fault  []string
	card   card

	answered ParamAnswer // of the last SetParam
}

// drive is one execution of a load.
type drive struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when every client has returned
	meta   LoadMeta
	meter  *workload.Meter
	settle time.Duration   // pause between reading the data in and connecting
	result workload.Result // once done
	left   bool            // it must not join a run any more; guarded by runSet
	run    string          // the last run that was recorded of it; once done
	err    error           // what made it fail; once done
}

// newLoads makes the loads that a session can drive: one for each scenario, one
// for the first load where that is none of them, and last the one whose scripts
// are files.
func newLoads(o *Options) []*load {
	if o.Mode != InLab && !o.AllowLoad {
		return nil
	}
	var loads []*load
	add := func(what workload.Load) {
		loads = append(loads, &load{key: len(loads) + 1, what: what, first: what, apdexT: DefaultApdexT, status: LoadStopped})
	}
	first := o.First
	for _, sc := range workload.List() {
		if sc.Name == first.Scenario.Name {
			add(first)
			first.Scenario.Name = ""
			continue
		}
		what := workload.Load{Scenario: sc, Clients: sc.Clients, Seed: 1}
		if o.Mode == InLab {
			what.Seed = o.Lab.Seed
			what.Values = sc.Own(workload.Values{"rows": o.Lab.Rows, "data_seed": o.Lab.Seed})
		}
		add(what)
	}
	if first.Scenario.Name != "" {
		add(first)
	}
	if first.Scenario.Name != customName {
		add(workload.Load{Scenario: noScript(), Clients: customClients, Seed: 1})
	}
	return loads
}

// begin starts what the session is to start by itself.
func (s *Session) begin(ctx context.Context) {
	if o := s.o.Experiment; o != nil {
		s.startExperiment(ctx, s.firstLoad(), *o)
		return
	}
	s.startFirst(ctx)
}

// startFirst starts the load that the session begins with.
func (s *Session) startFirst(ctx context.Context) {
	if l := s.firstLoad(); l != nil {
		s.startLoad(ctx, l)
	}
}

// firstLoad is the load that the session begins with, nil for none.
func (s *Session) firstLoad() *load {
	for _, l := range s.loads {
		if l.what.Scenario.Name == s.o.First.Scenario.Name {
			return l
		}
	}
	return nil
}

// state is the load as a screen shows it.
func (l *load) state(now time.Time, maxConnections int) LoadState {
	sc := &l.what.Scenario
	card := l.describe(maxConnections)
	st := LoadState{Key: l.key, Name: sc.Name, Summary: sc.Summary, Shows: sc.Shows, Script: card.script, Params: card.params,
		Clients: l.what.Clients, Status: l.status, Started: l.started, Detail: l.detail, Fault: l.fault, Apdex: l.apdex, Answered: l.answered}
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
		if s.o.Mode == Watching && len(s.loads) == 0 {
			s.notify(true, "watch never changes the server, so it starts no load; with --allow-load it does, and pgtlb lab does on a private server")
		} else {
			s.notify(true, fmt.Sprintf("no scenario has key %d", key))
		}
		return
	}
	l := s.loads[key-1]
	switch l.status {
	case LoadRunning, LoadStarting:
		if l.drive == nil { // it waits for the server or an answer
			if s.ask != nil && s.ask.load == l {
				s.dropQuestion()
			}
			l.status, l.detail = LoadStopped, ""
			return
		}
		s.stopLoad(ctx, l, "stopped by key")
	case LoadStopping:
	default:
		s.startOrWait(ctx, l)
	}
}

// startOrWait starts a load, or has it wait for the restart that is under way.
func (s *Session) startOrWait(ctx context.Context, l *load) {
	if err := s.startable(l); err != nil {
		s.notify(true, l.what.Scenario.Name+": "+err.Error())
		return
	}
	switch s.st.Phase {
	case Ready:
		if s.o.Mode == Watching {
			s.startAllowed(ctx, l)
			return
		}
		s.startLoad(ctx, l)
	case Changing:
		l.status, l.detail = LoadStarting, "waits for the server"
	default:
		s.notify(true, s.notReady())
	}
}

// startable says why a load cannot be started as it is: it has no script yet, or
// it needs other data than a load at work, under whose feet the tables would be
// replaced.
func (s *Session) startable(l *load) error {
	what := l.what
	if _, err := loadMeta(&what); err != nil {
		return err
	}
	for _, other := range s.loads {
		at := other.what
		if other == l || other.status == LoadStopped || other.status == LoadFailed {
			continue
		}
		if _, err := loadMeta(&at); err != nil {
			continue
		}
		for _, d := range what.Scenario.Needs(what.Values) {
			for _, e := range at.Scenario.Needs(at.Values) {
				if replaces(d, e) {
					return fmt.Errorf("its tables would take the place of those that %s works on, which have other parameters (such as rows or a seed): "+
						"stop that first, or set them alike", at.Scenario.Name)
				}
			}
		}
	}
	return nil
}

// replaces tells whether making d would replace e: data of one comparable type
// are the same tables, which several scenarios share, by their parameters. Tables
// that are one scenario's own are of a type that holds more than parameters.
func replaces(d, e workload.Data) bool {
	t := reflect.TypeOf(d)
	return t == reflect.TypeOf(e) && t.Comparable() && d != e
}

// datasetOf is the dataset that a load works on, nil for a load without.
func datasetOf(w *workload.Load) *workload.Dataset {
	for _, d := range w.Scenario.Needs(w.Values) {
		if set, ok := d.(workload.Dataset); ok {
			return &set
		}
	}
	return nil
}

// notReady says why nothing can be started now.
func (s *Session) notReady() string {
	if s.st.Phase == Lost {
		return "the server has ended; what was measured can be looked at and exported, q ends"
	}
	return "the server is not ready yet"
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
	what := l.what
	meta, err := loadMeta(&what)
	if err != nil {
		l.status, l.detail = LoadFailed, err.Error()
		s.notify(true, what.Scenario.Name+": "+err.Error())
		return
	}
	driving, cancel := context.WithCancel(ctx)
	d := &drive{cancel: cancel, done: make(chan struct{}), meter: workload.NewMeter(what.Scenario.Name), meta: meta}
	l.drive, l.status, l.detail = d, LoadStarting, "setting up"
	l.started, l.ended, l.apdex, l.fault = time.Time{}, time.Time{}, nil, nil
	what.Connect = s.connectAs("pgtlb " + what.Scenario.Name)
	// The session's context: a run is begun and closed as a whole even if the
	// drive is cancelled meanwhile.
	what.Started = func() { s.begun(ctx, driving, l, d) }
	what.Stopped = func(err error) { s.finish(ctx, endReason(err), d) }
	warm := WarmUp{}
	if what.Scenario.Name == s.o.First.Scenario.Name {
		warm = s.o.WarmUp
	}
	if s.exp != nil {
		warm = s.exp.stand.attach(driving, d, &what)
	}
	if warm.Most > 0 {
		s.warm(ctx, l, d, &what, warm)
	}
	ok := s.job(func() {
		defer cancel()
		err := s.driveLoad(ctx, driving, l, d, what)
		d.err = err
		s.post(func() { s.loadEnded(l, d, err) })
		close(d.done)
	})
	if !ok {
		cancel()
	}
}

// loadMeta describes a load in the run file; it fills in the load's parameters.
func loadMeta(w *workload.Load) (LoadMeta, error) {
	var err error
	if w.Values, err = w.Scenario.Resolve(w.Values); err != nil {
		return LoadMeta{}, err
	}
	work, err := w.Scenario.Work(w.Values)
	if err != nil {
		return LoadMeta{}, err
	}
	m := LoadMeta{Scenario: w.Scenario.Name, Version: w.Scenario.Version, Params: w.Values, Clients: w.Clients,
		Seed: w.Seed, DurationS: w.Duration.Seconds(), Transactions: w.Transactions, Rate: w.Rate,
		LatencyLimitS: w.LatencyLimit.Seconds(), Threads: w.Threads, Mode: w.ProtocolMode(work).String()}
	for _, sc := range work.Scripts {
		digest := sha256.Sum256([]byte(sc.Text))
		m.Scripts = append(m.Scripts, ScriptMeta{Name: sc.Name, Weight: sc.Weight, Digest: hex.EncodeToString(digest[:8])})
	}
	return m, nil
}

// driveLoad makes the data, prewarms it, runs the clients and ends the run. It is
// a job; driving ends when the load is stopped, ctx with the session.
func (s *Session) driveLoad(ctx, driving context.Context, l *load, d *drive, what workload.Load) error {
	s.runs.expect(ctx, s, d)
	err := s.setUp(driving, l, d, &what)
	if err == nil && d.settle > 0 {
		s.post(func() { l.detail = fmt.Sprintf("settling for %v", d.settle) })
		err = sleep(driving, d.settle)
	}
	if err == nil {
		s.post(func() { l.detail = fmt.Sprintf("connecting %d clients", what.Clients) })
		d.result, err = workload.NewRunner(d.meter).Run(driving, what)
		if text := indirectText(&d.result); text != "" {
			s.post(func() { s.notify(false, what.Scenario.Name+": "+text) })
		}
	}
	if driving.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil // asked for while it was starting
	}
	s.finish(ctx, endReason(err), d) // it may not even have begun
	return err
}

// sleep waits, or returns ctx's error when that ends before.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// indirectText says that the clients cost more CPU time than need be, and why;
// empty where they did not, and where a connection for each transaction was asked for.
func indirectText(r *workload.Result) string {
	if r.Indirect == "" || r.Connections > 0 {
		return ""
	}
	return "each connection was driven by itself, not by shared threads; the client used more CPU time for it: " + r.Indirect
}

// setUp makes the load's data, or finds it, and puts it into shared buffers
// before a measured run.
func (s *Session) setUp(ctx context.Context, l *load, d *drive, what *workload.Load) error {
	data := what.Scenario.Needs(what.Values)
	if len(data) == 0 {
		return nil
	}
	connect := s.connectAs(probes.SetupName)
	progress := func(p workload.Progress) {
		s.post(func() {
			if l.status == LoadStarting {
				l.detail = stepText(p)
			}
		})
	}
	if err := what.Scenario.Setup(ctx, connect, what.Values, progress); err != nil {
		return err
	}
	if datasetOf(what) != nil {
		// Its parameters may be others than the time before.
		if err := s.measureData(ctx, connect); err != nil {
			return err
		}
	}
	warm, err := workload.Prewarm(ctx, connect, data, progress)
	switch {
	case errors.Is(err, probes.ErrUnavailable):
		s.post(func() { s.notify(false, "the data is not prewarmed: "+err.Error()) })
	case err != nil:
		return err
	case warm.Percent() < 99:
		s.post(func() { s.notify(false, warm.String()+": the load will read from outside shared buffers too") })
	}
	d.meta.Data, err = what.Scenario.Fingerprint(ctx, connect, what.Values)
	return err
}

// stepText says how far a step is.
func stepText(p workload.Progress) string {
	text := p.Phase
	if p.Detail != "" {
		text += " " + p.Detail
	}
	if p.Total > 0 {
		text += fmt.Sprintf(", %d of %d %s", p.Done, p.Total, p.Unit)
	}
	return text
}

func endReason(err error) string {
	if err != nil {
		return "load failed: " + err.Error()
	}
	return "finished"
}

// begun is called when all clients of a drive are ready; they wait until it
// returns.
func (s *Session) begun(ctx, driving context.Context, l *load, d *drive) {
	if driving.Err() != nil || !s.runs.join(ctx, s, d) {
		return
	}
	s.post(func() {
		if l.drive == d && l.status == LoadStarting {
			l.status, l.started, l.detail = LoadRunning, time.Now(), ""
		}
	})
}

// stopLoad ends the load's part of the run first, while it is still under way,
// so that the end of the window is not bent by clients leaving one by one.
func (s *Session) stopLoad(ctx context.Context, l *load, reason string) {
	l.status, l.detail = LoadStopping, ""
	d := l.drive
	s.job(func() { s.finish(ctx, reason, d) })
}

// finish closes the run that drives are part of and cancels their clients. It
// may be called more than once; the first call gives the reason.
func (s *Session) finish(ctx context.Context, reason string, drives ...*drive) {
	s.runs.leave(ctx, s, reason, drives...)
	for _, d := range drives {
		d.cancel()
	}
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
		s.notify(true, l.what.Scenario.Name+": "+err.Error())
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
		s.finish(ctx, reason, drives...)
		for _, d := range drives {
			<-d.done
		}
	}
}
