package trial

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgtlb/probes"
)

// asking is a run of two sessions of an application, one of the load and one of
// pgtlb's own, with texts that are known.
func asking(queries bool) builder {
	b := published4kB()
	b.meta.Name, b.meta.Queries, b.seconds = "asking", queries, 10
	b.backends = func(second int) []probes.Backend {
		session := func(pid int, app, state, query string) probes.Backend {
			return probes.Backend{Pid: pid, StartTicks: 7, Role: probes.RoleClient, App: app, State: state, Query: query,
				Mem: &probes.BackendMem{PageTables: uint64(1000 * (pid - 200))}, Use: &probes.BackendUse{MinorFaults: uint64(50 * (second + lead))}}
		}
		shop := session(201, "shop", "active", "SELECT * FROM orders WHERE id = "+string(rune('0'+second&7)))
		if second == 4 {
			shop.Query = "ALTER ROLE app PASSWORD 'hunter2'"
		}
		other := session(202, "shop", "idle", "select * from orders where id = 99")
		other.Own = false
		load := session(203, "pgtlb point-select", "active", "SELECT col1 FROM data WHERE id = $1")
		own := session(204, probes.AppName, "active", "SELECT pg_stat_get_activity(0)")
		own.Own = true
		worker := session(205, "shop", "active", shop.Query)
		worker.Role = probes.RoleParallelWorker
		return []probes.Backend{shop, other, load, own, worker}
	}
	return b
}

func TestRecordingHoldsQueriesOnRequest(t *testing.T) {
	b := asking(true)
	path := record(t, t.TempDir(), b)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte("hunter2")) {
		t.Error("a password was recorded")
	}
	run, err := Read(path)
	if err != nil || !run.Meta.Queries || run.Meta.Schema != Schema || len(run.Gaps()) > 0 {
		t.Fatalf("%v, %+v, %q", err, run.Meta, run.Gaps())
	}
	want := b.samples()
	for i := range want {
		for j, got := range run.Samples[i].Batches[1].Backends {
			q := want[i].Batches[1].Backends[j].Query
			if strings.Contains(q, "hunter2") {
				q = "ALTER ROLE app PASSWORD…"
			}
			if got.Query != q {
				t.Errorf("sample %d: %q was recorded as %q", i, q, got.Query)
			}
		}
	}
	if !Info(path).Queries {
		t.Error("a list does not say that the run holds query texts")
	}
	plain := record(t, t.TempDir(), asking(false))
	if text, err := os.ReadFile(plain); err != nil || bytes.Contains(text, []byte("orders")) || !bytes.HasPrefix(text, []byte(`{"header":{"schema":2,`)) {
		t.Errorf("a run that nobody asked texts of: %v, %.300s", err, text)
	}
	// A replay shows them, as it holds them because somebody asked.
	r := NewReplay(run, nil, "")
	whole := r.Whole()
	if rows := whole.Last().Backends; rows[2].Query != "SELECT col1 FROM data WHERE id = $1" {
		t.Errorf("the replay shows %+v", rows[2])
	}
}

// Texts that come again are written as numbers, also by the reader's count.
func TestQueriesReadBackExactly(t *testing.T) {
	s := newSynthetic(20)
	var samples []probes.Sample
	texts := func(n int) string {
		return "SELECT * FROM a_table_with_a_long_name WHERE \"Name\" = $1 \n-- number " + strings.Repeat("x", n%17)
	}
	for i := range 130 {
		sample := s.next()
		for b := range sample.Batches {
			for j := range sample.Batches[b].Backends {
				if (i+j)%3 > 0 {
					sample.Batches[b].Backends[j].Query = texts(i*7 + j*3)
				}
			}
		}
		samples = append(samples, sample)
	}
	run, full := rerecord(t, Meta{Name: "x", Queries: true}, samples)
	for i := range samples {
		got, err := json.Marshal(&run.Samples[i])
		want, _ := json.Marshal(&samples[i])
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("sample %d reads back as\n%s\nand was\n%s", i, got, want)
		}
	}
	if full != 3 {
		t.Errorf("%d samples are in full, want 3", full)
	}
}

// A hundred backends of which each has another of fifty texts in each second.
func TestQueriesStaySmall(t *testing.T) {
	size := func(queries bool) int64 {
		meta := publishedMeta("4kB", "off")
		meta.Queries = queries
		r, err := Create(t.TempDir(), meta)
		if err != nil {
			t.Fatal(err)
		}
		s := newSynthetic(100)
		for i := range 300 {
			sample := s.next()
			for b := range sample.Batches {
				for j := range sample.Batches[b].Backends {
					sample.Batches[b].Backends[j].Query = "SELECT " + strings.Repeat("a_column, ", 20) + " FROM t" + string(rune('A'+(i*31+j*17)%50))
				}
			}
			if err := r.Append(&sample); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Close(End{Reason: "finished"}); err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(r.Path())
		if err != nil {
			t.Fatal(err)
		}
		return st.Size()
	}
	without, with := size(false), size(true)
	t.Logf("300 samples of 100 backends with a new text each: %d kB, without texts %d kB", with/1000, without/1000)
	if with > 3*without {
		t.Errorf("texts make a run of %d bytes one of %d", without, with)
	}
}

func TestQueriesSeen(t *testing.T) {
	run := asking(true).run()
	got := queriesOf(run, Frames(run))
	if len(got.Texts) != 3 || got.Run != "asking" {
		t.Fatalf("texts %+v", got)
	}
	// Ten frames of load; in one of them the first session changes a password.
	orders, load, role := got.Texts[0], got.Texts[1], got.Texts[2]
	if orders.Text != "SELECT * FROM orders WHERE id = $1" || orders.Seen != 19 || orders.Running != 9 || orders.Backends != 2 || *orders.PageTablesKB != 2000 || orders.Load {
		t.Errorf("orders %+v", orders)
	}
	if load.Seen != 10 || load.Running != 10 || load.Backends != 1 || !load.Load || math.Abs(*load.FaultsPerSecond-50) > 1e-9 {
		t.Errorf("the load's %+v", load)
	}
	if role.Text != "ALTER ROLE app PASSWORD…" || role.Seen != 1 {
		t.Errorf("a change of a password %+v", role)
	}
	run.Samples = run.Samples[:lead+1]
	if none := queriesOf(run, Frames(run)); len(none.Texts) > 0 || !strings.HasPrefix(none.Note, "No session but") {
		t.Errorf("of a run without a frame: %+v", none)
	}
}

func TestMostQueriesAreListedFirst(t *testing.T) {
	run := asking(true).run()
	n := 0
	for i := range run.Samples {
		for j := range 60 {
			n = j
			name := "t_" + string(rune('a'+j/26)) + string(rune('a'+j%26))
			run.Samples[i].Batches[1].Backends = append(run.Samples[i].Batches[1].Backends,
				probes.Backend{Pid: 300 + j, Role: probes.RoleClient, State: "active", Query: "SELECT 1 FROM " + name})
		}
	}
	got := queriesOf(run, Frames(run))
	if len(got.Texts) != mostQueries || got.Texts[0].Seen != 19 || !strings.Contains(got.Note, "13 texts more, seen 121 times in all, are left out") {
		t.Errorf("%d of %d texts, the first %+v, note %q", len(got.Texts), n+4, got.Texts[0], got.Note)
	}
	if !slices.IsSortedFunc(got.Texts, func(a, b QuerySeen) int { return b.Seen - a.Seen }) {
		t.Error("they are not in order")
	}
}

func TestReportHasQueriesOnRequest(t *testing.T) {
	with, without := asking(true).run(), published4kB().run()
	write := func(r Report) (all string) {
		for _, w := range []func(*bytes.Buffer) error{
			func(b *bytes.Buffer) error { return WriteMarkdown(b, r) },
			func(b *bytes.Buffer) error { return WriteHTML(b, r) },
			func(b *bytes.Buffer) error { return WriteJSON(b, r) },
		} {
			var b bytes.Buffer
			if err := w(&b); err != nil {
				t.Fatal(err)
			}
			all += b.String()
		}
		return all
	}
	if text := write(BuildReport(with, without, ReportOptions{})); strings.Contains(text, "orders") || strings.Contains(text, "Queries seen") {
		t.Error("a report has query texts that nobody asked for")
	}
	text := write(BuildReport(with, without, ReportOptions{Queries: true}))
	if n := strings.Count(text, "SELECT * FROM orders WHERE id = $1"); n != 3 {
		t.Errorf("the query stands %d times in three reports", n)
	}
	if n := strings.Count(text, "This run holds no query texts"); n != 3 {
		t.Errorf("what the baseline lacks is said %d times in three reports", n)
	}
	if strings.Contains(text, "hunter2") || strings.Contains(text, "pg_stat_get_activity") || strings.Contains(text, "id = 99") {
		t.Error("a constant, or a query of pgtlb's own, is in the report")
	}
	var md strings.Builder
	if err := WriteMarkdown(&md, BuildReport(with, nil, ReportOptions{Queries: true})); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"## Queries seen\n", "seen 19 times, running 9 times, in 2 backends, page tables up to 1.95 MB, 50 page faults/s of each while it ran:\n\n    SELECT * FROM orders", "; pgtlb's load:"} {
		if !strings.Contains(md.String(), want) {
			t.Errorf("the Markdown does not have %q:\n%s", want, md.String())
		}
	}
}

func TestExportHasQueriesOnRequest(t *testing.T) {
	b := asking(true)
	dir := t.TempDir()
	s, err := OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	path := record(t, dir, b)
	if _, _, err := s.Tag("asking", []string{"shop"}, nil); err != nil {
		t.Fatal(err)
	}
	export := func(queries bool) *Run {
		write, err := s.Exporter([]string{"asking"}, AsRun, queries)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "asking"+Extension)
		if err := WriteFile(file, write); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil || bytes.Contains(text, []byte("orders")) != queries {
			t.Errorf("with texts %v: %v, %.300s", queries, err, text)
		}
		run, err := Read(file)
		if err != nil || len(run.Gaps()) > 0 {
			t.Fatalf("%v, %q", err, run.Gaps())
		}
		return run
	}
	kept, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	with, without := export(true), export(false)
	sameSamples(t, with.Samples, kept.Samples)
	sameSamples(t, without.Samples, kept.Samples)
	if !with.Meta.Queries || without.Meta.Queries || without.Meta.Schema != plainSchema {
		t.Errorf("headers say %v and %v, form %d", with.Meta.Queries, without.Meta.Queries, without.Meta.Schema)
	}
	if !slices.Equal(without.Tags, []string{"shop"}) || without.End == nil || without.End.Reason != kept.End.Reason {
		t.Errorf("tags %q, end %+v", without.Tags, without.End)
	}
	for _, as := range []Format{AsCSV, AsOpenMetrics, AsBenchstat} {
		write, err := s.Exporter([]string{"asking"}, as, false)
		var out bytes.Buffer
		if err != nil || write(&out) != nil || bytes.Contains(out.Bytes(), []byte("orders")) {
			t.Errorf("%s: %v, %.200s", as, err, out.String())
		}
	}
	// A line that cannot be read is left out, and so is what follows it.
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	lines[3] = []byte(`{"delta":[1,"SELECT * FROM orders"` + "\n")
	if err := os.WriteFile(path, bytes.Join(lines, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	if damaged := export(false); len(damaged.Samples) != 2 {
		t.Errorf("%d samples of a damaged run, want the first two", len(damaged.Samples))
	}
}
