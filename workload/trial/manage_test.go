package trial

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgtlb/probes"
)

// short is a small run of some name, recorded in a store.
func shortRun(t *testing.T, s *Store, name string) (path string) {
	t.Helper()
	b := published4kB()
	b.seconds, b.meta.Name = 3, name
	return record(t, s.Dir(), b)
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error is %v, want one line with %q", err, want)
	}
}

func TestRename(t *testing.T) {
	s := store(t)
	shortRun(t, s, "one")
	shortRun(t, s, "two")
	if err := s.SetBaseline("one"); err != nil {
		t.Fatal(err)
	}
	if was, err := s.Rename("on", "first"); err != nil || was != "one" {
		t.Fatalf("renamed %q: %v", was, err)
	}
	if base, err := s.Baseline(); err != nil || base != "first" {
		t.Errorf("the baseline is %q, %v", base, err)
	}
	run, err := s.Load("first")
	if err != nil || run.Meta.Name != "first" || len(run.Gaps()) > 0 {
		t.Errorf("%v, %+v", err, run)
	}
	if path, err := s.Resolve("one"); err != nil || path != s.path("first") {
		t.Errorf("what was recorded as one is found as %q, %v", path, err)
	}
	_, err = s.Remove("one")
	wantError(t, err, "no run named one")
	for name, want := range map[string]string{
		"two": "there is a run named two already", "first": "has that name already", "": "is empty", "last": "stands for a run",
		"a/b": "letters, digits", "../x": "letters, digits", ".x": "letters, digits", "x.ndjson": "leave .ndjson out", "é": "letters, digits",
	} {
		_, err := s.Rename("first", name)
		wantError(t, err, want)
	}
	outside := shortRun(t, store(t), "elsewhere")
	_, err = s.Rename(outside, "mine")
	wantError(t, err, "outside of")
	if list, err := s.List(); err != nil || len(list) != 2 {
		t.Errorf("%d runs in the list, %v", len(list), err)
	}
}

func TestTagsGoWithTheRun(t *testing.T) {
	s := store(t)
	path := shortRun(t, s, "one")
	before, err := s.Load("one")
	if err != nil {
		t.Fatal(err)
	}
	tag := func(add, drop []string, want ...string) {
		t.Helper()
		if _, tags, err := s.Tag("last", add, drop); err != nil || !slices.Equal(tags, want) {
			t.Errorf("tags are %q, %v; want %q", tags, err, want)
		}
		run, err := s.Load("last")
		if err != nil || !slices.Equal(run.Tags, want) || len(run.Gaps()) > 0 || len(run.Samples) != len(before.Samples) || run.End == nil {
			t.Errorf("read back: tags %q, gaps %q, %v; want %q", run.Tags, run.Gaps(), err, want)
		}
		if info := Info(s.path(run.Meta.Name)); !slices.Equal(info.Tags, want) || !info.Complete || info.Seconds != 3 {
			t.Errorf("listed as %+v, want tags %q", info, want)
		}
	}
	tag([]string{"quiet", "v17.6"}, nil, "quiet", "v17.6")
	tag([]string{"quiet", "a"}, nil, "a", "quiet", "v17.6")
	if _, err := s.Rename("one", "renamed"); err != nil {
		t.Fatal(err)
	}
	tag(nil, []string{"a", "quiet"}, "v17.6")
	tag(nil, []string{"v17.6"})
	_, _, err = s.Tag("last", nil, []string{"v17.6"})
	wantError(t, err, "has no tag v17.6")
	for _, bad := range []string{"", "two words", "a,b", "\x1b[31m", strings.Repeat("x", 51)} {
		_, _, err := s.Tag("last", []string{bad}, nil)
		wantError(t, err, "a tag is one word")
	}
	_ = path
}

// A run that was cut in the middle of a line can be tagged like any other.
func TestInterruptedRunCanBeTagged(t *testing.T) {
	s := store(t)
	path := shortRun(t, s, "one")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	end := bytes.Index(content, []byte(`{"end"`))
	if err := os.WriteFile(path, content[:end-10], 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Tag("one", []string{"cut"}, nil); err != nil {
		t.Fatal(err)
	}
	run, err := Read(path)
	if err != nil || !slices.Equal(run.Tags, []string{"cut"}) || len(run.Samples) != len(before.Samples) || run.End != nil || len(run.Gaps()) != 2 {
		t.Errorf("%v, tags %q, %d samples, gaps %q", err, run.Tags, len(run.Samples), run.Gaps())
	}
	if info := Info(path); info.Complete || info.Recording || !slices.Equal(info.Tags, run.Tags) || info.Seconds < 1 {
		t.Errorf("listed as %+v", info)
	}
}

func TestRemovingTheBaselineSaysSo(t *testing.T) {
	s := store(t)
	shortRun(t, s, "one")
	path := shortRun(t, s, "two")
	if err := s.SetBaseline("two"); err != nil {
		t.Fatal(err)
	}
	if was, err := s.Remove("one"); err != nil || was {
		t.Errorf("removing one: %v, %v", was, err)
	}
	if was, err := s.Remove("two"); err != nil || !was || isFile(path) {
		t.Errorf("removing the baseline: %v, %v", was, err)
	}
	if _, err := s.Baseline(); !errors.Is(err, ErrNoBaseline) || strings.Contains(err.Error(), "no longer") {
		t.Errorf("baseline afterwards: %v", err)
	}
	_, err := s.Remove("two")
	wantError(t, err, "no run named two")
}

// What is being recorded is neither renamed, nor tagged, nor removed; it is listed,
// shown and exported as far as it is.
func TestRunThatIsBeingRecorded(t *testing.T) {
	s := store(t)
	b := published4kB()
	b.meta.Name = "now"
	r, err := Create(s.Dir(), b.meta)
	if err != nil {
		t.Fatal(err)
	}
	samples := b.samples()
	other, err := Create(s.Dir(), b.meta)
	if err != nil || other.Name() != "now-2" {
		t.Fatalf("a second recorder: %v", err)
	}
	for i := range 10 {
		if err := errors.Join(r.Append(&samples[i]), other.Append(&samples[i])); err != nil {
			t.Fatal(err)
		}
		list, err := s.List()
		if err != nil || len(list) != 2 || !list[0].Recording || !list[1].Recording || list[0].Problem+list[1].Problem != "" {
			t.Fatalf("listed while being written: %+v, %v", list, err)
		}
	}
	const busy = "run now: it is being recorded"
	_, err = s.Rename("now", "then")
	wantError(t, err, busy)
	_, err = s.Remove("now")
	wantError(t, err, busy)
	_, _, err = s.Tag("now", []string{"x"}, nil)
	wantError(t, err, busy)
	var out bytes.Buffer
	if err := ExportRun(&out, r.Path(), false); err != nil {
		t.Error(err)
	}
	if run, err := parseRun(&out); err != nil || len(run.Samples) != 10 {
		t.Errorf("exported while being written: %v", err)
	}
	if err := errors.Join(r.Close(End{Reason: "finished"}), other.Close(End{Reason: "finished"})); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Rename("now", "then"); err != nil {
		t.Error(err)
	}
	if info := Info(s.path("then")); info.Recording || !info.Complete {
		t.Errorf("listed as %+v", info)
	}
}

func TestBackgroundIsReadBack(t *testing.T) {
	b := published4kB()
	b.seconds = 4
	r, err := Create(t.TempDir(), b.meta)
	if err != nil {
		t.Fatal(err)
	}
	three := 3
	var want []Background
	samples := b.samples()
	for i := range samples {
		if err := r.Append(&samples[i]); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			look := Background{At: samples[i].At, T: samples[i].T, Sessions: &three, Top: []Busy{{Pid: 7, Name: "rsync", CPUPct: 12}}}
			want = append(want, look)
			if err := r.AppendBackground(look); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := r.Close(End{Reason: "finished"}); err != nil {
		t.Fatal(err)
	}
	run, err := Read(r.Path())
	if err != nil || len(run.Background) != len(want) || len(run.Samples) != len(samples) || len(run.Gaps()) > 0 {
		t.Fatalf("%v, %d looks of %d, gaps %q", err, len(run.Background), len(want), run.Gaps())
	}
	if got := run.Background[1]; *got.Sessions != 3 || got.T != want[1].T || got.Active != nil || got.Top[0].Name != "rsync" {
		t.Errorf("read back as %+v", got)
	}
}

func TestExportedRunsAreImported(t *testing.T) {
	from, to := store(t), store(t)
	shortRun(t, from, "one")
	path := shortRun(t, from, "two")
	if _, _, err := from.Tag("one", []string{"x"}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := from.Rename("one", "first"); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content[:len(content)-300], 0o600); err != nil { // interrupted
		t.Fatal(err)
	}
	write, err := from.Exporter([]string{"first", path}, AsRun, false)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "both.ndjson")
	if err := WriteFile(file, write); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(file); err == nil || !strings.Contains(err.Error(), "more than one run") {
		t.Errorf("reading both as one: %v", err)
	}
	shortRun(t, to, "two") // another run of that name
	got, err := to.Import(file)
	if err != nil || len(got) != 2 || got[0].Name != "first" || got[1].Name != "two-2" || got[1].As != "two" {
		t.Fatalf("%+v, %v", got, err)
	}
	for name, was := range map[string]string{"first": "first", "two-2": "two"} {
		a, errA := from.Load(was)
		b, errB := to.Load(name)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		sameSamples(t, b.Samples, a.Samples)
		if !slices.Equal(a.Tags, b.Tags) || (a.End == nil) != (b.End == nil) {
			t.Errorf("%s: tags %q and %q, ends %v and %v", name, a.Tags, b.Tags, a.End, b.End)
		}
	}
	again, err := to.Import(file)
	if err != nil || !again[0].Had {
		t.Errorf("a second time: %+v, %v", again, err)
	}
	st, err := os.Stat(to.path("first"))
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
}

func TestBadImportsLeaveNothing(t *testing.T) {
	s := store(t)
	good := string(recorded(t, func() builder { b := published4kB(); b.seconds = 2; return b }()))
	hand := func(what string) string {
		return `{"name":"x","scenario":"point-select","clients":8,"load_s":30,"counter_window_s":25,` + what + `}`
	}
	for text, want := range map[string]string{
		"":              "the file is empty",
		"  \n":          "the file is empty",
		"hello":         "neither runs of",
		"\x7fELF\x01":   "neither runs of",
		"[1,2]":         "neither runs of",
		`{"sample":1}`:  "neither runs of",
		"{":             "it ends in the middle",
		`{"name":"x",}`: "not JSON",
		good + `{"header":{"schema":99,"name":"y"}}` + "\n":          "run 2 of 2: written by a newer pgtlb",
		good + `{"header":{"schema":2,"name":7}}` + "\n":             "run 2 of 2: the header is damaged",
		good + `{"header":{"schema":2}}` + "\n":                      "run 2 of 2 has no name",
		`{"name":"x"}`:                                               "scenario is missing",
		`{"scenario":"x"}`:                                           "name is missing",
		`{"name":"x","scenario":"s"}`:                                "clients is missing",
		`{"name":"x","scenario":"s","clients":1}`:                    "load_s is missing",
		`{"name":"x","scenario":"s","clients":1.5}`:                  "clients is a number 1.5; it must be a whole number",
		hand(`"metrics":{}`):                                         "metrics is empty",
		hand(`"metrics":{"tps":"fast"}`):                             "it must be a number",
		hand(`"metrics":{"page_fault":1}`):                           `no metric "page_fault"; near it are page_faults`,
		hand(`"metrics":{"latency":1}`):                              "latency_mean_ms",
		hand(`"metrics":{"tps":-1}`):                                 "no metric can be that",
		hand(`"metrics":{"dtlb_miss_pct":273}`):                      "at most 100",
		hand(`"metrics":{"tps":1},"pages":"4 kB"`):                   "4kB, 2MB or 1GB",
		hand(`"metrics":{"tps":1},"page":"4kB"`):                     `no key "page"`,
		hand(`"metrics":{"tps":1}`) + "{}":                           "one file holds one run",
		strings.Replace(hand(`"metrics":{"tps":1}`), "25", "-25", 1): "counter_window_s is negative",
	} {
		file := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := s.Import(file)
		wantError(t, err, want)
	}
	_, err := s.Import(t.TempDir())
	wantError(t, err, "not a file")
	_, err = s.Import("/no/such/file")
	wantError(t, err, "no such file")
	if entries, _ := os.ReadDir(s.Dir()); len(entries) > 0 {
		t.Errorf("left in the store: %v", entries)
	}
}

// The published pair, entered by hand, goes through everything that reads runs.
func TestPublishedPairEnteredByHand(t *testing.T) {
	s := store(t)
	for _, pages := range []string{"4kB", "2MB"} {
		if got, err := s.Import("testdata/byhand/published-" + pages + ".json"); err != nil || got[0].Name != "published-"+pages {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	list, err := s.List()
	if err != nil || len(list) != 2 || !list[0].ByHand || list[0].Seconds != 30 || list[0].TPS < 54_000 || list[0].Problem != "" || !list[0].Complete {
		t.Fatalf("listed as %+v, %v", list, err)
	}
	base, err := s.Load("published-4kB")
	if err != nil {
		t.Fatal(err)
	}
	cand, err := s.Load("published-2MB")
	if err != nil {
		t.Fatal(err)
	}
	a := ArmOf(base)
	near(t, "TPS", a.Summary.Get(probes.TPS).Value, 54263)
	near(t, "page faults per second", a.Summary.Get(probes.PageFaults).Value, 1397551./25)
	near(t, "page faults", a.Summary.Get(probes.PageFaults).Total, 1397551)
	r := BuildReport(cand, base, ReportOptions{})
	if !strings.Contains(r.Sentence, "TPS +7.93 %") || len(r.Charts) > 0 {
		t.Errorf("report says %q, with %d charts", r.Sentence, len(r.Charts))
	}
	for name, write := range map[string]func(io.Writer, Report) error{"Markdown": WriteMarkdown, "HTML": WriteHTML, "JSON": WriteJSON} {
		var out bytes.Buffer
		if err := write(&out, r); err != nil || !strings.Contains(out.String(), "54,263") {
			t.Errorf("%s: %v", name, err)
		}
	}
	wantError(t, base.HasSamples(), "has one figure per metric and no samples")
	_, err = readBaseline(s, "published-4kB")
	wantError(t, err, "entered by hand")
	shown, err := s.Show("published-4kB")
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := shown.WriteText(&text); err != nil || !strings.Contains(text.String(), "1,397,551") || !strings.Contains(text.String(), "totals over 25 s") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

func TestShowSaysEverything(t *testing.T) {
	s := store(t)
	b := published4kB()
	b.seconds = 3
	b.meta.Step = &StepMeta{Experiment: "pages", Factor: "huge_pages", Arm: "4kB", Block: 2, Position: 5}
	record(t, s.Dir(), b)
	if err := s.SetBaseline(b.meta.Name); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Tag("last", []string{"quiet"}, nil); err != nil {
		t.Fatal(err)
	}
	shown, err := s.Show("last")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := shown.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		b.meta.Name + ", the baseline", "point-select, 8 clients, 4kB", "quiet", "pages: huge_pages = 4kB, block 2", "samples", "E5-2697",
		"shared_buffers", "40GB (configuration file)", "54,263", "this CPU's page-walk event is not known; run on a CPU", "finished",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

// A page cache that is lost leaves zeros where the last lines were.
func TestZerosAtTheEndAreOneCutLine(t *testing.T) {
	b := published4kB()
	b.seconds = 4
	content := recorded(t, b)
	end := bytes.Index(content, []byte(`{"end"`))
	run, err := parseRun(bytes.NewReader(append(bytes.Clone(content[:end]), make([]byte, 4096)...)))
	if err != nil || len(run.Samples) != len(b.samples()) || len(run.Warnings) != 1 || !strings.Contains(run.Warnings[0], "is cut in the middle") {
		t.Errorf("%v, %q", err, run.Warnings)
	}
}

// A line that is lost takes those with it that build on it, to the next sample in full.
func TestLostLineCostsAtMostAMinute(t *testing.T) {
	if testing.Short() {
		t.Skip("need: more time than -short leaves")
	}
	b := published4kB()
	b.seconds = 150
	lines := bytes.SplitAfter(recorded(t, b), []byte("\n"))
	const lost = 20
	run, err := parseRun(bytes.NewReader(bytes.Join(append(lines[:lost:lost], lines[lost+1:]...), nil)))
	if err != nil {
		t.Fatal(err)
	}
	want := len(b.samples()) - (wholeEvery - lost + 1)
	if len(run.Samples) != want || len(run.Warnings) != 1 || !strings.Contains(run.Warnings[0], "follows a sample that could not be read") {
		t.Errorf("%d samples, want %d; %q", len(run.Samples), want, run.Warnings)
	}
	for i := 1; i < len(run.Samples); i++ {
		if d := run.Samples[i].T - run.Samples[i-1].T; d < time.Second {
			t.Errorf("sample %d comes %v after the one before", i, d)
		}
	}
}
