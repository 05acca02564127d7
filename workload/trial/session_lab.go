package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/jackc/pgx/v5"

	"pgtlb/probes"
	"pgtlb/workload"
	"pgtlb/workload/lab"
)

// prepareLab makes the private server with its data. It is a job.
func (s *Session) prepareLab(ctx context.Context) error {
	data := s.labData()
	plan := []string{"find server", "initdb", "start", "connect"}
	if data != nil {
		plan = append(plan, "load", "index", "analyze", "prewarm")
	}
	s.post(func() { s.steps.plan(plan...) })
	lines, err := lab.Sweep(ctx, lab.SweepOptions{})
	s.post(func() {
		for _, l := range lines {
			s.notify(false, l)
		}
		if err != nil {
			s.notify(true, "sweeping left-over labs: "+err.Error())
		}
	})
	if s.o.Experiment != nil { // once the memory of those is back
		if err := vetExperiment(ctx, s.o.Experiment, s.o.Lab.Cluster); err != nil {
			return err
		}
	}
	cluster, err := lab.Start(ctx, s.o.Lab.Cluster, s.labProgress)
	if err != nil {
		return err
	}
	s.post(func() { s.cluster = cluster })
	s.jobs.Go(func() { s.watchServer(ctx, cluster) })
	if err := s.joinLab(ctx, cluster); err != nil {
		return err
	}
	if data != nil {
		connect := s.connectAs(probes.SetupName)
		if err := data.Setup(ctx, connect, s.progress); err != nil {
			return err
		}
		if err := s.prewarm(ctx, connect); err != nil {
			return err
		}
	}
	s.post(func() {
		s.ready()
		s.begin(ctx)
	})
	return nil
}

// labData is what a lab is filled with before it is ready: the tables of its
// first load. It is nil where that load has none of these, and makes its own when it
// starts, as every load does that is started later.
func (s *Session) labData() *workload.Dataset {
	if s.o.First.Scenario.Name == "" {
		return &workload.Dataset{Rows: s.o.Lab.Rows, Seed: s.o.Lab.Seed}
	}
	first := s.o.First
	var err error
	if first.Values, err = first.Scenario.Resolve(first.Values); err != nil {
		return nil // the load says so when it starts
	}
	return datasetOf(&first)
}

// ready ends the preparing.
func (s *Session) ready() {
	if s.st.Phase != Preparing && s.st.Phase != Changing {
		return
	}
	s.steps.finish()
	s.st.Phase = Ready
}

// labProgress takes the lab's progress.
func (s *Session) labProgress(phase, detail string, done, total int64) {
	s.progress(workload.Progress{Phase: phase, Detail: detail, Done: done, Total: total})
}

func (s *Session) progress(p workload.Progress) {
	s.post(func() { s.steps.update(p) })
}

// joinLab connects to the lab's server and samples it.
func (s *Session) joinLab(ctx context.Context, cluster *lab.Cluster) error {
	s.progress(workload.Progress{Phase: "connect", Detail: cluster.DSN()})
	cfg, err := pgx.ParseConfig(cluster.DSN())
	if err != nil {
		return fmt.Errorf("connecting to the lab: %w", err)
	}
	if err := s.join(ctx, cfg); err != nil {
		return err
	}
	s.progress(workload.Progress{Phase: "connect", Done: 1, Total: 1})
	return nil
}

// prewarm puts the dataset into shared buffers and measures it.
func (s *Session) prewarm(ctx context.Context, connect workload.Connect) error {
	warm, err := workload.Prewarm(ctx, connect, []workload.Data{workload.Dataset{}}, s.progress)
	if err != nil {
		return err
	}
	if err := s.measureData(ctx, connect); err != nil {
		return err
	}
	s.progress(workload.Progress{Phase: "prewarm", Detail: warm.String(), Done: 1, Total: 1})
	return nil
}

// measureData shows how large the dataset is.
func (s *Session) measureData(ctx context.Context, connect workload.Connect) error {
	conn, err := connect(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	size, err := workload.Size(ctx, conn)
	if err != nil {
		return err
	}
	s.post(func() {
		s.st.Dataset = &Dataset{Rows: size.Rows, Seed: size.Seed, TableBytes: size.TableBytes, IndexBytes: size.IndexBytes,
			Fingerprint: size.Fingerprint, FitsSharedBuffer: size.Fits()}
	})
	return nil
}

// watchServer fails the session when the lab's server ends by itself. A restart
// that fails is not that: it says so itself.
func (s *Session) watchServer(ctx context.Context, cluster *lab.Cluster) {
	select {
	case <-ctx.Done():
	case <-cluster.Done():
		s.post(func() { s.lost(cluster.Err(), cluster.LogTail(logLines)) })
	}
}

// logLines is how much of the server's log a failure shows.
const logLines = 12

// serverLog gives the server's own words beside a failure.
func (s *Session) serverLog(err error) []string {
	var start *lab.StartError
	if errors.As(err, &start) {
		return start.Log[max(0, len(start.Log)-logLines):]
	}
	if s.cluster != nil {
		return s.cluster.LogTail(logLines)
	}
	return nil
}

// setPages restarts the lab with another page size.
func (s *Session) setPages(ctx context.Context, name string) {
	switch {
	case s.o.Mode != InLab:
		s.notify(true, "page sizes are changed in the lab only: pgtlb lab")
		return
	case s.st.Phase != Ready:
		s.notify(true, s.notReady())
		return
	}
	pages, err := lab.ParsePages(name)
	if err != nil {
		s.notify(true, err.Error())
		return
	}
	if name == s.st.Pages {
		s.notify(false, "the server has "+name+" pages already")
		return
	}
	s.st.Phase = Changing
	s.steps.plan("check", "stop loads", "stop", "start", "connect", "prewarm")
	cluster := s.cluster
	s.job(func() {
		err := s.changePages(ctx, cluster, pages)
		s.post(func() { s.pagesChanged(ctx, pages, err) })
	})
}

// changePages does the work of setPages: everything that can refuse comes before
// the loads are touched.
func (s *Session) changePages(ctx context.Context, cluster *lab.Cluster, pages lab.Pages) error {
	s.progress(workload.Progress{Phase: "check", Detail: "does the pool have enough pages of " + pages.String() + "?"})
	reserve, err := s.checkPool(ctx, cluster, pages)
	if err != nil {
		return err
	}
	s.progress(workload.Progress{Phase: "stop loads"})
	var wait func()
	if !s.query(func() { wait = s.pauseLoads(ctx, "page size changed") }) {
		return context.Canceled
	}
	wait()
	change := s.restartLab(ctx, cluster, lab.Change{Pages: pages, Reserve: reserve})
	if !cluster.Running() {
		return change
	}
	made := false
	s.query(func() { made = s.st.Dataset != nil })
	if made {
		change = errors.Join(change, s.prewarm(ctx, s.connectAs(probes.SetupName)))
	}
	return change
}

// restartLab takes the session off the lab's server, restarts that with a change
// and joins it again, also where it runs as before because the change failed.
func (s *Session) restartLab(ctx context.Context, cluster *lab.Cluster, change lab.Change) error {
	if err := s.part(ctx); err != nil {
		s.post(func() { s.notify(true, err.Error()) })
	}
	err := cluster.Restart(ctx, change, s.labProgress)
	if !cluster.Running() {
		return err
	}
	return errors.Join(err, s.joinLab(ctx, cluster))
}

// checkPool finds out whether the pool has the pages and, where it does not but
// could, asks. It tells whether the restart may grow the pool.
func (s *Session) checkPool(ctx context.Context, cluster *lab.Cluster, pages lab.Pages) (reserve bool, err error) {
	if s.o.Lab.Cluster.Reserve {
		return true, nil // --reserve said yes beforehand
	}
	p, err := cluster.Preflight(ctx, pages)
	if err != nil {
		return false, err
	}
	return s.mayReserve(ctx, p)
}

// mayReserve asks for the pages that a pool lacks, unless --reserve said yes
// beforehand. Pages that cannot be had are an error.
func (s *Session) mayReserve(ctx context.Context, p lab.Preflight) (reserve bool, err error) {
	switch {
	case p.Err() == nil:
		return false, nil
	case !p.CanReserve:
		return false, fmt.Errorf("%s; %s", p.Reason, p.Help())
	case s.o.Lab.Cluster.Reserve:
		return true, nil
	}
	q := Question{
		Text: fmt.Sprintf("Reserve %d huge pages of %s?", p.Short, p.Size),
		Detail: []string{
			fmt.Sprintf("the server needs %d pages of %s, the pool has %d free", p.Need, p.Size, p.Need-p.Short),
			fmt.Sprintf("this takes %s of memory from the rest of the machine", probes.Memory(float64(p.Short)*float64(p.Size.KB()))),
			"they are given back when pgtlb ends",
		},
		Yes: fmt.Sprintf("reserve %d pages and restart", p.Short), No: "leave everything as it is",
	}
	if !s.question(ctx, nil, func() (Question, bool) { return q, true }) {
		return false, errNotReserved
	}
	return true, nil
}

// errNotReserved is a no to the question; nothing was changed.
var errNotReserved = errors.New("no pages were reserved, the page size stays")

// pagesChanged ends a change of the page size and starts the loads again.
func (s *Session) pagesChanged(ctx context.Context, pages lab.Pages, err error) {
	switch {
	case ctx.Err() != nil:
		return
	case err != nil && (s.link == nil || !s.cluster.Running()):
		s.lost(err, s.serverLog(err))
		return
	case errors.Is(err, errNotReserved):
		s.notify(false, err.Error())
	case err != nil:
		s.notify(true, err.Error())
	case s.st.Pages != pages.String():
		s.notify(true, fmt.Sprintf("asked for %s pages, but the server has %s (%s)", pages, s.st.Pages, s.st.Server.HugePages.Proof))
	default:
		s.notify(false, fmt.Sprintf("the server runs with %s pages now (%s)", pages, s.st.Server.HugePages.Proof))
	}
	s.ready()
	s.startWaiting(ctx)
}

// connectAs opens connections to the session's server under an application name.
func (s *Session) connectAs(name string) workload.Connect { return s.connectWith(name, nil) }

// connectWith is connectAs with settings for these sessions, which win over those
// of the database and the role.
func (s *Session) connectWith(name string, settings map[string]string) workload.Connect {
	return func(ctx context.Context) (*pgx.Conn, error) {
		cfg := s.o.Config
		if s.o.Mode == InLab {
			var err error
			if cfg, err = pgx.ParseConfig(s.cluster.DSN()); err != nil {
				return nil, err
			}
		}
		cfg = cfg.Copy()
		maps.Copy(cfg.RuntimeParams, settings)
		cfg.RuntimeParams["application_name"] = name
		return pgx.ConnectConfig(ctx, cfg)
	}
}

// pagesName is the name of a page size in kB, "" when it is not known.
func pagesName(h probes.HugePages) string {
	if h.PageKB == 0 {
		return ""
	}
	return lab.Pages(h.PageKB).String()
}
