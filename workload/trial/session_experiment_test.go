package trial

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pgtlb/probes"
	"pgtlb/workload/experiment"
)

func quickExperiment(factor string, values ...string) ExperimentOptions {
	return ExperimentOptions{Measure: time.Second, Plan: experiment.Plan{Factor: factor, Values: values, Pairs: 3, Order: experiment.ABBA,
		Detect: 0.03, Margin: 0.01, Limit: time.Minute}}
}

// TestExperimentByKey: the gate waits for its answer, nothing else runs meanwhile,
// and what the server had is put back.
func TestExperimentByKey(t *testing.T) {
	x := startSession(t)
	x.s.Do(StartExperiment{Key: 99, Experiment: quickExperiment("work_mem", "4MB", "8MB")})
	x.until("the refusal", func(st *State) bool { return noticed(st, "no scenario has key 99") })
	x.s.Do(StartExperiment{Key: 1, Experiment: quickExperiment("bgwriter_delay", "10ms", "20ms")})
	st := x.until("the gate", func(st *State) bool { return st.Experiment != nil && st.Experiment.Gate != nil })
	if g := st.Experiment.Gate; len(g.Identical) != 2 || g.Planned != 3 || g.Spread <= 0 || len(st.Experiment.Progress.Made) != 2 {
		t.Errorf("%+v", g)
	}
	for _, c := range []Command{ToggleLoad{Key: 2}, SetPages{"2MB"}, SetParam{Key: 1, Name: "clients", Value: "2"}, StartExperiment{Key: 1}} {
		before := x.last.Notices
		x.s.Do(c)
		x.until("the refusal", func(st *State) bool {
			return len(st.Notices) > 0 && (len(before) == 0 || st.Notices[len(st.Notices)-1] != before[len(before)-1]) && noticed(st, "an experiment is under way")
		})
	}
	x.s.Do(AnswerGate{Pairs: 1})
	st = x.until("the end", func(st *State) bool { return st.Experiment.Over })
	e := st.Experiment
	if e.Err != "" || e.Interrupted || len(e.Progress.Made) != 4 || e.Progress.Plan.Pairs != 1 || e.Gate != nil {
		t.Errorf("%+v", e)
	}
	j, err := experiment.Open(x.store.Dir(), "last")
	if err != nil || len(j.Left()) != 0 {
		t.Fatal(err, j)
	}
	for _, want := range []string{"--vary bgwriter_delay=10ms,20ms", "--lab", "--measure 1s", "--param rows=2000", "--scenario point-select", "--shared-buffers 32MB"} {
		if args := strings.Join(j.Plan.Arguments, " "); !strings.Contains(args, want) {
			t.Errorf("%s is not among %s", want, args)
		}
	}
	c, err := CompareExperiment(x.store, j, false)
	if err != nil || !c.Paired || len(c.Arms) != 2 || c.Arms[0].Runs != 3 || c.Arms[1].Runs != 1 || c.Experiment != j.Plan.Name {
		t.Errorf("%v %+v", err, c)
	}
	if arms, err := x.store.Arms([]string{j.Plan.Name}); err != nil || len(arms) != 2 || len(arms[0].Runs) != 3 {
		t.Errorf("%v %+v", err, arms)
	}
	if got := x.setting("bgwriter_delay"); got != "200ms" {
		t.Errorf("bgwriter_delay is %s", got)
	}
	x.s.Do(StartExperiment{Key: 1, Experiment: quickExperiment("shared_buffers", "16MB", "24MB")})
	x.until("the gate", func(st *State) bool { return st.Experiment.Gate != nil })
	x.s.Do(StopExperiment{})
	st = x.until("the end", func(st *State) bool { return st.Experiment.Over && st.Phase == Ready })
	if e := st.Experiment; e.Err != "" || !e.Interrupted || len(e.Progress.Made) != 2 {
		t.Errorf("%+v", e)
	}
	if got := x.setting("shared_buffers"); got != "32MB" {
		t.Errorf("shared_buffers is %s", got)
	}
	x.s.Do(ToggleLoad{Key: 1}) // all is as before
	x.status(1, LoadRunning)
}

func noticed(st *State, text string) bool {
	for _, n := range st.Notices {
		if strings.Contains(n.Text, text) {
			return true
		}
	}
	return false
}

// setting asks a new session of the lab.
func (x *sessionTest) setting(name string) string {
	x.t.Helper()
	conn, err := x.s.connectAs(probes.SetupName)(context.Background())
	if err != nil {
		x.t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var v string
	if err := conn.QueryRow(context.Background(), "SELECT current_setting($1)", name).Scan(&v); err != nil {
		x.t.Fatal(err)
	}
	return v
}

// TestAnotherValueInTheSessions: it stops the experiment and says where it is from.
func TestAnotherValueInTheSessions(t *testing.T) {
	c := startCluster(t)
	conn := func() *pgx.Conn {
		t.Helper()
		conn, err := pgx.Connect(t.Context(), c.DSN())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		return conn
	}
	first := conn()
	for sql, says := range map[string]string{
		"ALTER ROLE postgres SET work_mem = '3MB'":                          "the role's own setting (ALTER ROLE",
		"ALTER DATABASE postgres SET work_mem = '3MB'":                      "the database's own setting (ALTER DATABASE",
		"ALTER ROLE postgres IN DATABASE postgres SET work_mem = '3072 kB'": "the role's own setting in this database",
	} {
		if _, err := first.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
		x := &stand{}
		var err error
		if x.setting, err = readSetting(t.Context(), first, "WORK_MEM"); err != nil {
			t.Fatal(err)
		}
		seen, err := x.verify(t.Context(), conn(), &arm{set: map[string]string{"work_mem": "64MB"}})
		if !errors.Is(err, experiment.ErrStop) || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "work_mem = 3MB and not 64MB") {
			t.Errorf("%s: %q %v", sql, seen, err)
		}
		if seen, err := x.verify(t.Context(), conn(), &arm{set: map[string]string{"work_mem": "3072kB"}}); err != nil || seen != "3MB" {
			t.Errorf("%s: %q %v", sql, seen, err)
		}
		if _, err := first.Exec(t.Context(), strings.Split(sql, "SET")[0]+"RESET work_mem"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLedger: what was is written down, and undone on that very server only.
func TestLedger(t *testing.T) {
	c := startCluster(t)
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, c.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	value := `it's a "\ test`
	for name, v := range map[string]*string{"cluster_name": &value, "work_mem": nil} {
		if err := alterSystem(ctx, conn, name, v); err != nil {
			t.Fatal(err)
		}
	}
	auto := func() string {
		b, err := os.ReadFile(filepath.Join(c.Data(), "postgresql.auto.conf"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	before, runs := auto(), t.TempDir()
	if err := os.MkdirAll(experiment.Dir(runs), 0o700); err != nil {
		t.Fatal(err)
	}
	arms := map[string][]string{"cluster_name": {"other"}, "work_mem": {"7MB"}}
	l, err := newLedger(ctx, conn, "one", "restart it", arms)
	if err != nil || l.begin(ctx, conn, runs) != nil {
		t.Fatal(err)
	}
	// Whatever another experiment is called, on this server it does not begin.
	two, err := newLedger(ctx, conn, "two", "", arms)
	if err == nil {
		err = two.begin(ctx, conn, runs)
	}
	if err == nil || !strings.Contains(err.Error(), "another experiment has changed this server: one") {
		t.Errorf("two at once: %v", err)
	}
	if paths, _ := ledgers(runs); len(paths) != 1 {
		t.Errorf("left: %v", paths)
	}
	if again := (&ledger{Experiment: "one"}).open(runs); again == nil {
		t.Error("a ledger takes the place of another one")
	}
	other := "other"
	for _, name := range []string{"cluster_name", "work_mem"} {
		v := other
		if name == "work_mem" {
			v = "7MB"
		}
		if err := alterSystem(ctx, conn, name, &v); err != nil {
			t.Fatal(err)
		}
	}
	if lines, err := UndoLeftovers(ctx, runs, nil); err != nil || len(lines) > 0 || auto() == before {
		t.Errorf("an experiment that is at work: %v %v", lines, err)
	}
	if err := l.file.Close(); err != nil { // as a crash does
		t.Fatal(err)
	}
	if strings.Contains(readText(t, l.path), "password") {
		t.Error(readText(t, l.path))
	}
	lines, err := UndoLeftovers(ctx, runs, nil)
	if err != nil || len(lines) != 2 || !strings.Contains(lines[0], "that is done now") || !strings.Contains(lines[1], "restart it") || auto() != before {
		t.Errorf("%v %v\n%s", lines, err, auto())
	}
	if lines, err := UndoLeftovers(ctx, runs, nil); err != nil || len(lines) > 0 {
		t.Errorf("twice: %v %v", lines, err)
	}
	l.System = "1"
	if err := l.open(runs); err != nil {
		t.Fatal(err)
	}
	_ = l.file.Close()
	lines, err = UndoLeftovers(ctx, runs, nil)
	text := strings.Join(lines, "\n")
	if err != nil || !strings.Contains(text, "another server at this address") || !strings.Contains(text, `ALTER SYSTEM SET "cluster_name" = E'it''s a "\\ test';`) ||
		!strings.Contains(text, `ALTER SYSTEM RESET "work_mem";`) {
		t.Errorf("%v\n%s", err, text)
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
