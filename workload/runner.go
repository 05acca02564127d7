package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"pgtlb/workload/script"
	"pgtlb/workload/wire"
)

// Runner drives one load: a connection for each client, a few threads for all.
type Runner struct{ meter *Meter }

// NewRunner returns a runner that records to meter, which serves one load only.
func NewRunner(meter *Meter) *Runner { return &Runner{meter: meter} }

// loading is a load under way.
type loading struct {
	o       Load
	meter   *Meter
	work    Work
	mode    script.Mode
	program *script.Program
	chooser *script.Chooser
	names   [][]string // of prepared statements, by script and command
	tasks   []*task
	log     *txnLog // nil without one
	shell   func(command string) (string, error)

	// retried and retries are for the reports of a load under way.
	retried, retries atomic.Int64
	// lost counts the clients that could not go on.
	lost atomic.Int64

	mu      sync.Mutex
	aborted []Aborted
}

// Run connects all clients, calls load.Started and keeps them busy until the
// duration is over, all transactions are done or ctx ends. It returns when every
// client is through.
//
// At the end of the duration, transactions in flight are finished and counted.
// When ctx ends they are cancelled on the server and not counted; Run then
// returns within about a second, without an error if the load had started. A
// client that loses its connection, or whose every transaction fails alike, ends
// the load with an error; one of a Strict load is in Result.Aborted, unless all lose theirs. The result holds what was measured in every case.
func (r *Runner) Run(ctx context.Context, load Load) (Result, error) {
	l, err := newLoading(ctx, load, r.meter)
	if err != nil {
		return Result{}, fmt.Errorf("running %s: %w", load.Scenario.Name, err)
	}
	var res Result
	err = l.drive(ctx, &res)
	r.meter.tally(&res)
	l.sum(&res)
	if err != nil {
		return res, fmt.Errorf("running %s: %w", load.Scenario.Name, err)
	}
	return res, nil
}

// newLoading checks a load and parses its scripts. Nothing is connected yet.
func newLoading(ctx context.Context, load Load, meter *Meter) (*loading, error) {
	values, err := load.Scenario.Resolve(load.Values)
	if err != nil {
		return nil, err
	}
	load.Values = values
	if load.Clients < 1 {
		return nil, errors.New("clients must be at least 1")
	}
	if load.Report != nil && load.Every <= 0 {
		return nil, errors.New("reports need a time between them")
	}
	if load.MaxTries < 0 && load.Duration == 0 && load.LatencyLimit == 0 {
		return nil, errors.New("an unlimited number of tries needs a duration or a latency limit")
	}
	l := &loading{o: load, meter: meter, shell: func(command string) (string, error) { return load.Shell(ctx, command) }}
	if l.work, err = load.Scenario.Work(values); err != nil {
		return nil, err
	}
	l.mode = load.ProtocolMode(l.work)
	if err := l.link(); err != nil {
		return nil, err
	}
	return l, l.makeTasks()
}

// link parses the scripts.
func (l *loading) link() error {
	var scripts []*script.Script
	var weights []int
	for i, given := range l.work.Scripts {
		s, err := script.Parse(given.Name, given.Text)
		if err != nil {
			return err
		}
		scripts = append(scripts, s)
		weights = append(weights, given.Weight)
		names := make([]string, len(s.Commands))
		for c := range names {
			names[c] = fmt.Sprintf("P%d_%d", i, c)
		}
		l.names = append(l.names, names)
	}
	var err error
	if l.program, err = script.Link(l.mode, scripts...); err != nil {
		return err
	}
	l.chooser, err = script.NewChooser(weights...)
	return err
}

// makeTasks makes the clients with their variables and random sequences: with
// the same seed each client draws its own numbers of pgbench.
func (l *loading) makeTasks() error {
	vars := l.program.NewVars()
	for _, d := range l.o.Defines {
		if err := vars.SetText(d.Name, d.Value); err != nil {
			return err
		}
	}
	for name, value := range l.o.Values {
		if err := vars.Default(name, script.IntValue(value)); err != nil {
			return err
		}
	}
	seeds := script.NewSeeds(uint64(l.o.Seed))
	for i := range l.o.Clients {
		t := &task{load: l, client: i, status: 'I', command: -1}
		for _, parsed := range l.program.Scripts {
			t.prepared = append(t.prepared, make([]bool, len(parsed.Commands)))
		}
		t.forget()
		t.choose = seeds.Rand() // for now: the sequence of its functions
		l.tasks = append(l.tasks, t)
	}
	for name, value := range map[string]int64{"scale": 1, "default_seed": int64(seeds.Uint64()), "random_seed": l.o.Seed} {
		if err := vars.Default(name, script.IntValue(value)); err != nil {
			return err
		}
	}
	for i, t := range l.tasks {
		own := vars.Clone()
		if err := own.Default("client_id", script.IntValue(int64(i))); err != nil {
			return err
		}
		c := script.Client{Mode: l.mode, Vars: own, Rand: t.choose, Debug: l.o.Debug}
		if l.work.PerCommand {
			c.Observe = t.observe
		}
		t.m, t.choose = l.program.Machine(c), seeds.Rand()
	}
	return nil
}

func (l *loading) drive(ctx context.Context, res *Result) error {
	driven, err := l.connect(ctx, res)
	defer func() {
		for _, c := range driven {
			if c != nil {
				_ = c.Close() // what a connection says at its end matters to nobody
			}
		}
	}()
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if l.o.Started != nil {
		l.o.Started()
	}
	if err = ctx.Err(); err == nil { // Started may have taken a while
		err = l.keepBusy(ctx, driven, res)
	}
	if l.o.Stopped != nil {
		l.o.Stopped(err)
	}
	return err
}

// connect connects all clients. The connections are there, nil where it failed,
// with an error too. With a connection for each transaction they are all nil, and one is
// opened to see whether that can be done.
func (l *loading) connect(ctx context.Context, res *Result) ([]*wire.Conn, error) {
	driven := make([]*wire.Conn, l.o.Clients)
	if l.work.Reconnect {
		conn, err := l.reconnect(ctx, 0)
		if err != nil {
			return driven, fmt.Errorf("connecting: %w", err)
		}
		return driven, conn.Close()
	}
	start := time.Now()
	conns, err := connectAll(ctx, l.o.Connect, l.o.Clients)
	defer func() { closeAll(ctx, conns) }()
	if err != nil {
		return driven, err
	}
	res.InitialConnect = time.Since(start)
	return driven, inParallel(len(conns), func(i int) error {
		var err error
		driven[i], err = l.adopt(ctx, conns[i])
		if err != nil {
			return fmt.Errorf("preparing client %d (of %d, from 0): %w", i, len(conns), err)
		}
		conns[i] = nil // it is not pgx's any more, which would wait in vain for its end
		return nil
	})
}

// reconnect opens a connection for one transaction.
func (l *loading) reconnect(ctx context.Context, _ int) (*wire.Conn, error) {
	conn, err := l.o.Connect(ctx)
	if err != nil {
		return nil, err
	}
	driven, err := l.adopt(ctx, conn)
	if err != nil {
		closeConn(ctx, conn)
	}
	return driven, err
}

// adopt prepares a session and takes its connection over.
func (l *loading) adopt(ctx context.Context, conn *pgx.Conn) (*wire.Conn, error) {
	for _, sql := range l.work.Session {
		if err := exec(ctx, conn.PgConn(), sql); err != nil {
			return nil, err
		}
	}
	return wire.Adopt(ctx, conn.PgConn())
}

// keepBusy runs the clients to the end of the load.
func (l *loading) keepBusy(ctx context.Context, conns []*wire.Conn, res *Result) error {
	err := l.warmUp(ctx, conns, res)
	if err == nil && !res.Cancelled {
		if l.o.Log != nil {
			l.log = newTxnLog(l.o.Log, &l.o)
		}
		var s wire.Stats
		s, err = l.measure(ctx, conns)
		res.Elapsed, res.Threads, res.DriverCPU, res.Indirect = s.Elapsed, s.Threads, s.CPU, s.Indirect
		res.Skipped, res.Late, res.Cancelled = s.Skipped, s.Late, s.Cancelled
	}
	if l.log != nil {
		err = errors.Join(err, l.log.close())
	}
	var lost *wire.LostError
	if errors.As(err, &lost) {
		return l.explain(ctx, lost)
	}
	return err
}

// measure is the measured part, with its reports.
func (l *loading) measure(ctx context.Context, conns []*wire.Conn) (wire.Stats, error) {
	if l.o.Report != nil {
		var reports sync.WaitGroup
		done := make(chan struct{})
		l.meter.interval() // what came before
		start := time.Now()
		reports.Go(func() { l.report(start, done) })
		defer reports.Wait()
		defer close(done)
	}
	return l.run(ctx, conns, l.o.Duration, l.o.Transactions)
}

// run keeps the clients busy that have not ended, for that long or for that many
// transactions each.
func (l *loading) run(ctx context.Context, conns []*wire.Conn, d time.Duration, transactions int64) (wire.Stats, error) {
	var clients []wire.Client
	var numbers []int // those that have ended are not in the run
	for i, c := range conns {
		if t := l.tasks[i]; !t.gone {
			t.clock = time.Time{}
			clients = append(clients, wire.Client{Conn: c, Task: t})
			numbers = append(numbers, i)
		}
	}
	if len(clients) == 0 {
		return wire.Stats{}, nil
	}
	o := wire.Options{
		Clients: clients, Threads: l.o.Threads, Recorder: func(thread int) wire.Recorder { return l.recorder(thread, numbers) }, Duration: d, Transactions: transactions,
		Rate: l.o.Rate, Seed: uint64(l.o.Seed), LatencyLimit: l.o.LatencyLimit,
	}
	if l.work.Reconnect {
		o.Reconnect = l.reconnect
	}
	return wire.Run(ctx, o)
}

// warmStep is how often a warm-up is asked whether it is over. The clients
// finish their transactions for it.
const warmStep = time.Second

// warmUp runs the clients before the measured part, and then forgets what they
// did but for its sum, also where it was cut short.
func (l *loading) warmUp(ctx context.Context, conns []*wire.Conn, res *Result) error {
	if l.o.Warmup == nil {
		return nil
	}
	w := &WarmupResult{}
	res.Warmup = w
	whole, err := l.warmSteps(ctx, conns, res)
	counts := l.meter.cut()
	w.Transactions, w.Failed, w.Latency = counts.Transactions, counts.Failed, counts.Latency
	for _, t := range l.tasks {
		t.forget()
	}
	if whole && l.o.Warmed != nil {
		l.o.Warmed()
	}
	return err
}

// warmSteps runs the clients until the warm-up is over; whole tells that nothing
// ended it before.
func (l *loading) warmSteps(ctx context.Context, conns []*wire.Conn, res *Result) (whole bool, err error) {
	w := res.Warmup
	for w.Elapsed < l.o.Warmup.Most && !w.Settled {
		s, err := l.run(ctx, conns, min(warmStep, l.o.Warmup.Most-w.Elapsed), 0)
		w.Elapsed += s.Elapsed
		if err != nil || s.Cancelled || s.Elapsed == 0 { // none of the clients is left
			res.Cancelled = s.Cancelled
			return false, err
		}
		w.Settled = l.o.Warmup.Over != nil && l.o.Warmup.Over()
	}
	return true, nil
}

// recorder is a thread's recorder, of a run whose clients have those numbers.
func (l *loading) recorder(thread int, numbers []int) wire.Recorder {
	r := l.meter.recorder(thread)
	if l.log != nil {
		return loggedRecorder{r, l.log, numbers}
	}
	return r
}

// abort notes a client that has ended.
func (l *loading) abort(a Aborted) {
	l.mu.Lock()
	l.aborted = append(l.aborted, a)
	l.mu.Unlock()
}

// sum adds up what the clients did, once they are through.
func (l *loading) sum(res *Result) {
	slices.SortFunc(l.aborted, func(a, b Aborted) int { return a.Client - b.Client })
	res.Aborted = l.aborted
	for i, s := range l.program.Scripts {
		r := ScriptResult{Name: s.Name, Weight: l.work.Scripts[i].Weight, Share: l.chooser.Share(i)}
		for _, t := range l.tasks {
			own := &t.stats[i]
			r.Latency.merge(own.latency)
			r.Failed += own.failed
			r.Serialization += own.serialization
			r.Deadlock += own.deadlock
			r.Retried += own.retried
			r.Retries += own.retries
		}
		if l.work.PerCommand {
			for c := range s.Commands {
				one := CommandResult{Title: s.Commands[c].Title()}
				for _, t := range l.tasks {
					own := &t.stats[i].commands[c]
					one.Took.merge(own.took)
					one.Failed += own.failed
					one.Retried += own.retried
				}
				r.Commands = append(r.Commands, one)
			}
		}
		res.Retried += r.Retried
		res.Retries += r.Retries
		res.Scripts = append(res.Scripts, r)
	}
}

// explainTimeout bounds the attempt to learn why a connection was lost.
const explainTimeout = time.Second

// explain turns a lost connection into a sentence. A server that ends a session
// in order says why; for one that does not, a new connection tells what has
// become of the server.
func (l *loading) explain(ctx context.Context, lost *wire.LostError) error {
	if lost.Said != nil {
		return lost
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), explainTimeout)
	defer cancel()
	conn, err := l.o.Connect(ctx)
	if err == nil {
		closeConn(ctx, conn)
		return fmt.Errorf("%w; the server answers again: it was restarted or the session was killed", lost)
	}
	var said *pgconn.PgError
	if errors.As(err, &said) {
		return fmt.Errorf("%w; the server says: %s", lost, said.Message)
	}
	return fmt.Errorf("%w; the server does not answer any more", lost)
}
