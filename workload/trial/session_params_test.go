package trial

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pgtlb/probes"
	"pgtlb/workload"
)

// paramOf is a parameter of a load as a screen sees it.
func paramOf(t *testing.T, l LoadState, name string) ParamState {
	t.Helper()
	for _, p := range l.Params {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("%s has no parameter %s: %+v", l.Name, name, l.Params)
	return ParamState{}
}

// TestSetParam: what is out of range is told and changes nothing.
func TestSetParam(t *testing.T) {
	const join = 2
	for _, c := range []struct {
		name, value, want string
		error             string // a part of the message; empty where it is taken
	}{
		{"rows", "5000", "5000", ""},
		{"rows", " 5000 ", "5000", ""},
		{"rows", "", "2000", ""},
		{"rows", "100", "2000", "join-aggregate: rows must be at least 101"},
		{"rows", "99999999999", "2000", "rows must be at most 2147483647"},
		{"rows", "many", "2000", `rows must be a whole number, not "many"`},
		{"rows", "1e4", "2000", `rows must be a whole number, not "1e4"`},
		{"data_seed", "-3", "-3", ""},
		{"clients", "92", "92", ""},
		{"clients", "95", "8", "clients must be at most 94: max_connections"},
		{"clients", "0", "8", "clients must be at least 1"},
		{"threads", "4", "4", ""},
		{"threads", "-1", "0", "threads must be at least 0"},
		{"protocol", "simple", "simple", ""},
		{"protocol", "fast", "prepared", "protocol must be one of simple, extended, prepared"},
		{"rate", "1500.5", "1500.5", ""},
		{"rate", "-1", "0", "rate must be at least 0"},
		{"rate", "NaN", "0", `rate must be a number, not "NaN"`},
		{"duration", "2.5", "2.5", ""},
		{"duration", "1e30", "0", "duration must be at most 1000000000"},
		{"apdex_t", "20", "20", ""},
		{"apdex_t", "0", "500", "apdex_t must be at least 0.001"},
		{"colour", "red", "", `join-aggregate: there is no parameter "colour"`},
	} {
		s := NewSession(Options{Mode: InLab, Lab: LabOptions{Rows: 2000, Seed: 7}})
		s.st.Server.MaxConnections = 100
		s.setParam(SetParam{Key: join, Name: c.name, Value: c.value})
		said := s.st.Notices[len(s.st.Notices)-1]
		if said.Error != (c.error != "") || !strings.Contains(said.Text, c.error) {
			t.Errorf("%s = %q: %+v, want an error with %q", c.name, c.value, said, c.error)
		}
		if c.name == "colour" {
			continue
		}
		st := s.loads[join-1].state(time.Now(), 100)
		if a := st.Answered; a.N != 1 || a.Name != c.name || a.Value != c.value || (a.Why != "") != (c.error != "") {
			t.Errorf("%s = %q: the answer is %+v", c.name, c.value, a)
		}
		if got := paramOf(t, st, c.name).Value; got != c.want {
			t.Errorf("%s = %q: it is %q, want %q", c.name, c.value, got, c.want)
		}
	}
}

// TestSetParamReachesTheDriver: what is set is what is driven and recorded.
func TestSetParamReachesTheDriver(t *testing.T) {
	s := NewSession(Options{Mode: InLab, Lab: LabOptions{Rows: 2000, Seed: 7}})
	for name, value := range map[string]string{"rows": "3000", "clients": "5", "threads": "2", "protocol": "extended", "rate": "70", "duration": "9"} {
		s.setParam(SetParam{Key: 1, Name: name, Value: value})
	}
	what := s.loads[0].what
	m, err := loadMeta(&what)
	if err != nil {
		t.Fatal(err)
	}
	if m.Params["rows"] != 3000 || m.Params["data_seed"] != 7 || m.Clients != 5 || m.Threads != 2 || m.Mode != "extended" || m.Rate != 70 || m.DurationS != 9 {
		t.Errorf("%+v", m)
	}
	if m.Seed != 7 {
		t.Errorf("the seed of the clients is %d now", m.Seed)
	}
}

// TestARunningLoadKeepsItsParameters and says so.
func TestARunningLoadKeepsItsParameters(t *testing.T) {
	for _, status := range []LoadStatus{LoadStarting, LoadRunning, LoadStopping} {
		s := NewSession(Options{Mode: InLab, Lab: LabOptions{Rows: 2000, Seed: 7}})
		s.loads[0].status = status
		s.setParam(SetParam{Key: 1, Name: "clients", Value: "5"})
		if n := s.st.Notices; len(n) != 1 || !n[0].Error || !strings.Contains(n[0].Text, "stop it") || s.loads[0].what.Clients != 8 {
			t.Errorf("%s: %+v, %d clients", status, n, s.loads[0].what.Clients)
		}
	}
}

// TestLoadsOnOtherDataDoNotRunTogether: making one's data would replace the
// tables that the other works on.
func TestLoadsOnOtherDataDoNotRunTogether(t *testing.T) {
	s := NewSession(Options{Mode: InLab, Lab: LabOptions{Rows: 2000, Seed: 7}})
	s.loads[0].status = LoadRunning
	if err := s.startable(s.loads[1]); err != nil {
		t.Errorf("on the same data: %v", err)
	}
	s.setParam(SetParam{Key: 2, Name: "rows", Value: "3000"})
	if err := s.startable(s.loads[1]); err == nil || !strings.Contains(err.Error(), "point-select") {
		t.Errorf("on other rows: %v", err)
	}
	s.loads[0].status = LoadStopped
	if err := s.startable(s.loads[1]); err != nil {
		t.Errorf("alone: %v", err)
	}
	s.loads[4].status = LoadRunning // sysbench's tables are shared too
	s.setParam(SetParam{Key: 6, Name: "table_size", Value: "777"})
	if err := s.startable(s.loads[5]); err == nil || !strings.Contains(err.Error(), "sbtest-point-select") {
		t.Errorf("on other tables of sysbench's: %v", err)
	}
}

// TestScenariosRunTogether as they are: none needs other data than another one.
func TestScenariosRunTogether(t *testing.T) {
	s := NewSession(Options{Mode: InLab, Lab: LabOptions{Rows: 200_000, Seed: 7}})
	all := s.loads[:len(s.loads)-1] // custom has no script yet
	for _, running := range all {
		running.status = LoadRunning
		for _, l := range all {
			if err := s.startable(l); err != nil {
				t.Errorf("%s while %s runs: %v", l.what.Scenario.Name, running.what.Scenario.Name, err)
			}
		}
		running.status = LoadStopped
	}
}

// TestEveryLoadShowsItself: script and parameters of each scenario, none of which
// has a parameter that every load has.
func TestEveryLoadShowsItself(t *testing.T) {
	s := NewSession(Options{Mode: InLab, Lab: LabOptions{Rows: 2000, Seed: 7}})
	if got, want := len(s.loads), len(workload.List())+1; got != want {
		t.Fatalf("%d loads, want every scenario and custom: %d", got, want)
	}
	for i, l := range s.loads {
		st := l.state(time.Now(), 0)
		names := map[string]bool{}
		for _, p := range st.Params {
			if names[p.Name] || p.Meaning == "" {
				t.Errorf("%s: parameter %+v", st.Name, p)
			}
			names[p.Name] = true
		}
		custom := i == len(s.loads)-1
		if custom != (st.Name == "custom") || custom != (st.Script == "") || custom != names["script"] {
			t.Errorf("%d %s: script %q, parameters %v", st.Key, st.Name, st.Script, names)
		}
	}
	if st := s.loads[0].state(time.Now(), 0); !strings.Contains(st.Script, "SELECT * FROM test_hp_table") || paramOf(t, st, "rows").Default != "2000" {
		t.Errorf("%q %+v", st.Script, st.Params)
	}
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCustomScenario(t *testing.T) {
	a, b := write(t, "a.sql", "SELECT 1;\n"), write(t, "b.sql", "\\set x 1\nSELECT :x;\n")
	sc, err := customScenario([]string{a + "@3", b})
	if err != nil {
		t.Fatal(err)
	}
	l := workload.Load{Scenario: sc}
	if got, want := scriptText(&l), "-- "+a+", weight 3\nSELECT 1;\n-- "+b+", weight 1\n\\set x 1\nSELECT :x;\n"; got != want {
		t.Errorf("the text is %q, want %q", got, want)
	}
	for name, specs := range map[string][]string{
		"no such file":       {filepath.Join(t.TempDir(), "none.sql")},
		"not a regular file": {t.TempDir()},
		"invalid weight":     {a + "@much"},
		"must not be zero":   {a + "@0"},
		"empty command":      {write(t, "empty.sql", "-- nothing\n")},
		"more than a script": {write(t, "large.sql", strings.Repeat("SELECT 1;\n", 200_000))},
	} {
		if _, err := customScenario(specs); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAFaultInAScriptIsShown with line, column and spot, and the scripts before
// stay.
func TestAFaultInAScriptIsShown(t *testing.T) {
	good, bad := write(t, "good.sql", "SELECT 1;\n"), write(t, "bad.sql", "SELECT 1;\n\\set x 1 +\n")
	s := NewSession(Options{Mode: InLab})
	l := s.loads[len(s.loads)-1]
	choose := func(file string) LoadState {
		sc, err := customScenario([]string{file})
		s.scriptsChosen(l, SetParam{Key: l.key, Name: paramScript, Value: file}, sc, err)
		return l.state(time.Now(), 0)
	}
	if err := s.startable(l); err == nil || !strings.Contains(err.Error(), "choose a script file") {
		t.Errorf("without a script: %v", err)
	}
	if st := choose(good); st.Script != "SELECT 1;\n" || paramOf(t, st, "script").Value != good || len(st.Fault) > 0 {
		t.Errorf("%+v", st)
	}
	st := choose(bad)
	if len(st.Fault) != 3 || !strings.HasPrefix(st.Fault[0], bad+":2:") || st.Fault[1] != `\set x 1 +` || !strings.Contains(st.Fault[2], "^ error found here") {
		t.Errorf("the fault: %q", st.Fault)
	}
	if st.Script != "SELECT 1;\n" || paramOf(t, st, "script").Value != good {
		t.Errorf("a faulty script took the place of the good one: %+v", st)
	}
	if n := s.st.Notices; !n[len(n)-1].Error || !strings.Contains(n[len(n)-1].Text, bad+":2:") {
		t.Errorf("notices %+v", n)
	}
	if a := st.Answered; a.N != 2 || a.Value != bad || !strings.HasPrefix(a.Why, bad+":2:") {
		t.Errorf("the answer is %+v", a)
	}
	if st := choose(good); len(st.Fault) > 0 {
		t.Errorf("the fault stays: %q", st.Fault)
	}
}

// TestAllowedLoad: on a server that pgtlb did not make a load runs after a yes
// only, and the question names server, database, clients and size.
func TestAllowedLoad(t *testing.T) {
	cluster := startCluster(t)
	cfg, err := pgx.ParseConfig(cluster.DSN())
	if err != nil {
		t.Fatal(err)
	}
	store, err := OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	x := runSession(t, Options{Mode: Watching, AllowLoad: true, Store: store, Interval: 200 * time.Millisecond, Roots: probes.SystemRoots(),
		Config: cfg, Scope: probes.PerfServer})
	x.until("the server", func(st *State) bool { return st.Phase == Ready && len(st.History) > 2 })
	x.s.Do(SetParam{Key: 1, Name: "rows", Value: "3000"})
	x.s.Do(SetParam{Key: 1, Name: "clients", Value: "3"})
	x.s.Do(SetParam{Key: 1, Name: "rate", Value: "50"})
	x.s.Do(ToggleLoad{Key: 1})
	st := x.until("the question", func(st *State) bool { return st.Question != nil })
	text := strings.Join(append(st.Question.Detail, st.Question.Text, st.Question.Yes), "\n")
	for _, want := range []string{"point-select", st.Server.Where, "database: postgres", "3 connections; the server allows", "rows 3,000", ", about ", "its tables in schema pgtlb", "pg_prewarm and pg_buffercache", "--cleanup"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the question:\n%s", want, text)
		}
	}
	x.s.Do(Answer{ID: st.Question.ID})
	x.status(1, LoadStopped)
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	var made bool
	if err := conn.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'pgtlb')").Scan(&made); err != nil || made {
		t.Errorf("after a no the schema exists: %v, %v", made, err)
	}

	for range 12 {
		other, err := pgx.ConnectConfig(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = other.Close(t.Context()) }()
	}
	most := strconv.Itoa(clientLimit(st.Server.MaxConnections))
	x.s.Do(SetParam{Key: 2, Name: "clients", Value: most})
	x.s.Do(ToggleLoad{Key: 2})
	st = x.until("the refusal", func(st *State) bool {
		return slices.ContainsFunc(st.Notices, func(n Notice) bool {
			return n.Error && strings.Contains(n.Text, "join-aggregate: "+most+" clients do not fit, there is room for ")
		})
	})
	x.status(2, LoadStopped)

	custom := len(st.Loads)
	x.s.Do(SetParam{Key: custom, Name: "script", Value: write(t, "one.sql", "SELECT 1;\n")})
	x.until("the script", func(st *State) bool { return st.Loads[custom-1].Script != "" })
	x.s.Do(SetParam{Key: custom, Name: "rate", Value: "50"})
	for _, key := range []int{1, custom} {
		x.s.Do(ToggleLoad{Key: key})
		st = x.until("the question", func(st *State) bool { return st.Question != nil })
		x.s.Do(Answer{ID: st.Question.ID, Yes: true})
		x.status(key, LoadRunning)
	}
	x.s.Do(ToggleLoad{Key: 1})
	x.status(1, LoadStopped)
	x.s.Do(ToggleLoad{Key: 1})
	first := x.until("the question", func(st *State) bool { return st.Question != nil }).Question.ID
	x.s.Do(ToggleLoad{Key: 1}) // stopped before the answer, and started anew
	x.until("the question to go", func(st *State) bool { return st.Question == nil })
	x.s.Do(SetParam{Key: 1, Name: "clients", Value: "2"})
	x.s.Do(ToggleLoad{Key: 1})
	st = x.until("a question of its own", func(st *State) bool { return st.Question != nil && st.Question.ID != first })
	if !strings.Contains(st.Question.Yes, "2 clients") {
		t.Errorf("the question is %+v", st.Question)
	}
	x.s.Do(Answer{ID: st.Question.ID, Yes: true})
	x.status(1, LoadRunning)
	st = x.until("both to be measured", func(st *State) bool {
		return !slices.ContainsFunc([]int{1, custom}, func(key int) bool {
			l := st.Loads[key-1]
			return l.Apdex == nil || !st.Now().Of(probes.TPS, l.Name).OK()
		})
	})
	if a := st.Loads[custom-1].Apdex; a.TMS != 500 || a.Score <= 0 || a.Score > 1 || a.Rating == "" {
		t.Errorf("Apdex %+v", a)
	}
	if st.Dataset == nil || st.Dataset.Rows != 3000 {
		t.Errorf("dataset %+v", st.Dataset)
	}
}
