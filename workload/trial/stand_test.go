package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pgtlb/probes"
	"pgtlb/workload"
	"pgtlb/workload/experiment"
	"pgtlb/workload/lab"
)

// TestStoppedInTheMiddleOfARestart: the restart is waited for, and the lab goes on as it
// was.
func TestStoppedInTheMiddleOfARestart(t *testing.T) {
	x := startSession(t)
	x.s.Do(StartExperiment{Key: 1, Experiment: quickExperiment("shared_buffers", "16MB", "24MB")})
	x.until("a restart", func(st *State) bool {
		return st.Phase == Changing && st.Experiment != nil && strings.HasPrefix(st.Experiment.Detail, "restarting the server")
	})
	x.s.Do(StopExperiment{})
	st := x.until("the end", func(st *State) bool { return st.Experiment.Over })
	if e := st.Experiment; st.Phase != Ready || e.Err != "" || !e.Interrupted || len(e.Progress.Made) != 1 || e.Progress.Made[0].State != experiment.Interrupted {
		t.Errorf("%s: %+v", st.Phase, e)
	}
	if got := x.setting("shared_buffers"); got != "32MB" {
		t.Errorf("shared_buffers is %s", got)
	}
}

// TestALabThatDoesNotRunAfterItsExperiment is told, also where nothing else went wrong.
func TestALabThatDoesNotRunAfterItsExperiment(t *testing.T) {
	s := &Session{cluster: &lab.Cluster{}}
	s.st.Phase, s.st.Experiment = Ready, &ExperimentState{}
	s.experimentOver(nil, context.Canceled)
	if s.st.Phase != Lost || !strings.Contains(s.st.Err, "does not run any more") || !s.st.Experiment.Interrupted {
		t.Errorf("%s %q %+v", s.st.Phase, s.st.Err, s.st.Experiment)
	}
}

// TestNothingIsPutBackWhileAStepRuns: a step that was left behind may still change the
// server.
func TestNothingIsPutBackWhileAStepRuns(t *testing.T) {
	x := &stand{turn: make(chan struct{}, 1), changed: true}
	if !x.enter(t.Context()) {
		t.Fatal("nobody is in it")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := x.putBack(ended); !errors.Is(err, errBusyStep) {
		t.Errorf("%v", err)
	}
	if err := x.Arrange(ended, experiment.Plan{}, experiment.Step{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	x.leave()
	x.changed = false
	if err := x.putBack(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestGoingOnRecordsTheSame: what the session was told for its runs holds for those of
// an experiment that is gone on with.
func TestGoingOnRecordsTheSame(t *testing.T) {
	sc, err := workload.Find("point-select")
	if err != nil {
		t.Fatal(err)
	}
	w := workload.Load{Scenario: sc, Clients: 2, Duration: time.Second}
	x := &stand{s: &Session{o: Options{Mode: InLab}}, o: quickExperiment("work_mem", "4MB", "8MB"), load: &load{first: w, what: w}}
	if args := x.arguments(); len(args) == 0 || slices.Contains(args, "--with-queries") {
		t.Errorf("a session that keeps no texts: %q", args)
	}
	x.s.o.Queries = true
	if args := x.arguments(); !slices.Contains(args, "--with-queries") {
		t.Errorf("a session that keeps texts: %q", args)
	}
}

// TestTheQuestionNamesTheUpperBound of steps and restarts.
func TestTheQuestionNamesTheUpperBound(t *testing.T) {
	o := quickExperiment("shared_buffers", "16MB", "24MB")
	o.RestartCmd = "restart it"
	x := &stand{o: o, way: byRestart}
	says := func() string { return strings.Join(x.tells("nothing"), "\n") }
	if got := says(); !strings.Contains(got, "in 8 steps") || !strings.Contains(got, "restarts: 9, one before") || strings.Contains(got, "at most") {
		t.Error(got)
	}
	x.o.MostPairs, x.o.Plan.RepeatFailed = 30, true
	if got := says(); !strings.Contains(got, "at most: 124 steps; up to 30 pairs") || !strings.Contains(got, "each failed step is made once more") ||
		!strings.Contains(got, "restarts: 9 as planned and 125 at most") {
		t.Error(got)
	}
	// The gate cannot be answered with more than was asked for.
	run := &experimenting{stand: x, answer: make(chan int, 1)}
	run.answer <- 200
	s := &Session{events: make(chan func(), 1)}
	if n, err := s.gate(t.Context(), run, experiment.Gate{}); n != 30 || err != nil {
		t.Error(n, err)
	}
}

// TestSecretsAreNotVaried: their values would be in files and reports.
func TestSecretsAreNotVaried(t *testing.T) {
	x := startSession(t)
	for _, o := range []ExperimentOptions{
		quickExperiment("primary_conninfo", "password=hunter2", "password=hunter3"),
		quickExperiment("app.upstream", "postgres://u:hunter2@h/d", "x"),
	} {
		x.s.Do(StartExperiment{Key: 1, Experiment: o})
		st := x.until("the refusal", func(st *State) bool {
			return st.Experiment != nil && st.Experiment.Over && st.Experiment.Progress.Plan.Factor == o.Plan.Factor
		})
		if e := st.Experiment; !strings.Contains(e.Err, "it may hold a password or a key") || strings.Contains(e.Err, "hunter") {
			t.Errorf("%q", e.Err)
		}
	}
	if names, _ := experiment.Names(x.store.Dir()); len(names) > 0 {
		t.Errorf("left: %v", names)
	}
}

// withLedger is a server with these lines in postgresql.auto.conf, and the ledger of an
// experiment on it that gives the settings these values.
func withLedger(t *testing.T, lines string, arms map[string][]string) (conn *pgx.Conn, auto func() string, runs string, l *ledger, err error) {
	t.Helper()
	c := startCluster(t)
	conn, err = pgx.Connect(t.Context(), c.DSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	for sql := range strings.SplitSeq(lines, ";") {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	auto = func() string { return readText(t, filepath.Join(c.Data(), "postgresql.auto.conf")) }
	runs = t.TempDir()
	if err := os.MkdirAll(experiment.Dir(runs), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err = newLedger(t.Context(), conn, "one", "", arms)
	if err == nil {
		err = l.begin(t.Context(), conn, runs)
	}
	return conn, auto, runs, l, err
}

// TestLedgerOfLists: a list is put back as a list; as one literal it would be one name,
// and the server would not start.
func TestLedgerOfLists(t *testing.T) {
	const name = "session_preload_libraries"
	one := "pg_stat_statements"
	conn, auto, _, l, err := withLedger(t, "ALTER SYSTEM SET "+name+" = 'auto_explain', '$libdir/plpgsql'", map[string][]string{name: {one}})
	if err != nil {
		t.Fatal(err)
	}
	before := auto()
	if err := alterSystem(t.Context(), conn, name, &one); err != nil || auto() == before {
		t.Fatal(err)
	}
	if text := strings.Join(l.advice(), "\n"); !strings.Contains(text, `ALTER SYSTEM SET "session_preload_libraries" = 'auto_explain', '$libdir/plpgsql';`) {
		t.Error(text)
	}
	if others, err := l.undo(t.Context(), conn); err != nil || len(others) > 0 || auto() != before {
		t.Errorf("%v %v\n%s", others, err, auto())
	}
	if _, err := conn.Exec(t.Context(), "ALTER SYSTEM SET "+name+" = ''"); err != nil {
		t.Fatal(err)
	}
	if _, err := newLedger(t.Context(), conn, "two", "", map[string][]string{name: {one}}); err == nil || !strings.Contains(err.Error(), "cannot give back") {
		t.Errorf("an empty list: %v", err)
	}
}

// TestLedgerLeavesWhatOthersChanged and puts back the rest.
func TestLedgerLeavesWhatOthersChanged(t *testing.T) {
	conn, auto, runs, l, err := withLedger(t, "ALTER SYSTEM SET work_mem = '5MB'", map[string][]string{"work_mem": {"7MB"}, "bgwriter_delay": {"10ms"}})
	if err != nil {
		t.Fatal(err)
	}
	delay, theirs := "10ms", "9MB"
	if err := errors.Join(alterSystem(t.Context(), conn, "bgwriter_delay", &delay), alterSystem(t.Context(), conn, "work_mem", &theirs), l.file.Close()); err != nil {
		t.Fatal(err)
	}
	lines, err := UndoLeftovers(t.Context(), runs, nil)
	if text := strings.Join(lines, "\n"); err != nil || !strings.Contains(text, "somebody changed work_mem in postgresql.auto.conf") ||
		strings.Contains(auto(), "bgwriter_delay") || !strings.Contains(auto(), "work_mem = '9MB'") {
		t.Errorf("%v %s\n%s", err, text, auto())
	}
	if left, _ := ledgers(runs); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestCutLedgers stand for nothing that was changed, and are in nobody's way.
func TestCutLedgers(t *testing.T) {
	runs := t.TempDir()
	dir := experiment.Dir(runs)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"empty": "", "cut": `{"experiment": "cut", "sys`, "zeros": "\x00\x00"} {
		if err := os.WriteFile(filepath.Join(dir, name+ledgerExtension), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := changedBy(runs, "7", ""); err != nil {
		t.Error(err)
	}
	if lines, err := UndoLeftovers(t.Context(), runs, nil); err != nil || len(lines) > 0 {
		t.Errorf("%v %v", lines, err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// byHandStand is a stand whose runs have one figure each. Steps at these positions fail
// in their turn.
type byHandStand struct {
	t    *testing.T
	dir  string
	fail map[int]bool
}

func (r byHandStand) Arrange(_ context.Context, _ experiment.Plan, s experiment.Step) error {
	if r.fail[s.Position] && !s.Repeat {
		return errors.New("no pages left")
	}
	return nil
}

func (r byHandStand) Measure(_ context.Context, p experiment.Plan, s experiment.Step) (string, float64, error) {
	tps := 100 + float64(s.Position%3) + 50*float64(s.Arm)
	m := handRun(fmt.Sprintf("run-%d", s.Position), map[string]float64{probes.TPS: tps}, func(m *Meta) {
		m.Created = m.Created.Add(time.Duration(s.Position) * time.Minute)
		m.Step = &StepMeta{Experiment: p.Name, Factor: p.Factor, Arm: p.Arms()[s.Arm], Block: s.Block, Position: s.Position, OutOfOrder: s.Repeat}
	}).Meta
	rec, err := Create(r.dir, m)
	if err == nil {
		err = rec.Close(End{Reason: "finished"})
	}
	if err != nil {
		r.t.Error(err)
	}
	return m.Name, tps, err
}

// TestRunsOfAnExperimentAreFoundExactly: by their names or those under which they were
// recorded, and never another run or a file of the working directory.
func TestRunsOfAnExperimentAreFoundExactly(t *testing.T) {
	s := store(t)
	p := quickExperiment("work_mem", "4MB", "8MB").Plan
	p.RepeatFailed = true
	j, err := experiment.Create(s.Dir(), p)
	if err != nil {
		t.Fatal(err)
	}
	if err := experiment.Execute(t.Context(), j, byHandStand{t, s.Dir(), map[int]bool{4: true}}, experiment.Hooks{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Rename("run-3", "renamed"); err != nil {
		t.Fatal(err)
	}
	without, err := CompareExperiment(s, j, false)
	if err != nil || without.Arms[1].Runs != 2 || without.Arms[0].Runs != 5 {
		t.Fatalf("%v %+v", err, without.Arms)
	}
	if with, err := CompareExperiment(s, j, true); err != nil || with.Arms[1].Runs != 3 {
		t.Errorf("%v %+v", err, with.Arms)
	}
	// Another run of the same name, one whose name begins so, and a file here.
	if err := os.Remove(filepath.Join(s.Dir(), "run-5"+Extension)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("run-5", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"run-50", "run-5"} {
		shortRun(t, s, name)
		if _, err := CompareExperiment(s, j, false); err == nil || !strings.Contains(err.Error(), "there is no run run-5 of its step 5") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// And nothing else is taken in its place.
	if arms, err := s.Arms([]string{j.Plan.Name}); err == nil {
		t.Errorf("%+v", arms)
	}
}
