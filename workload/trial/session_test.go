package trial

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"pgtlb/probes"
	"pgtlb/workload/lab"
	"pgtlb/workload/lab/labtest"
)

// programs are those that labs are made with.
var programs labtest.Programs

func TestMain(m *testing.M) {
	code := m.Run()
	if err := programs.Remove(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// sessionTest is a session on a real lab server.
type sessionTest struct {
	t     *testing.T
	s     *Session
	store *Store
	last  State
	done  chan error
	stop  context.CancelFunc
	ended bool
	// mayFail is set where the server is to be lost.
	mayFail bool
}

// labParent is a directory that the server's account can enter; the test fails
// when anything is left in it.
func labParent(t testing.TB) string {
	t.Helper()
	parent, err := os.MkdirTemp("", "pgtlb-session-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		entries, err := os.ReadDir(parent)
		if err != nil || len(entries) > 0 {
			t.Errorf("left behind in %s: %v %v", parent, entries, err)
		}
		_ = os.RemoveAll(parent)
	})
	if err := os.Chmod(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	return parent
}

func labOptions(t testing.TB) lab.Options {
	t.Helper()
	server, err := lab.Find(t.Context(), "")
	if err != nil {
		t.Skip("need: PostgreSQL's server programs (pgtlb setup -y)")
	}
	server.Bindir = programs.Of(t, server.Bindir)
	return lab.Options{Server: server, Parent: labParent(t), SharedBuffers: "32MB"}
}

// startCluster makes a lab that no session owns.
func startCluster(t *testing.T) *lab.Cluster {
	t.Helper()
	c, err := lab.Start(t.Context(), labOptions(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// startSession makes a small lab and waits until it is ready.
func startSession(t *testing.T) *sessionTest {
	t.Helper()
	store, err := OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	x := runSession(t, Options{Mode: InLab, Store: store, Reports: t.TempDir(), Interval: 200 * time.Millisecond,
		Roots: probes.SystemRoots(), Lab: LabOptions{Rows: 2000, Seed: 1, Cluster: labOptions(t)}})
	x.until("the lab to be ready", func(st *State) bool { return st.Phase == Ready })
	return x
}

func runSession(t *testing.T, o Options) *sessionTest {
	t.Helper()
	s := NewSession(o)
	ctx, stop := context.WithCancel(context.Background())
	x := &sessionTest{t: t, s: s, store: o.Store, done: make(chan error, 1), stop: stop}
	go func() { x.done <- s.Run(ctx) }()
	t.Cleanup(func() {
		if err := x.end(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// end ends the session in order and returns its error.
func (x *sessionTest) end() error {
	if x.ended {
		return nil
	}
	x.ended = true
	x.stop()
	return <-x.done
}

// until waits for a state; only a session that hangs reaches the end of its patience.
func (x *sessionTest) until(what string, ok func(*State) bool) State {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for {
		st, err := x.s.Next(ctx)
		if err != nil {
			x.t.Fatalf("waiting for %s: %v; loads %+v, notices %+v", what, err, x.last.Loads, x.last.Notices)
		}
		x.last = st
		if st.Phase == Failed || st.Phase == Lost && !x.mayFail {
			x.t.Fatalf("waiting for %s: the session failed: %s %v", what, st.Err, st.Log)
		}
		if ok(&st) {
			return st
		}
	}
}

func (x *sessionTest) status(key int, want LoadStatus) {
	x.t.Helper()
	x.until(string(want), func(st *State) bool { return st.Loads[key-1].Status == want })
}

// frames waits until the run under way has some frames.
func (x *sessionTest) frames(n int) {
	x.t.Helper()
	x.until("frames of the run", func(st *State) bool {
		return st.Run != nil && st.Run.Active && len(st.History)-st.Run.From >= n
	})
}

// runs reads all recorded runs, oldest first.
func (x *sessionTest) runs() []*Run {
	x.t.Helper()
	files, err := filepath.Glob(filepath.Join(x.store.Dir(), "*"+Extension))
	if err != nil {
		x.t.Fatal(err)
	}
	var out []*Run
	for _, f := range files {
		r, err := Read(f)
		if err != nil {
			x.t.Fatal(err)
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *Run) int { return a.Meta.Created.Compare(b.Meta.Created) })
	return out
}

func loadsOf(r *Run) string {
	var names []string
	for _, l := range r.Meta.Loads {
		names = append(names, l.Scenario)
	}
	return strings.Join(names, "+")
}

// TestEveryRunHasTheSameLoadsFromStartToEnd and a first and last sample of its
// own, also when two loads end together.
func TestEveryRunHasTheSameLoadsFromStartToEnd(t *testing.T) {
	defer goleak.VerifyNone(t)
	t.Run("session", func(t *testing.T) {
		x := startSession(t)
		x.s.Do(ToggleLoad{Key: 1})
		x.frames(3)
		x.s.Do(ToggleLoad{Key: 2})
		x.status(2, LoadRunning)
		x.frames(3)
		if err := x.end(); err != nil {
			t.Fatal(err)
		}
		runs := x.runs()
		var got []string
		for _, r := range runs {
			got = append(got, loadsOf(r))
			if r.End == nil {
				t.Errorf("run %s has no footer", r.Meta.Name)
			}
			// A tick may fall between opening the file and the mark.
			if began, ended := markedWith(r, probes.LoadStarted), markedWith(r, probes.LoadStopped); began != len(r.Meta.Loads) || ended != began {
				t.Errorf("run %s has marks of %d loads that start and %d that stop, want %d", r.Meta.Name, began, ended, len(r.Meta.Loads))
			}
			if _, _, ok := LoadWindow(Frames(r)); !ok {
				t.Errorf("run %s has no load window", r.Meta.Name)
			}
			for _, sample := range r.Samples {
				for _, b := range sample.Batches {
					for _, p := range b.Backends {
						if p.Role == clientRole && !p.Own && !strings.HasPrefix(p.App, "pgtlb ") {
							t.Errorf("run %s counts the session %q", r.Meta.Name, p.App)
						}
						if p.App == probes.SetupName && !p.Own {
							t.Errorf("a set-up session is counted in run %s", r.Meta.Name)
						}
					}
				}
			}
		}
		if want := []string{"point-select", "point-select+join-aggregate"}; !slices.Equal(got, want) {
			t.Errorf("runs %q, want %q", got, want)
		}
	})
}

// markedWith counts the marks of one kind in a run.
func markedWith(r *Run, kind probes.MarkKind) (n int) {
	for _, sample := range r.Samples {
		for _, m := range sample.Marks {
			if m.Kind == kind {
				n++
			}
		}
	}
	return n
}

// TestStoppingWhileStarting is no failure, and leaves no run and no load behind.
func TestStoppingWhileStarting(t *testing.T) {
	x := startSession(t)
	for range 3 {
		x.s.Do(ToggleLoad{Key: 1})
		x.s.Do(ToggleLoad{Key: 1})
		x.until("the load to stop", func(st *State) bool {
			return st.Loads[0].Status == LoadStopped || st.Loads[0].Status == LoadFailed
		})
		if l := x.last.Loads[0]; l.Status == LoadFailed {
			t.Fatalf("stopping it counts as a failure: %s", l.Detail)
		}
	}
	x.s.Do(ToggleLoad{Key: 1})
	x.frames(3)
	for _, n := range x.last.Notices {
		if n.Error {
			t.Errorf("notice: %s", n.Text)
		}
	}
	// A read can be late on a busy machine.
	x.until("the load to be measured", func(st *State) bool { return st.Now().Of(probes.TPS, "point-select").OK() })
}

// TestExportWhileRunning says that the run goes on, not that it was interrupted.
func TestExportWhileRunning(t *testing.T) {
	x := startSession(t)
	x.s.Do(ToggleLoad{Key: 1})
	x.frames(3)
	x.s.Do(SaveBaseline{})
	x.until("the baseline", func(st *State) bool { return st.Baseline != nil })
	x.s.Do(Export{})
	x.until("the report", func(st *State) bool {
		return slices.ContainsFunc(st.Notices, func(n Notice) bool { return strings.HasPrefix(n.Text, "report: ") })
	})
	files, _ := filepath.Glob(filepath.Join(x.s.o.Reports, "*.md"))
	if len(files) != 1 {
		t.Fatalf("reports: %v", files)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), "still running") || strings.Contains(string(b), "interrupted") {
		t.Errorf("the report of a run that goes on:\n%s", b)
	}
}

// TestPageSizeThatCannotBeHad leaves server and load alone.
func TestPageSizeThatCannotBeHad(t *testing.T) {
	x := startSession(t)
	x.s.Do(ToggleLoad{Key: 1})
	x.frames(2)
	x.s.Do(SetPages{Pages: "2MB"})
	st := x.until("a question or a refusal", func(st *State) bool {
		return st.Question != nil || st.Phase == Ready && slices.ContainsFunc(st.Notices, func(n Notice) bool { return n.Error })
	})
	if q := st.Question; q != nil {
		x.s.Do(Answer{ID: q.ID})
	}
	st = x.until("the session to be ready", func(st *State) bool { return st.Phase == Ready })
	if st.Loads[0].Status != LoadRunning || st.Pages != "4kB" {
		t.Errorf("load %s, pages %s: want both untouched", st.Loads[0].Status, st.Pages)
	}
	before := st.Run.Name
	x.frames(4)
	if x.last.Run.Name != before {
		t.Errorf("the run was ended: %s, then %s", before, x.last.Run.Name)
	}
}

// TestEndDuringAQuestion ends in order.
func TestEndDuringAQuestion(t *testing.T) {
	x := startSession(t)
	x.s.Do(SetPages{Pages: "2MB"})
	x.until("a question or a refusal", func(st *State) bool {
		return st.Question != nil || st.Phase == Ready && len(st.Notices) > 0
	})
	if err := x.end(); err != nil {
		t.Error(err)
	}
}

// TestWatchAsksARestartedServerAnew: what an earlier server process proved is
// not shown of the next one.
func TestWatchAsksARestartedServerAnew(t *testing.T) {
	cluster := startCluster(t)
	cfg, err := pgx.ParseConfig(cluster.DSN())
	if err != nil {
		t.Fatal(err)
	}
	store, err := OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	x := runSession(t, Options{Mode: Watching, Store: store, Interval: 200 * time.Millisecond, Roots: probes.SystemRoots(),
		Config: cfg, Scope: probes.PerfServer})
	st := x.until("the first proof", func(st *State) bool { return st.Pages == "4kB" && len(st.History) > 2 })
	started := st.Server.Started
	if err := cluster.Restart(t.Context(), lab.Change{Settings: map[string]string{"work_mem": "7MB"}}, nil); err != nil {
		t.Fatal(err)
	}
	st = x.until("the restarted server", func(st *State) bool { return st.Server.Started.After(started) && st.Pages == "4kB" })
	if !slices.ContainsFunc(st.Server.Settings, func(s probes.Setting) bool { return s.Name == "work_mem" && s.Value == "7MB" }) {
		t.Errorf("settings of the restarted server: %+v", st.Server.Settings)
	}
	x.until("figures of the restarted server", func(st *State) bool {
		return st.Unreachable == "" && st.Last().Get(probes.ServerPageFaults).OK() && st.Last().Get(probes.Commits).OK() &&
			(!hasMetric(st.Metrics, probes.PageFaults) || st.Last().Get(probes.PageFaults).OK())
	})
	if err := cluster.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	x.until("the lost server to be named", func(st *State) bool { return strings.HasPrefix(st.Unreachable, "server unreachable since ") })
}

func hasMetric(list []probes.Metric, id string) bool {
	return slices.ContainsFunc(list, func(m probes.Metric) bool { return m.ID == id })
}

// TestALostServerLeavesTheMeasuredToLookAt: the run has its footer, can be
// exported, and nothing new can be started.
func TestALostServerLeavesTheMeasuredToLookAt(t *testing.T) {
	x := startSession(t)
	x.s.Do(ToggleLoad{Key: 1})
	x.frames(4)
	name := x.last.Run.Name
	if err := syscall.Kill(x.last.Server.PostmasterPid, syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	x.mayFail = true
	st := x.until("the loss", func(st *State) bool { return st.Phase == Lost && st.Loads[0].Status == LoadFailed })
	if st.Err == "" || len(st.Log) == 0 || st.Run == nil || st.Run.Name != name {
		t.Errorf("lost: %q, log %q, run %+v", st.Err, st.Log, st.Run)
	}
	x.s.Do(ToggleLoad{Key: 1})
	x.s.Do(Export{})
	x.until("the report", func(st *State) bool {
		return slices.ContainsFunc(st.Notices, func(n Notice) bool { return strings.HasPrefix(n.Text, "report: ") })
	})
	if err := x.end(); err == nil {
		t.Error("the session ends without telling of the lost server")
	}
	runs := x.runs()
	if len(runs) != 1 || runs[0].End == nil || !strings.HasPrefix(runs[0].End.Reason, "load failed: ") {
		t.Errorf("%d runs, the first ends %+v", len(runs), runs[0].End)
	}
}
