package trial

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pgtlb/probes"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with a file below testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from what is written now (go test -update writes it anew, then look at the change):\n%s", path, firstDifference(got, want))
	}
}

func firstDifference(got, want []byte) string {
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return "now:  " + g[i] + "\nfile: " + w[i]
		}
	}
	return "one is longer"
}

// withoutPMU is a pair as seen where nothing counts cycles: the baseline fills
// page tables first, the current run has a hole in its recording and hostile
// text in it.
func withoutPMU() (cand, base *Run) {
	c, b := published2MB(), published4kB()
	for _, x := range []*builder{&c, &b} {
		x.seconds = 60
		for _, id := range []string{probes.CyclesKernel, probes.CyclesUser, probes.DTLBLoads, probes.DTLBLoadMisses, probes.PageFaults} {
			delete(x.counters, id)
		}
		x.misses = []probes.Miss{
			{ID: probes.DTLBLoads, Reason: "no PMU here", Remedy: "another host, or enable the vPMU"},
			{ID: probes.DTLBMissPct, Reason: "no PMU <script>alert(1)</script> | `here`\x1b[31m"},
		}
	}
	b.counters[probes.CPUUser], b.counters[probes.CPUKernel] = 1.1, 0.8
	c.counters[probes.CPUUser], c.counters[probes.CPUKernel] = 1.2, 0.6
	b.faults = func(s int) float64 { return math.Round(90 + 22_000*math.Exp(-float64(s)/4)) }
	c.faults = func(s int) float64 { return float64(40 + s%3) }
	c.meta.Server.Database = "</dd><img src=http://example.org/x>\x07"
	c.meta.Host.Kernel = "6.19.0-amd64"
	cand, base = c.run(), b.run()
	cand.Samples = append(cand.Samples[:20], cand.Samples[26:]...)
	cand.Warnings = []string{"line 22 could not be read and was left out, as were 5 later ones"}
	cand.End = nil
	return cand, base
}

func TestReportGoldens(t *testing.T) {
	cand, base := withoutPMU()
	arms := measuredExperiment()
	for name, r := range map[string]Report{
		"experiment": BuildArmsReport(arms[0], arms[1:], mustCompare(t, arms[0], arms[1:]...), ReportOptions{}),
		"published":  BuildReport(published2MB().run(), published4kB().run(), ReportOptions{}),
		"alone":      BuildReport(published4kB().run(), nil, ReportOptions{}),
		"no-pmu":     BuildReport(cand, base, ReportOptions{}),
	} {
		for ext, write := range map[string]func(io.Writer, Report) error{"md": WriteMarkdown, "html": WriteHTML, "json": WriteJSON} {
			if ext == "json" && name != "published" {
				continue // the same fields with other numbers
			}
			var b bytes.Buffer
			if err := write(&b, r); err != nil {
				t.Fatal(err)
			}
			golden(t, "report-"+name+"."+ext, b.Bytes())
		}
	}
}

// The published pair is a known answer.
func TestReportOfThePublishedPair(t *testing.T) {
	r := BuildReport(published2MB().run(), published4kB().run(), ReportOptions{})
	want := map[string]string{
		probes.TPS: "+7.93 %", probes.LatencyMean: "−6.80 %", probes.PageFaults: "÷1,338 (1,338 times fewer)",
		probes.DTLBMissPct: "−0.24 pp", probes.DTLBLoads: "+3.40 %", probes.CyclesKernel: "−9.44 %", probes.CyclesUser: "+3.87 %",
	}
	for _, row := range r.Rows {
		if w, ok := want[row.Metric]; ok {
			if row.Diff != w {
				t.Errorf("%s: %q, want %q", row.Metric, row.Diff, w)
			}
			delete(want, row.Metric)
		}
	}
	if len(want) > 0 {
		t.Errorf("rows are missing: %v", want)
	}
	if !strings.Contains(r.Verdict, "no known spread") {
		t.Errorf("verdict is %q", r.Verdict)
	}
	for _, a := range r.Audit {
		if !a.OK && a.Text != "one run per arm: undecided" {
			t.Errorf("the published pair fails a check: %s", a.Text)
		}
	}
	if len(r.Audit) != 6 || r.Varied != "pages: 4kB → 2MB" {
		t.Errorf("%d checks, varied %q", len(r.Audit), r.Varied)
	}
}

var (
	element = regexp.MustCompile(`(?i)<(script|img|link|iframe|object|embed)\b`)
	loads   = regexp.MustCompile(`(?i)(src=|href=|url\(|@import|\son[a-z]+=)`)
)

func TestHTMLNeedsNothingElse(t *testing.T) {
	cand, base := withoutPMU()
	var b bytes.Buffer
	if err := WriteHTML(&b, BuildReport(cand, base, ReportOptions{})); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if m := element.FindString(page); m != "" {
		t.Errorf("the page holds %s", m)
	}
	// What outside text says is escaped and stays visible as text.
	if m := loads.FindString(strings.ReplaceAll(page, "&lt;img src=", "")); m != "" {
		t.Errorf("the page holds %s", m)
	}
	for _, want := range []string{"prefers-color-scheme: dark", "@media print", "&lt;script&gt;alert(1)", `class="line base"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

func TestNoReportHoldsSecretsOrControlCharacters(t *testing.T) {
	cand, base := withoutPMU()
	cand.Meta.Command = "pgtlb bench -d postgresql://app:hunter2@db1/bench"
	r := BuildReport(cand, base, ReportOptions{})
	for name, write := range map[string]func(io.Writer, Report) error{"md": WriteMarkdown, "html": WriteHTML, "json": WriteJSON} {
		var b bytes.Buffer
		if err := write(&b, r); err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"hunter2", "ALTER ROLE", "\x1b", "\x07"} {
			if strings.Contains(b.String(), bad) {
				t.Errorf("%s holds %q", name, bad)
			}
		}
	}
}

func TestExportAll(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "reports")
	paths, err := ExportAll(dir, "pgtlb 4kB/2MB", BuildReport(published2MB().run(), published4kB().run(), ReportOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) != 3 {
		t.Fatalf("wrote %q", paths)
	}
	for _, p := range paths {
		st, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if st.Mode().Perm() != 0o600 || st.Size() == 0 || filepath.Dir(p) != dir {
			t.Errorf("%s has mode %v and %d bytes", p, st.Mode(), st.Size())
		}
	}
	content, err := os.ReadFile(paths[2])
	if err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(content, &back); err != nil || len(back.Rows) == 0 {
		t.Errorf("JSON reads back %d rows, %v", len(back.Rows), err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("files in the directory: %v, %v", entries, err)
	}
	if err := WriteReport(filepath.Join(dir, "x.pdf"), back); err == nil || !strings.Contains(err.Error(), ".md, .html or .json") {
		t.Errorf("unknown format: %v", err)
	}
	blocked := filepath.Join(paths[0], "sub")
	if _, err := ExportAll(blocked, "x", back); err == nil {
		t.Error("writing below a file succeeded")
	}
}

// A run that is exported while it goes on has no footer yet: that is no damage.
func TestReportOfARunUnderWay(t *testing.T) {
	st := store(t)
	b := published4kB()
	r, err := Create(st.Dir(), b.meta)
	if err != nil {
		t.Fatal(err)
	}
	samples := b.samples()
	for i := range samples {
		if err := r.Append(&samples[i]); err != nil {
			t.Fatal(err)
		}
	}
	s := &Session{o: Options{Store: st, Reports: t.TempDir()}}
	for active, want := range map[bool]string{true: "still running", false: "interrupted"} {
		paths, err := s.exportRun(r.Name(), "", active)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(paths[0])
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want) || active && strings.Contains(string(text), "interrupted") {
			t.Errorf("active %v: the report does not say %q, or more:\n%s", active, want, text)
		}
	}
	if err := r.Close(End{Reason: "finished"}); err != nil {
		t.Fatal(err)
	}
}

func TestReportsOfOddRuns(t *testing.T) {
	empty := &Run{Meta: Meta{Name: "empty"}}
	watch := builder{meta: Meta{Kind: "watch"}, seconds: 5, counters: map[string]float64{probes.Commits: 100, probes.Rollbacks: 1}}.run()
	one := &Run{Meta: published4kB().meta, Samples: published4kB().samples()[:1]}
	for _, cand := range []*Run{empty, watch, one, published4kB().run()} {
		for _, base := range []*Run{nil, empty, watch, one, published2MB().run()} {
			r := BuildReport(cand, base, ReportOptions{})
			for _, write := range []func(io.Writer, Report) error{WriteMarkdown, WriteHTML, WriteJSON} {
				var b bytes.Buffer
				if err := write(&b, r); err != nil {
					t.Error(err)
				}
				if strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf") {
					t.Error("a report holds a number that is none")
				}
			}
		}
	}
	r := BuildReport(watch, nil, ReportOptions{})
	if r.Rows[0].Metric != probes.ServerTPS || r.Rows[0].Cand.Main != "101" {
		t.Errorf("first row of a run without a load is %+v", r.Rows[0])
	}
}
