package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pgtlb/workload/experiment"
	"pgtlb/workload/lab"
	"pgtlb/workload/trial"
)

// quick are the arguments of an experiment that is as short as can be.
func quick(vary string, more ...string) []string {
	return slices.Concat([]string{"experiment", "--vary", vary, "--rows", "20000", "-c", "2", "--measure", "1s", "--warmup", "0", "--settle", "0s", "--pairs", "1",
		"--background-cmd", "echo one; echo two; exit 3"}, more)
}

// inLab makes it in a small lab.
func inLab(t *testing.T, vary string, more ...string) []string {
	return quick(vary, slices.Concat([]string{"--lab", "--shared-buffers", "64MB", "--pg-bindir", labBindir(t)}, more)...)
}

// experiment is the sandbox's only experiment as it is on disk, with its runs.
func (s *sandbox) experiment() (*experiment.Journal, map[string]*trial.Run) {
	s.t.Helper()
	dir := filepath.Join(s.state, "pgtlb", "runs")
	j, err := experiment.Open(dir, "last")
	if err != nil {
		s.t.Fatal(err)
	}
	runs := map[string]*trial.Run{}
	for _, m := range j.Made {
		if m.Run == "" {
			continue
		}
		if runs[m.Run], err = trial.Read(filepath.Join(dir, m.Run+trial.Extension)); err != nil {
			s.t.Fatal(err)
		}
	}
	return j, runs
}

// check looks at what every finished experiment must have: all steps well made, in
// order, each run with its step, the value that its sessions saw, and what went on
// beside it. A step that was interrupted, and made when it went on, is left out.
func (s *sandbox) check(steps int) *experiment.Journal {
	s.t.Helper()
	j, runs := s.experiment()
	made := slices.DeleteFunc(slices.Clone(j.Made), func(m experiment.Made) bool { return m.State == experiment.Interrupted })
	if len(made) != steps || len(runs) < steps || j.End == nil || j.End.Reason != "finished" {
		s.t.Fatalf("%d of %d steps, %d runs, end %+v: %+v", len(j.Made), steps, len(runs), j.End, j.Made)
	}
	for i, m := range made {
		run := runs[m.Run]
		if run == nil {
			s.t.Fatalf("step %d has no run: %+v", i+1, m)
		}
		step := run.Meta.Step
		if m.State != experiment.Done || m.Primary <= 0 || step == nil || step.Experiment != j.Plan.Name || step.Position != i+1 || m.Step.Position != i+1 {
			s.t.Fatalf("step %d: %+v, run %+v", i+1, m, step)
		}
		arm := j.Plan.Arms()[m.Step.Arm]
		if step.Arm != arm || !strings.HasPrefix(step.Seen, j.Plan.Values[m.Step.Arm]) {
			s.t.Errorf("step %d: arm %q, seen %q", i+1, step.Arm, step.Seen)
		}
		if tps := trial.ArmOf(run).Summary.Get("tps"); tps.Value != m.Primary {
			s.t.Errorf("step %d: %v TPS in the journal, %v in the run", i+1, m.Primary, tps.Value)
		}
		sessions, command := false, false
		for _, b := range run.Background {
			// A machine that is too busy for so short a run says so instead.
			sessions = sessions || b.Sessions != nil && b.Active != nil || strings.Contains(b.Missing, "sessions: ")
			command = command || b.Command != nil && (b.Command.Error != "" || b.Command.Exit == 3 && b.Command.Lines == 2 && slices.Equal(b.Command.First, []string{"one", "two"}))
		}
		if !sessions || !command {
			s.t.Errorf("step %d: beside it %+v", i+1, run.Background)
		}
	}
	return j
}

func TestExperimentInALab(t *testing.T) {
	if testing.Short() {
		t.Skip("need: more time than -short leaves")
	}
	box := newSandbox(t)
	got := box.run(inLab(t, "shared_buffers=32MB,64MB")...) // with restarts
	if got.code != exitDone || !strings.Contains(got.err, "2 identical runs (") || !strings.Contains(got.err, "step  4 of 4") ||
		!strings.Contains(got.err, "going on with the 1 pair") || strings.Count(got.err, "step  1 of 4") != 1 {
		t.Fatalf("exit code %d\n%s%s", got.code, got.err, got.out)
	}
	box.check(4)
	box.nothingLeft()
}

// TestExperimentRefusals: nothing is made that could be left behind.
func TestExperimentRefusals(t *testing.T) {
	if testing.Short() {
		t.Skip("need: more time than -short leaves")
	}
	box := newSandbox(t)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"experiment"}, "--vary: name the setting"},
		{quick("work_mem=4MB"), "at least two values"},
		{quick("work_mem=4MB,8MB"), "--allow-load"},
		{inLab(t, "work_mem=4MB,8MB", "--order", "aabb"), "abba or random"},
		{inLab(t, "work_mem=4MB,8MB", "--detect", "much"), "--detect much"},
		{inLab(t, "work_mem=4MB,8MB", "--restart-cmd", "true"), "--restart-cmd"},
		{inLab(t, "work_mem=4MB,8MB", "--name", "my own"), "--name: name \"my own\""},
		{inLab(t, "shared_buffers=64MB,7TB"), "--vary shared_buffers=7TB: shared_buffers of 7 TB do not fit into the "},
		{inLab(t, "shared_bufers=64MB,128MB"), "did you mean shared_buffers?"},
		{inLab(t, "huge_pages=3kB,2MB"), "page size \"3kB\": choose 4kB, 2MB or 1GB"},
		{inLab(t, "bytea_output=hex,ascii"), "Available values: escape, hex"},
		{inLab(t, "block_size=4096,8192"), "it is fixed when the server is built"},
		{inLab(t, "work_mem=4MB,4096kB"), "4MB and 4096kB are the same value of work_mem"},
	} {
		got := box.run(c.args...)
		if got.code != exitUsage || !strings.Contains(got.err, c.says) {
			t.Errorf("%v: exit code %d, not %q:\n%s%s", c.args, got.code, c.says, got.err, got.out)
		}
		if strings.Contains(got.err, "initdb") {
			t.Errorf("%v: a cluster was made before:\n%s", c.args, got.err)
		}
	}
	if names, err := experiment.Names(filepath.Join(box.state, "pgtlb", "runs")); err != nil || len(names) > 0 {
		t.Errorf("left: %v %v", names, err)
	}
	box.nothingLeft()
}

// TestExperimentsOfTheScreenCanBeGoneOnWith: the arguments that the session writes for
// them are the verb's.
func TestExperimentsOfTheScreenCanBeGoneOnWith(t *testing.T) {
	var e experimentFlags
	cmd := (&app{args: []string{"experiment"}}).experimentCommand(&e)
	args := []string{"--vary", "huge_pages=4kB,2MB", "--scenario", "point-select", "-c", "4", "--measure", "25s", "--warmup", "auto", "--settle", "0s",
		"--pairs", "6", "--order", "abba", "--seed", "1", "--random-seed", "7", "--detect", "3", "--margin", "1", "--step-limit", "10m0s", "--param", "rows=2000",
		"-j", "1", "-M", "simple", "-R", "100", "--background-cmd", "true", "--restart-cmd", "x", "--lab", "--pg-bindir", "/b", "--pages", "4kB",
		"--shared-buffers", "32MB", "--os-user", "postgres", "--reserve", "--set", "jit=on", "--allow-load", "-h", "/s", "-p", "5432", "-U", "u", "-d", "db"}
	if err := cmd.ParseFlags(args); err != nil || len(cmd.Flags().Args()) > 0 {
		t.Fatal(err, cmd.Flags().Args())
	}
	p, err := e.plan(&app{args: []string{"experiment"}})
	if err != nil || p.Detect != 0.03 || p.Margin != 0.01 || p.Limit != 10*time.Minute {
		t.Errorf("%+v %v", p, err)
	}
	w, err := e.what(&trial.LabOptions{Cluster: lab.Options{Settings: map[string]string{}}})
	if err == nil {
		t.Error("a table of 0 rows is taken")
	}
	w, err = e.what(&trial.LabOptions{Rows: 1, Seed: e.lab.seed, Cluster: lab.Options{Settings: map[string]string{}}})
	if err != nil || w.Values["rows"] != 2000 || w.Clients != 4 || w.Threads != 1 || w.Rate != 100 || w.Mode == nil || w.Seed != 7 {
		t.Errorf("%+v %v", w, err)
	}
}

// signalAt runs a command and sends it a signal once a line of its standard error
// begins so. It returns all that it said there.
func signalAt(t *testing.T, cmd *exec.Cmd, beginning string, sig os.Signal) string {
	t.Helper()
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	all := ""
	for lines := bufio.NewScanner(said); lines.Scan(); {
		all += lines.Text() + "\n"
		if strings.HasPrefix(lines.Text(), beginning) {
			_ = cmd.Process.Signal(sig)
		}
	}
	_ = cmd.Wait() // its exit code tells
	return all
}

// TestExperimentKilled: kill -9 in the middle leaves the finished steps, and going
// on makes the others.
func TestExperimentKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("need: more time than -short leaves")
	}
	box := newSandbox(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	seen := signalAt(t, box.command(ctx, inLab(t, "huge_pages=4kB,4kB")...), "step  2 of 4", syscall.SIGKILL)
	if got := box.run("experiment", "--list"); !strings.Contains(got.out, "2 of 4") || !strings.Contains(got.out, "ended by a crash; --resume goes on") {
		t.Errorf("%s%s", got.err, got.out)
	}
	j, _ := box.experiment()
	if len(j.Made) != 2 || j.End != nil || len(j.Left()) != 2 {
		t.Fatalf("after the kill: %+v\n%s", j, seen)
	}
	first := slices.Clone(j.Made)
	got := box.run("experiment", "--resume", "last")
	if got.code != exitDone || !strings.Contains(got.err, "2 steps made before") || !strings.Contains(got.err, "step  3 of 4") {
		t.Fatalf("exit code %d\n%s%s", got.code, got.err, got.out)
	}
	again := box.check(4)
	if got := box.run("experiment", "--resume", again.Plan.Name, "--json"); got.code != exitDone || !strings.Contains(got.err, "nothing is left to be made") ||
		!strings.Contains(got.out, `"left":0`) || !strings.Contains(got.out, `"metric":"tps"`) {
		t.Errorf("exit code %d\n%s%s", got.code, got.err, got.out)
	}
	if got := box.run("experiment", "--list"); got.code != exitDone || !strings.Contains(got.out, again.Plan.Name) || !strings.Contains(got.out, "4 of 4") {
		t.Errorf("exit code %d\n%s%s", got.code, got.err, got.out)
	}
	if again.Made[0].Run != first[0].Run || again.Made[1].Run != first[1].Run {
		t.Errorf("the steps made before: %+v, were %+v", again.Made[:2], first)
	}
	box.nothingLeft()
}

// own is a server that the test starts, and can restart with a script.
type own struct {
	*sandbox
	data, restart string
	server        []string // connection flags
	dsn           string
}

// newOwn starts a server as the account postgres, or this one where it is not
// root.
func newOwn(t *testing.T) *own {
	t.Helper()
	bindir := debianBindir(t)
	dir, err := os.MkdirTemp("/tmp", "pgtlb-own-")
	if err != nil {
		t.Fatal(err)
	}
	as := ""
	if os.Geteuid() == 0 {
		as = "runuser -u postgres -- "
		if out, err := exec.Command("chown", "postgres", dir).CombinedOutput(); err != nil {
			t.Skipf("need: the account postgres: %s", out)
		}
	}
	shell := func(text string) {
		t.Helper()
		cmd := exec.Command("/bin/sh", "-c", text)
		cmd.Dir = "/"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", text, err, out)
		}
	}
	data := filepath.Join(dir, "data")
	ctl := as + filepath.Join(bindir, "pg_ctl") + " -D " + data + " -w -s "
	shell(as + filepath.Join(bindir, "initdb") + " -D " + data + " -U postgres -A trust --no-sync >/dev/null")
	shell(fmt.Sprintf("printf \"listen_addresses = ''\\nunix_socket_directories = '%s'\\nport = 5455\\nfsync = off\\nshared_buffers = 48MB\\nmax_connections = 40\\n\" >>%s/postgresql.conf", dir, data))
	log := " -l " + filepath.Join(dir, "log")
	shell(ctl + "start" + log)
	t.Cleanup(func() {
		shell(ctl + "-m immediate stop")
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return &own{newSandbox(t), data, ctl + "-m fast restart" + log, []string{"-h", dir, "-p", "5455", "-U", "postgres", "postgres"},
		"host=" + dir + " port=5455 user=postgres dbname=postgres"}
}

func (o *own) exec(sql string) string {
	o.t.Helper()
	conn, err := pgx.Connect(o.t.Context(), o.dsn)
	if err != nil {
		o.t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var s string
	if err := conn.QueryRow(o.t.Context(), sql, pgx.QueryExecModeSimpleProtocol).Scan(&s); err != nil && !strings.Contains(err.Error(), "no rows") {
		o.t.Fatalf("%s: %v", sql, err)
	}
	return s
}

func (o *own) auto() string {
	o.t.Helper()
	b, err := os.ReadFile(filepath.Join(o.data, "postgresql.auto.conf"))
	if err != nil {
		o.t.Fatal(err)
	}
	return string(b)
}

// TestExperimentOnAServerOfOthers: settings are put back as they were, after the end and
// after a crash, and a restart is made by the user's command only.
func TestExperimentOnAServerOfOthers(t *testing.T) {
	if testing.Short() {
		t.Skip("need: more time than -short leaves")
	}
	o := newOwn(t)
	o.exec("ALTER SYSTEM SET shared_buffers = '40MB'")
	before := o.auto()
	on := func(vary string, more ...string) []string {
		return quick(vary, slices.Concat([]string{"--allow-load"}, more, o.server)...)
	}
	runs := filepath.Join(o.state, "pgtlb", "runs")

	// Refused before anything is made.
	for _, c := range []struct {
		args []string
		says string
	}{
		{on("shared_buffers=32MB,64MB", "-y"), "--restart-cmd"},
		{on("shared_buffers=32MB,64MB", "--restart-cmd", o.restart), "there is no terminal to ask on"},
		{on("no_such_thing=1,2", "-y"), "the server has no setting of that name"},
		{on("bgwriter_dely=10ms,20ms", "-y"), "did you mean bgwriter_delay?"},
		{on("shared_buffers=1GB,7TB", "-y", "--restart-cmd", o.restart), "--vary shared_buffers=7TB: this machine has "},
		{on("block_size=4096,8192", "-y"), "fixed when the server is built"},
		{on("work_mem=4MB,lots", "-y"), "work_mem = lots: that is not a number"},
		{on("huge_pages=4kB,3MB", "-y"), "page size \"3MB\""},
		{on("bgwriter_delay=10ms,1min", "-y"), "bgwriter_delay = 1min: it is between 10 and 10000"},
	} {
		if got := o.run(c.args...); got.code != exitUsage || !strings.Contains(got.err, c.says) {
			t.Errorf("%v: exit code %d\n%s", c.args, got.code, got.err)
		}
	}
	if names, _ := experiment.Names(runs); len(names) > 0 || o.auto() != before {
		t.Fatalf("left: %v\n%s", names, o.auto())
	}

	t.Run("restart", func(t *testing.T) {
		held, err := pgx.Connect(t.Context(), o.dsn+" application_name=shop")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = held.Close(context.Background()) }()
		got := o.run(on("shared_buffers=32MB,64MB", "-y", "--restart-cmd", o.restart)...)
		if got.code != exitDone || !strings.Contains(got.err, "restarts: 5, one before each step") || !strings.Contains(got.err, "1 of shop in postgres") {
			t.Fatalf("exit code %d\n%s%s", got.code, got.err, got.out)
		}
		o.check(4)
		if got := o.exec("SHOW shared_buffers"); o.auto() != before || got != "40MB" {
			t.Errorf("not put back: %s\n%s", got, o.auto())
		}
	})

	t.Run("a command that restarts nothing", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := o.command(ctx, on("shared_buffers=32MB,64MB", "-y", "--restart-cmd", "true")...)
		said := signalAt(t, cmd, "waiting for the server to be restarted: it still answers as before", os.Interrupt)
		if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || !strings.Contains(said, "the server was not restarted: it runs as before, and its settings are put back") ||
			!strings.Contains(said, "0 of 4 steps are made and kept; pgtlb experiment --resume ") {
			t.Errorf("exit code %d\n%s", code, said)
		}
		if got := o.exec("SHOW shared_buffers"); o.auto() != before || got != "40MB" {
			t.Errorf("not put back: %s\n%s", got, o.auto())
		}
	})

	t.Run("a role's own setting", func(t *testing.T) {
		o.exec("ALTER ROLE postgres SET work_mem = '1MB'")
		defer o.exec("ALTER ROLE postgres RESET work_mem")
		got := o.run(on("work_mem=4MB,8MB", "-y")...)
		if got.code != exitDone || !strings.Contains(got.err, "the role's own setting (ALTER ROLE … SET)") {
			t.Fatalf("exit code %d\n%s%s", got.code, got.err, got.out)
		}
		o.check(4) // what counts is what the sessions say
	})

	t.Run("killed", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		signalAt(t, o.command(ctx, on("bgwriter_delay=200ms,10ms", "-y")...), "step  2 of 4", syscall.SIGKILL)
		if o.auto() == before {
			t.Fatal("it was killed too late: nothing is changed")
		}
		// On another server it does not go on; what was left is put back all the same.
		j, _ := o.experiment()
		file := filepath.Join(runs, "experiments", j.Plan.Name+".ndjson")
		whole, err := os.ReadFile(file)
		if err != nil || j.Plan.System == "" {
			t.Fatal(err, j.Plan)
		}
		if err := os.WriteFile(file, []byte(strings.Replace(string(whole), `"`+j.Plan.System+`"`, `"1"`, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		got := o.run("experiment", "--resume", "last")
		if got.code != exitUsage || !strings.Contains(got.err, "had ended without putting its settings back: that is done now") ||
			!strings.Contains(got.err, "was begun on another server") || o.auto() != before {
			t.Fatalf("exit code %d\n%s%s", got.code, got.err, got.out)
		}
		if err := os.WriteFile(file, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		// The yes of then is none to what a restart cuts off now.
		if got = o.run("experiment", "--resume", "last"); got.code != exitUsage || !strings.Contains(got.err, "-y answers yes") || o.auto() != before {
			t.Fatalf("exit code %d\n%s%s", got.code, got.err, got.out)
		}
		if got = o.run("experiment", "--resume", "last", "-y"); got.code != exitDone {
			t.Fatalf("exit code %d\n%s%s", got.code, got.err, got.out)
		}
		o.check(4)
		if o.auto() != before {
			t.Errorf("not put back:\n%s", o.auto())
		}
	})
	if left, _ := filepath.Glob(filepath.Join(runs, "experiments", "*.undo.json")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestExperimentInterrupted: Ctrl-C keeps the steps that were made, the JSON has them,
// and going on makes the others. It varies what the load's sessions set.
func TestExperimentInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("need: more time than -short leaves")
	}
	box := newSandbox(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := box.command(ctx, inLab(t, "synchronous_commit=on,off", "--json", "--measure", "2s")...)
	var out strings.Builder
	cmd.Stdout = &out
	all := signalAt(t, cmd, "step  2 of 4", os.Interrupt)
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || !strings.Contains(all, "2 of 4 steps are made and kept; pgtlb experiment --resume ") {
		t.Errorf("exit code %d\n%s", code, all)
	}
	var got struct {
		Experiment string
		Plan       experiment.Plan
		Steps      []experiment.Made
		Left       int
		Rows       []any
	}
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil || got.Plan.Factor != "synchronous_commit" || got.Left != 2 || len(got.Steps) < 2 || got.Experiment != got.Plan.Name {
		t.Errorf("%v %+v\n%s", err, got, out.String())
	}
	if again := box.run("experiment", "--resume", "last"); again.code != exitDone || !strings.Contains(again.err, "step  3 of 4") {
		t.Fatalf("going on: exit code %d\n%s%s", again.code, again.err, again.out)
	}
	box.check(4)
	box.nothingLeft()
}
