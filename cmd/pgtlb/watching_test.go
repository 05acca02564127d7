package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"pgtlb/workload/trial"
)

// socketOf is the directory of the socket of a sandbox's lab.
func socketOf(t *testing.T, box *sandbox) string {
	t.Helper()
	return postmasterFile(t, box)[4]
}

// TestWatchingARunningServer: the screen, plain lines and a recording of a
// server that pgtlb did not start; the server is not changed.
func TestWatchingARunningServer(t *testing.T) {
	box := newSandbox(t)
	s := box.open(100, 30, smallLab(t)...)
	s.waitText("● 1 point-select")
	server := []string{"-h", socketOf(t, box), "-U", "postgres", "-d", "postgres"}
	watcher := newSandbox(t) // has its own runs

	r := watcher.run(append([]string{"record", "-T", "2", "--json"}, server...)...)
	if r.code != exitDone {
		t.Fatalf("record: exit code %d\n%s", r.code, r.err)
	}
	var o trial.Observed
	if err := json.Unmarshal([]byte(r.out), &o); err != nil {
		t.Fatalf("%v in %s", err, r.out)
	}
	if c := o.Counters["server_tps"]; c.Value <= 0 {
		t.Errorf("server_tps: %+v", c)
	}
	if o.PageTables.MaxBackend == nil || *o.PageTables.MaxBackend <= 0 {
		t.Errorf("largest backend: %+v", o.PageTables)
	}
	if run := watcher.theRun(); run.End == nil || run.Meta.Kind != "watch" || run.Meta.Name != o.Run {
		t.Errorf("the run on file: %+v, end %+v", run.Meta.Name, run.End)
	}
	if r := watcher.run("report", "last"); r.code != exitDone || !strings.Contains(r.out, "server TPS") {
		t.Errorf("its report: exit code %d\n%s%s", r.code, r.err, r.out)
	}

	checkQueriesOnRequest(t, server)

	w := watcher.open(120, 40, append([]string{"watch"}, server...)...)
	text := w.waitText("pg_stat_statements is not installed", "watching, read only", "client", "postmaster", "Page tables")
	if strings.Contains(text, "1-9 scenario") {
		t.Errorf("a watching screen offers to start load:\n%s", text)
	}
	w.press("1")
	w.waitText("This session only reads")
	w.press("q")
	if code := w.exit(); code != exitDone {
		t.Errorf("watch: exit code %d", code)
	}
	s.press("q")
	s.press("y")
	if code := s.exit(); code != exitDone {
		t.Errorf("lab: exit code %d", code)
	}
	box.nothingLeft()
}

// checkQueriesOnRequest: what real sessions ask comes into a run and its report only
// with --with-queries, and a password in no case.
func checkQueriesOnRequest(t *testing.T, server []string) {
	box := newSandbox(t)
	for _, sql := range []string{"SELECT 'shop-0815' AS orders_of_the_shop", "CREATE ROLE clerk PASSWORD 'hunter2'"} {
		cfg, err := pgx.ParseConfig("host=" + server[1] + " user=postgres dbname=postgres application_name=shop")
		if err != nil {
			t.Fatal(err)
		}
		conn, err := pgx.ConnectConfig(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		if _, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
	}
	must := func(args ...string) string {
		r := box.run(args...)
		if r.code != exitDone {
			t.Fatalf("%s: exit code %d\n%s", strings.Join(args, " "), r.code, r.err)
		}
		return r.out
	}
	must(append([]string{"record", "-T", "2"}, server...)...)
	if text := must("report", "last", "--with-queries"); !strings.Contains(text, "This run holds no query texts") || strings.Contains(text, "orders_of_the_shop") {
		t.Errorf("the report of a run without texts:\n%s", text)
	}
	must("runs", "remove", "-y", "last")
	must(append([]string{"record", "-T", "2", "--with-queries"}, server...)...)
	run := box.theRun()
	if !run.Meta.Queries {
		t.Error("the header does not say that there are texts")
	}
	text := must("report", "last", "--with-queries")
	for _, want := range []string{"## Queries seen", "    SELECT $1 AS orders_of_the_shop\n", "    CREATE ROLE clerk PASSWORD…\n", "; pgtlb's load:"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report has no %q:\n%s", want, text)
		}
	}
	for what, text := range map[string]string{"report": must("report", "last"), "export": must("runs", "export", "last"), "CSV": must("runs", "export", "last", "--format", "csv"), "JSON": must("report", "last", "--json")} {
		if strings.Contains(text, "orders_of_the_shop") || strings.Contains(text, "clerk") {
			t.Errorf("%s has a query that nobody asked for", what)
		}
	}
	if text := must("runs", "export", "last", "--with-queries"); !strings.Contains(text, "SELECT 'shop-0815' AS orders_of_the_shop") || strings.Contains(text, "hunter2") {
		t.Error("the export with texts lacks one, or has a password")
	}
	if file, err := os.ReadFile(box.state + "/pgtlb/runs/" + run.Meta.Name + trial.Extension); err != nil || strings.Contains(string(file), "hunter2") {
		t.Errorf("a password is in the run: %v", err)
	}
	if text := must("runs"); !strings.Contains(text, "holds query texts") {
		t.Errorf("the list does not tell of texts:\n%s", text)
	}
	if text := must("runs", "show", "last"); !strings.Contains(text, "query texts  ") {
		t.Errorf("what is shown of the run does not tell of texts:\n%s", text)
	}
	s := box.open(160, 50, "replay", "last")
	s.waitText("SELECT 'shop-0")
	s.press("q")
	if code := s.exit(); code != exitDone {
		t.Errorf("replay: exit code %d", code)
	}
	if r := box.run("watch", "--with-queries", "--plain"); r.code != exitUsage || !strings.Contains(r.err, "pgtlb record keeps one") {
		t.Errorf("watch: exit code %d\n%s", r.code, r.err)
	}
}
