package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"pgtlb/probes"
	"pgtlb/workload"
	"pgtlb/workload/lab"
)

// Options say what a session works on.
type Options struct {
	Mode     Mode   // Watching or InLab
	Program  string // pgtlb's version, for run files
	Command  string // the command line that began this, for reports
	Store    *Store // where runs are kept
	Reports  string // directory that Export writes to
	Interval time.Duration
	Roots    probes.Roots
	Scope    probes.PerfScope // whose events are counted
	// Config is the server to watch; unused in a lab.
	Config *pgx.ConnConfig
	// Record keeps a run of what is watched, for that long; 0 keeps none. The
	// screen's loads are recorded without it.
	Record time.Duration
	Lab    LabOptions
	// AllowLoad lets loads run on a server that is watched.
	AllowLoad bool
	// First is the load that is started as soon as the server is ready; one
	// without a scenario starts none. Its Connect, Started and Stopped are the
	// session's own.
	First workload.Load
	// WarmUp has the first load warm up before it is measured.
	WarmUp WarmUp
	// Experiment is made with First as soon as the server is ready; nil makes none.
	Experiment *ExperimentOptions
}

// LabOptions describe the lab to be made.
type LabOptions struct {
	Cluster lab.Options
	Rows    int64
	Seed    int64
}

// Session is what stands behind a screen or a headless verb: it makes or finds
// the server, samples, drives loads, records runs and publishes States. Its
// state belongs to the goroutine of Run; everything that takes time runs beside
// it and posts its outcome.
type Session struct {
	o       Options
	mail    *mailbox
	cmds    chan Command
	events  chan func()
	over    chan struct{} // closed when Run no longer takes events
	sampler *probes.Sampler
	rec     recording
	jobs    sync.WaitGroup
	runs    runSet
	queue   chan func() // jobs that keep their order; see inOrder

	// The rest belongs to the goroutine of Run.
	st       State
	tl       timeline
	loads    []*load
	ending   bool             // no job may be started any more
	runMeta  Meta             // of the run under way or the last one
	last     *workload.Result // of the load that ended last
	link     *link            // to the server; nil while there is none
	cluster  *lab.Cluster
	steps    steps
	ask      *pending
	exp      *experimenting // nil while none is under way
	asked    int
	recorded []string           // names of the runs of this session
	stopPass context.CancelFunc // of the pass that is under way; nil without one
	failure  error              // what made the session fail
	ended    error              // what could not be put back at the end
}

// pending is a question that waits for its answer.
type pending struct {
	id     int
	load   *load // that waits for it; nil for none
	answer chan bool
}

// NewSession prepares a session; Run does everything.
func NewSession(o Options) *Session {
	if o.Interval == 0 {
		o.Interval = time.Second
	}
	s := &Session{
		o: o, mail: newMailbox(), cmds: make(chan Command, 64), events: make(chan func()),
		over: make(chan struct{}), sampler: probes.NewSampler(o.Interval),
	}
	s.st = State{Mode: o.Mode, Phase: Preparing, Interval: o.Interval}
	s.loads = newLoads(&o)
	return s
}

// Next implements the screen's engine.
func (s *Session) Next(ctx context.Context) (State, error) { return s.mail.next(ctx) }

// Do implements the screen's engine. A command that comes while 64 others wait
// is dropped: no person types that fast.
func (s *Session) Do(c Command) {
	select {
	case s.cmds <- c:
	default:
	}
}

// Runs implements the screen's engine.
func (s *Session) Runs(context.Context) ([]RunInfo, error) { return s.o.Store.List() }

// Result is what the driver of the load that ended last counted. It may be
// called once Run has returned.
func (s *Session) Result() workload.Result {
	if s.last == nil {
		return workload.Result{}
	}
	return *s.last
}

// Farewell says in a few lines what the session leaves: the runs it recorded,
// and the lab's directory where it was kept. It may be called once Run has
// returned.
func (s *Session) Farewell() []string {
	var lines []string
	if n := len(s.recorded); n > 0 {
		lines = append(lines, fmt.Sprintf("%s recorded, the last is %s; pgtlb report %s writes its report",
			probes.Plural(n, "run"), s.recorded[n-1], s.recorded[n-1]))
	}
	switch {
	case s.cluster == nil:
	case s.o.Lab.Cluster.Keep:
		lines = append(lines, "the lab is "+s.cluster.KeptHint())
	case s.ended == nil:
		lines = append(lines, "the lab is removed: no process, directory or huge page of it is left")
	}
	return lines
}

// stopPatience bounds closing the run, and then stopping the server.
const stopPatience = 30 * time.Second

// Run is the session. It returns when ctx has ended and everything is put back:
// loads stopped, the recording closed, probes closed, the lab removed, pools
// given back. The error is what made the session fail, or what could not be put
// back.
func (s *Session) Run(ctx context.Context) error {
	// Loads and jobs outlive ctx until their run has had its last sample.
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	sampling, stopSampling := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSampling()
	sampled := make(chan struct{})
	go func() {
		defer close(sampled)
		_ = s.sampler.Run(sampling, s.take(work)) // it has no error but its context's
	}()
	s.publish()
	s.queue = make(chan func(), cap(s.cmds))
	s.jobs.Go(func() {
		for f := range s.queue {
			f()
		}
	})
	s.job(func() { s.prepare(work) })
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case c := <-s.cmds:
			s.command(work, c)
			s.publish()
		case f := <-s.events:
			f()
			s.publish()
		}
	}
	s.ending, s.st.Phase = true, Stopping
	close(s.queue)
	s.dropQuestion()
	s.publish()
	s.ended = s.end(context.WithoutCancel(ctx), stopWork, stopSampling, sampled)
	s.mail.close()
	return errors.Join(s.failure, s.ended)
}

// end stops everything in order: an experiment, loads (their last sample and footer), jobs,
// the sampler, the link to the server, the lab with its pools.
func (s *Session) end(ctx context.Context, stopWork, stopSampling context.CancelFunc, sampled chan struct{}) error {
	stopped, exp := make(chan struct{}), s.exp
	go func() {
		defer close(stopped)
		if exp != nil { // it puts back what it changed
			exp.cancel()
			<-exp.done
		}
		bounded, cancel := context.WithTimeout(ctx, stopPatience)
		defer cancel()
		s.finish(bounded, "interrupted", s.runs.all()...)
		stopWork()
		s.jobs.Wait()
		stopSampling()
		<-sampled
	}()
	for done := false; !done; {
		select {
		case f := <-s.events:
			f()
			if exp != nil { // what it waits for, and what it could not put back
				s.publish()
			}
		case <-stopped:
			done = true
		}
	}
	close(s.over)
	bounded, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	var errs []error
	if s.link != nil {
		errs = append(errs, s.link.close(bounded))
	}
	errs = append(errs, s.rec.close(End{At: time.Now(), Reason: "interrupted"}))
	if s.cluster != nil {
		errs = append(errs, s.cluster.Stop(bounded))
	}
	return errors.Join(errs...)
}

// take returns what the sampler calls for each sample: record it, derive the
// frame and post it. It runs in the sampler's goroutine.
func (s *Session) take(ctx context.Context) func(probes.Sample) {
	var d probes.Deriver
	return func(sample probes.Sample) {
		recErr := s.rec.append(&sample)
		f := d.Next(&sample)
		s.post(func() {
			s.tl.add(f)
			s.score()
			s.checkLink(ctx)
			if recErr != nil {
				s.notify(true, recErr.Error())
			}
		})
	}
}

// job runs f beside the loop; the session waits for it at the end. It is called
// by the loop, and refuses once the session is ending.
func (s *Session) job(f func()) bool {
	if s.ending {
		return false
	}
	s.jobs.Go(f)
	return true
}

// inOrder runs f beside the loop after all that was given to inOrder before,
// for what a person asks for twice in quick succession. It is called by the loop.
func (s *Session) inOrder(f func()) {
	if s.ending {
		return
	}
	select {
	case s.queue <- f:
	default:
		s.notify(true, "too many commands at once")
	}
}

// post has the loop run f. After the end nothing is run.
func (s *Session) post(f func()) {
	select {
	case s.events <- f:
	case <-s.over:
	}
}

// query has the loop run f and waits for it; it tells whether it was run.
func (s *Session) query(f func()) bool {
	done := make(chan struct{})
	s.post(func() { f(); close(done) })
	select {
	case <-done:
		return true
	case <-s.over:
		return false
	}
}

// publish makes the present state visible.
func (s *Session) publish() {
	s.st.Seq++
	s.st.At = time.Now()
	s.tl.fill(&s.st)
	s.st.Loads = nil
	for _, l := range s.loads {
		s.st.Loads = append(s.st.Loads, l.state(s.st.At, s.st.Server.MaxConnections))
	}
	s.st.Steps = slices.Clone(s.steps.list)
	s.detailExperiment()
	s.mail.put(s.st)
}

// notify adds a message.
func (s *Session) notify(isError bool, text string) {
	s.st.Notices = withNotice(s.st.Notices, Notice{At: time.Now(), Text: text, Error: isError})
}

// maxNotices is how many messages a state carries.
const maxNotices = 8

// withNotice returns the list with one more at its end.
func withNotice(list []Notice, n Notice) []Notice {
	list = append(slices.Clone(list), n)
	return list[max(0, len(list)-maxNotices):]
}

// fail ends the session's work; the screen shows why and can only be left.
func (s *Session) fail(err error, log []string) {
	s.failure = err
	s.st.Phase, s.st.Err, s.st.Log = Failed, err.Error(), log
	s.steps.fail()
}

// lost takes note that the server ended by itself. What was measured can still
// be looked at, compared and exported.
func (s *Session) lost(err error, log []string) {
	if s.st.Phase == Preparing || s.st.Phase == Failed {
		s.fail(err, log)
		return
	}
	s.failure = err
	s.st.Phase, s.st.Err, s.st.Log, s.st.Pages = Lost, err.Error(), log, ""
}

// prepare opens the host's probes, then the server. It is a job.
func (s *Session) prepare(ctx context.Context) {
	host, err := probes.ReadHost(s.o.Roots)
	if err != nil {
		s.post(func() { s.notify(true, err.Error()) })
	}
	s.post(func() { s.st.Host = host })
	switch s.o.Mode {
	case InLab:
		err = s.prepareLab(ctx)
	default:
		err = s.prepareWatch(ctx)
	}
	if err != nil && ctx.Err() == nil {
		s.post(func() { s.fail(err, s.serverLog(err)) })
	}
}

// question asks the person and waits for the answer; false when the session
// ends, another question takes its place, or the load that waits for it is stopped.
// about, called in the loop, makes the question, or returns false if it is not to
// be asked any more.
func (s *Session) question(ctx context.Context, l *load, about func() (Question, bool)) bool {
	p := &pending{load: l, answer: make(chan bool, 1)}
	s.post(func() {
		q, ask := about()
		if !ask {
			p.answer <- false
			return
		}
		s.dropQuestion()
		s.asked++
		q.ID, p.id = s.asked, s.asked
		s.ask, s.st.Question = p, &q
	})
	select {
	case yes := <-p.answer:
		return yes
	case <-ctx.Done():
		return false
	}
}

func (s *Session) dropQuestion() {
	if s.ask != nil {
		s.ask.answer <- false
	}
	s.ask, s.st.Question = nil, nil
}

// command does what a key asked for.
func (s *Session) command(ctx context.Context, c Command) {
	if s.exp != nil && disturbs(c) {
		s.notify(true, "an experiment is under way, and anything else would bend what it measures: it must be over or stopped first")
		return
	}
	switch c := c.(type) {
	case StartExperiment:
		s.startExperimentOf(ctx, c)
	case AnswerGate:
		s.answerGate(c.Pairs)
	case StopExperiment:
		if s.exp != nil {
			s.exp.cancel()
		}
	case ToggleLoad:
		s.toggle(ctx, c.Key)
	case SetParam:
		s.setParam(c)
	case SetPages:
		s.setPages(ctx, c.Pages)
	case Answer:
		if s.ask != nil && s.ask.id == c.ID {
			s.ask.answer <- c.Yes
			s.ask, s.st.Question = nil, nil
		}
	case SaveBaseline:
		s.saveBaseline()
	case ChooseBaseline:
		s.chooseBaseline(c.Name)
	case ToggleCompare:
		s.toggleCompare()
	case Export:
		s.export()
	case SetInterval:
		s.setInterval(ctx, c.Every)
	case Inspect:
		s.inspect(c.Pid)
	case InspectAll:
		s.inspectAll(ctx)
	case StopInspecting:
		if s.stopPass != nil {
			s.stopPass()
		}
	case FindHolders:
		s.findHolders()
	case Examine:
		s.examine(ctx)
	case Seek:
		s.notify(true, "only a replay can be moved")
	}
}

func (s *Session) setInterval(ctx context.Context, d time.Duration) {
	d = max(probes.MinInterval, min(d, probes.MaxInterval))
	s.st.Interval = d
	s.notify(false, fmt.Sprintf("one sample every %v", d))
	s.inOrder(func() { _ = s.sampler.SetInterval(ctx, d) }) // fails only at the end
}
