package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pgtlb/workload/lab"
	"pgtlb/workload/trial"
)

// foreign is a server that the pgtlb under test did not start.
type foreign struct {
	*sandbox
	pgbench string
	server  []string // connection flags
	dsn     string
}

func newForeign(t *testing.T) *foreign {
	t.Helper()
	bindir := labBindir(t)
	pgbench := filepath.Join(bindir, "pgbench")
	if _, err := os.Stat(pgbench); err != nil {
		t.Skipf("need: pgbench beside the server programs: %v", err)
	}
	parent, err := os.MkdirTemp("/tmp", "pgtlb-foreign-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(parent) })
	server, err := lab.Find(t.Context(), bindir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := lab.Start(t.Context(), lab.Options{Server: server, Parent: parent, SharedBuffers: "128MB",
		Settings: map[string]string{"max_connections": "40"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	cfg, err := pgx.ParseConfig(c.DSN())
	if err != nil {
		t.Fatal(err)
	}
	return &foreign{newSandbox(t), pgbench,
		[]string{"-h", cfg.Host, "-p", strconv.Itoa(int(cfg.Port)), "-U", cfg.User, "postgres"}, c.DSN()}
}

// in has a subtest report to t until the function returned is called.
func (f *foreign) in(t *testing.T) func() {
	was := f.t
	f.t = t
	return func() { f.t = was }
}

// ours runs pgtlb bench with a yes, theirs pgbench, with the same arguments.
func (f *foreign) ours(args ...string) result {
	return f.run(slices.Concat([]string{"bench", "--allow-load", "-y"}, args, f.server)...)
}

func (f *foreign) theirs(args ...string) result {
	f.t.Helper()
	cmd := exec.CommandContext(f.t.Context(), f.pgbench, slices.Concat(args, f.server)...)
	cmd.Dir = f.work
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the caller looks at its exit code
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

func (f *foreign) one(sql string) string {
	f.t.Helper()
	conn, err := pgx.Connect(f.t.Context(), f.dsn)
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var s string
	if err := conn.QueryRow(f.t.Context(), sql).Scan(&s); err != nil {
		f.t.Fatalf("%s: %v", sql, err)
	}
	return s
}

func (f *foreign) file(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.work, name), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// TestBenchInPlaceOfPgbench drives a server that pgtlb did not start.
func TestBenchInPlaceOfPgbench(t *testing.T) {
	if testing.Short() {
		t.Skip("need: more time than -short leaves")
	}
	f := newForeign(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *foreign)
	}{
		{"tables", testBenchTables}, // first: the others need them
		{"text", testBenchText},
		{"refusals", testBenchRefusals},
		{"asking", testBenchAsking},
		{"progress and log", testBenchProgressLog},
		{"json", testBenchJSON},
		{"aborted clients", testBenchAborted},
		{"interrupted", testBenchInterrupted},
		{"scenario", testBenchScenario},
		{"cleanup", testBenchCleanup}, // last: what the others need is gone then
	} {
		t.Run(test.name, func(t *testing.T) {
			defer f.in(t)()
			test.run(t, f)
		})
	}
	f.nothingLeft()
}

func testBenchTables(t *testing.T, f *foreign) {
	if r := f.theirs("-i", "-q", "-s", "1"); r.code != 0 {
		t.Fatal(r.err)
	}
	f.one("WITH i AS (INSERT INTO pgbench_history (tid) VALUES (1) RETURNING 1) SELECT 'a row'")
	refused := f.run(slices.Concat([]string{"bench", "-i", "--allow-load"}, f.server)...)
	for _, want := range []string{"public.pgbench_accounts", "did NOT make", "-y answers yes"} {
		if !strings.Contains(refused.err, want) {
			t.Errorf("the question does not say %q:\n%s", want, refused.err)
		}
	}
	if refused.code != exitUsage || f.one("SELECT count(*)::text FROM pgbench_history") != "1" {
		t.Errorf("refused with %d, and yet it was done", refused.code)
	}
	if r := f.ours("-i", "-s", "2"); r.code != exitDone || !strings.Contains(r.err, "done in") {
		t.Fatalf("exit code %d\n%s", r.code, r.err)
	}
	if n := f.one("SELECT count(*)::text FROM pgbench_accounts"); n != "200000" {
		t.Errorf("%s accounts", n)
	}
	if m := f.one("SELECT obj_description('pgbench_accounts'::regclass)"); m != "pgtlb bench -i: scale 2" {
		t.Errorf("the mark is %q", m)
	}
}

// figures is what differs between two runs of the same.
var figures = regexp.MustCompile(`\d+(\.\d+)?`)

// shape is a result text as far as pgbench has it, without figures.
func shape(out string) []string {
	var lines []string
	for l := range strings.Lines(out) {
		l = strings.Join(strings.Fields(figures.ReplaceAllString(l, "N")), " ")
		if strings.HasPrefix(l, "pgbench (") || since18(l) {
			continue
		}
		l = strings.Replace(l, " transactions (N% of total, tps = N)", " transactions (N% of total)", 1) // until 17
		if strings.HasPrefix(l, "latency min") || strings.HasPrefix(l, "latency: n/a") {
			break
		}
		lines = append(lines, l)
	}
	// Where pgbench does not measure the standard deviation, it follows behind.
	if n := len(lines); n > 1 && strings.HasPrefix(lines[n-1], "latency stddev") && !strings.HasPrefix(lines[n-2], "latency average") {
		lines = lines[:n-1]
	}
	return lines
}

// since18 tells of lines that pgbench has from 18 on.
func since18(line string) bool {
	return strings.HasSuffix(line, "number of other failures: N (N%)") || strings.HasPrefix(line, "- number of transactions actually processed")
}

func testBenchText(t *testing.T, f *foreign) {
	f.file("a.sql", "\\set aid random(1, 100000 * :scale)\nSELECT abalance\nFROM pgbench_accounts WHERE aid = :aid;\n")
	f.file("b.sql", "SELECT 1;\nSELECT 2;\n")
	f.file("fails.sql", "\\set n :n + 1\nDO $$ BEGIN IF :n % 4 <> 0 THEN RAISE EXCEPTION 'asked for' USING ERRCODE = '40001'; END IF; END $$;\n")
	for _, line := range []string{
		"-t 20",
		"-S -c 3 -j 2 -t 20",
		"-N -c 2 -T 1 -n -M prepared",
		"-b select-only@3 -b simple@1 -t 30 -r",
		"-f a.sql -t 5 -r -s 2 -n -P 1",
		"-f a.sql@2 -f b.sql -c 2 -t 20 -n -M extended -L 100",
		"-f b.sql -R 200 -L 50 -t 20 -n",
		"-f b.sql -R 200 -t 10 -n -r",
		"-f fails.sql -t 6 -n -D n=0 --failures-detailed --max-tries 3 -r",
		"-f fails.sql -f b.sql -t 20 -n -D n=0 --failures-detailed --max-tries=3 --random-seed 7",
		"-C -S -c 2 -t 3",
		"-S -t 3 -v -D scale=1",
	} {
		t.Run(line, func(t *testing.T) {
			defer f.in(t)()
			args := strings.Fields(line)
			want, got := f.theirs(args...), f.ours(args...)
			if a, b := shape(got.out), shape(want.out); !slices.Equal(a, b) {
				t.Errorf("pgtlb:\n%s\npgbench:\n%s\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"), got.err)
			}
			if code := map[bool]int{false: exitDone, true: exitNo}[strings.Contains(line, "fails.sql")]; got.code != code {
				t.Errorf("exit code %d, want %d\n%s", got.code, code, got.err)
			}
		})
	}
}

func testBenchRefusals(t *testing.T, f *foreign) {
	f.file("syntax.sql", "SELECT 1;\n\\set a 1 + (\n")
	yes := []string{"--allow-load", "-y"}
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"not allowed":         {[]string{"-S"}, []string{"--allow-load", "--lab"}},
		"no terminal":         {[]string{"-S", "--allow-load"}, []string{"no load was started", "-y answers yes"}},
		"-t and -T":           {[]string{"-t", "1", "-T", "1"}, []string{"specify either a number of transactions (-t) or a duration (-T), not both"}},
		"-i and -c":           {[]string{"-i", "-c", "2"}, []string{"cannot be used in initialization (-i) mode", "--client"}},
		"-i and -f":           {[]string{"-i", "-f", "x"}, []string{"cannot be used in initialization (-i) mode"}},
		"-F without -i":       {[]string{"-F", "90"}, []string{"cannot be used in benchmarking mode", "--fillfactor"}},
		"tries without limit": {[]string{"--max-tries", "0"}, []string{"--latency-limit or a duration (-T)"}},
		"log prefix":          {[]string{"--log-prefix", "x"}, []string{"only when logging transactions (-l)"}},
		"no script":           {[]string{"-f", "nowhere.sql"}, []string{"nowhere.sql", "no such file"}},
		"bad weight":          {[]string{"-f", "syntax.sql@x"}, []string{"invalid weight specification: @x"}},
		"no weight at all":    {[]string{"-b", "tpcb@0"}, []string{"total script weight must not be zero"}},
		"unknown builtin":     {[]string{"-b", "tpce"}, []string{`no builtin script found for name "tpce"`}},
		"ambiguous builtin":   {[]string{"-b", "s"}, []string{"ambiguous builtin name"}},
		"bad mode":            {[]string{"-M", "fast"}, []string{`invalid query mode (-M): "fast"`}},
		"bad define":          {[]string{"-D", "x"}, []string{`invalid variable definition: "x"`}},
		"bad seed":            {[]string{"--random-seed", "x"}, []string{"time or rand"}},
		"syntax":              {[]string{"-f", "syntax.sql"}, []string{"syntax.sql:2:13: syntax error", `\set a 1 + (`, "^ error found here"}},
		"page size":           {[]string{"--pages", "2MB"}, []string{"--pages", "add --lab"}},
		"parameter":           {[]string{"--param", "rows=1"}, []string{"--param", "-D"}},
		"too many clients":    {slices.Concat([]string{"-S", "-c", "39"}, yes), []string{"39", "max_connections", "40"}},
		"no such database":    {slices.Concat([]string{"-S", "-d", "nowhere"}, yes), []string{"nowhere"}},
	} {
		t.Run(name, func(t *testing.T) {
			defer f.in(t)()
			server := f.server
			if slices.Contains(c.args, "-d") {
				server = server[:len(server)-1]
			}
			r := f.run(slices.Concat([]string{"bench"}, c.args, server)...)
			if r.code != exitUsage || r.out != "" {
				t.Errorf("exit code %d, want %d\n%s", r.code, exitUsage, r.out)
			}
			for _, w := range c.want {
				if !strings.Contains(r.err, w) {
					t.Errorf("the message does not say %q:\n%s", w, r.err)
				}
			}
		})
	}
	if r := f.run(slices.Concat([]string{"bench", "-S"}, f.server, []string{"more"})...); !strings.Contains(r.err, `too many command-line arguments (first is "more")`) {
		t.Errorf("two databases: %s", r.err)
	}
	if r := f.run("bench", "-b", "list"); r.code != exitDone || !strings.Contains(r.err, "tpcb-like: <builtin: TPC-B (sort of)>") {
		t.Errorf("-b list: exit code %d\n%s", r.code, r.err)
	}
}

func testBenchAsking(t *testing.T, f *foreign) {
	args := slices.Concat([]string{"bench", "-N", "-t", "3", "--allow-load"}, f.server)
	s := f.open(120, 40, args...)
	s.waitText("PostgreSQL 15", "database     postgres", "<builtin: simple update>, 1 client, 3 transactions each", "empties pgbench_history", "Start it? [y/N]")
	s.press("n\r")
	if code := s.exit(); code != exitUsage {
		t.Errorf("after a no: exit code %d", code)
	}
	s.waitText("no load was started")
	s = f.open(120, 40, args...)
	s.waitText("Start it? [y/N]")
	s.press("y\r")
	if code := s.exit(); code != exitDone {
		t.Errorf("after a yes: exit code %d", code)
	}
	s.waitText("number of transactions actually processed: 3/3")
	s = f.open(120, 40, args...)
	s.waitText("Start it? [y/N]")
	s.press("\x03")
	if code := s.exit(); code != exitInterrupted {
		t.Errorf("interrupted at the question: exit code %d", code)
	}
}

var progressOf = regexp.MustCompile(`(?m)^progress: \d+\.\d s, \d+\.\d tps, lat \d+\.\d{3} ms stddev \d+\.\d{3}, 0 failed, lag \d+\.\d{3} ms, \d+ skipped, 0 retried, 0 retries$`)

func testBenchProgressLog(t *testing.T, f *foreign) {
	args := []string{"-S", "-c", "2", "-T", "2", "-P", "1", "-R", "50", "-L", "500", "--max-tries", "2", "-l", "--log-prefix"}
	theirs, ours := f.theirs(append(args, "theirs")...), f.ours(append(args, "ours")...)
	if !progressOf.MatchString(theirs.err) || !progressOf.MatchString(ours.err) {
		t.Errorf("pgbench:\n%s\npgtlb:\n%s", theirs.err, ours.err)
	}
	var lines [2]int
	for i, prefix := range []string{"theirs", "ours"} {
		files, _ := filepath.Glob(filepath.Join(f.work, prefix+".*"))
		if len(files) != 1 {
			t.Fatalf("log files of %s: %v", prefix, files)
		}
		text, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		form := regexp.MustCompile(`^[01] \d+ (\d+|skipped) 0 \d+ \d+ \d+ 0$`)
		for l := range strings.Lines(string(text)) {
			lines[i]++
			if !form.MatchString(strings.TrimSpace(l)) {
				t.Errorf("%s: %q", prefix, l)
			}
		}
		if info, err := os.Stat(files[0]); prefix == "ours" && (err != nil || info.Mode().Perm() != 0o600) {
			t.Errorf("the log's mode: %v, %v", info.Mode(), err)
		}
	}
	m := regexp.MustCompile(`actually processed: (\d+)\n(?:.*\n)*?number of transactions skipped: (\d+)`).FindStringSubmatch(ours.out)
	if m == nil {
		t.Fatalf("no counts in\n%s", ours.out)
	}
	done, _ := strconv.Atoi(m[1])
	skipped, _ := strconv.Atoi(m[2])
	if lines[1] != done+skipped || lines[0] == 0 {
		t.Errorf("%d lines for %d transactions and %d skipped; pgbench has %d lines", lines[1], done, skipped, lines[0])
	}
}

func testBenchJSON(t *testing.T, f *foreign) {
	r := f.ours("-b", "select-only@2", "-b", "simple-update", "-c", "2", "-T", "1", "-r", "-R", "100", "--json", "--random-seed", "5")
	var b struct {
		trial.Bench
		Lag struct{ Mean, Max *float64 } `json:"lag_ms"`
	}
	if err := json.Unmarshal([]byte(r.out), &b); err != nil || r.code != exitDone {
		t.Fatalf("exit code %d, %v\n%s%s", r.code, err, r.out, r.err)
	}
	if b.Scenario != "custom" || b.Clients != 2 || b.Threads != 1 || b.Mode != "simple" || len(b.Scripts) != 2 || b.Lag.Mean == nil || b.Driver == nil || !b.Driver.Direct {
		t.Errorf("%+v", b)
	}
	first := b.Scripts[0]
	if first.Name != "<builtin: select only>" || first.Weight != 2 || len(first.Commands) != 2 || first.Commands[1].MeanMS == nil {
		t.Errorf("%+v", first)
	}
	if b.Transactions != first.Transactions+b.Scripts[1].Transactions {
		t.Errorf("%d transactions, of scripts %d and %d", b.Transactions, first.Transactions, b.Scripts[1].Transactions)
	}
}

// testBenchAborted: a client whose script fails ends, the others go on.
func testBenchAborted(t *testing.T, f *foreign) {
	f.file("divides.sql", "SELECT 1;\nSELECT 1 / :client_id;\n")
	f.file("open.sql", "BEGIN;\nSELECT 1;\n")
	for file, want := range map[string]string{
		"divides.sql": "client 0 aborted: divides.sql:2: ERROR: division by zero",
		"open.sql":    "client 1 aborted: end of script reached without completing the last transaction",
	} {
		args := []string{"-n", "-f", file, "-c", "2", "-t", "4"}
		theirs, ours := f.theirs(args...), f.ours(args...)
		if ours.code != exitNo || !strings.Contains(ours.err, want) ||
			lastLine(ours.err) != "pgtlb: Run was aborted; the above results are incomplete." {
			t.Errorf("%s: exit code %d\n%s", file, ours.code, ours.err)
		}
		line := regexp.MustCompile(`actually processed: .*`)
		if a, b := line.FindString(ours.out), line.FindString(theirs.out); a != b {
			t.Errorf("%s: %q, pgbench: %q", file, a, b)
		}
	}
	f.file("half.sql", "SELECT 1 / (random() > 0.5)::int;\n")
	r := f.ours("-n", "-f", "half.sql", "-t", "20", "--continue-on-error", "--failures-detailed")
	if r.code != exitNo || !regexp.MustCompile(`number of other failures: [1-9]`).MatchString(r.out) || strings.Contains(r.err, "aborted") {
		t.Errorf("--continue-on-error: exit code %d\n%s%s", r.code, r.out, r.err)
	}
}

func testBenchInterrupted(t *testing.T, f *foreign) {
	f.file("sleeps.sql", "SELECT pg_sleep(0.01);\n")
	cmd := f.command(t.Context(), slices.Concat([]string{"bench", "-n", "-f", "sleeps.sql", "-T", "60", "-P", "1", "--allow-load", "-y"}, f.server)...)
	var out strings.Builder
	cmd.Stdout = &out
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	for said := ""; ; {
		n, err := errs.Read(buf)
		if said += string(buf[:n]); strings.Contains(said, "progress: ") || err != nil {
			break
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := errs.Read(buf); err != nil {
			break
		}
	}
	_ = cmd.Wait() // its exit code is looked at
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || !strings.Contains(out.String(), "tps = ") {
		t.Errorf("exit code %d\n%s", code, out.String())
	}
}

func testBenchScenario(t *testing.T, f *foreign) {
	r := f.run(slices.Concat([]string{"bench", "point-select", "-c", "2", "-T", "1", "--param", "rows=5000", "--allow-load", "-y"}, f.server)...)
	if r.code != exitDone || !strings.Contains(r.out, "transaction type: point-select\nquery mode: prepared\n") || !strings.Contains(r.err, "schema pgtlb, about ") {
		t.Errorf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
	if n := f.one("SELECT count(*)::text FROM pgtlb.test_hp_table"); n != "5000" {
		t.Errorf("%s rows", n)
	}
}

// testBenchCleanup: what carries the mark goes, and nothing else.
func testBenchCleanup(t *testing.T, f *foreign) {
	f.file("create.sql", "CREATE TABLE theirs ();\n")
	if r := f.ours("-n", "-f", "create.sql", "-t", "1"); r.code != exitDone {
		t.Fatal(r.err)
	}
	asked := f.run(slices.Concat([]string{"bench", "--cleanup"}, f.server)...)
	for _, want := range []string{"pgbench_accounts", "pgtlb.test_hp_table", "-y answers yes"} {
		if !strings.Contains(asked.err, want) {
			t.Errorf("the question does not say %q:\n%s", want, asked.err)
		}
	}
	if n := f.one("SELECT count(*)::text FROM pgbench_accounts"); asked.code != exitUsage || n != "200000" {
		t.Errorf("without a yes: exit code %d, %s accounts", asked.code, n)
	}
	if r := f.run(slices.Concat([]string{"bench", "--cleanup", "-y"}, f.server)...); r.code != exitDone {
		t.Errorf("exit code %d\n%s", r.code, r.err)
	}
	if left := f.one("SELECT concat_ws(' ', to_regnamespace('pgtlb'), to_regclass('pgbench_accounts'), to_regclass('theirs'))"); left != "theirs" {
		t.Errorf("left: %s", left)
	}
}
