package trial

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorded is a run file's content.
func recorded(t testing.TB, b builder) []byte {
	t.Helper()
	dir := t.TempDir()
	r, err := Create(dir, b.meta)
	if err != nil {
		t.Fatal(err)
	}
	run := b.run()
	for i := range run.Samples {
		if err := r.Append(&run.Samples[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(*run.End); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(r.Path())
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestRunCutAnywhereIsStillReadable(t *testing.T) {
	b := published4kB()
	b.seconds = 3
	content := recorded(t, b)
	header := bytes.IndexByte(content, '\n') + 1
	for _, cut := range []int{header, header + 10, (header + len(content)) / 2, len(content) - 2, len(content) - 1} {
		run, err := parseRun(bytes.NewReader(content[:cut]))
		if err != nil {
			t.Errorf("cut at %d of %d: %v", cut, len(content), err)
			continue
		}
		text := strings.Join(run.Gaps(), "\n")
		whole := content[cut-1] == '\n'
		if got := strings.Contains(text, "cut in the middle"); got == whole && cut != len(content)-1 {
			t.Errorf("cut at %d: warnings are %q", cut, run.Warnings)
		}
		if (run.End == nil) != strings.Contains(text, "interrupted") {
			t.Errorf("cut at %d: footer %v, warnings %q", cut, run.End, run.Warnings)
		}
	}
}

func TestForeignFilesAreRefusedInOneSentence(t *testing.T) {
	for content, want := range map[string]string{
		"":                                 "the file is empty",
		"hello\nworld\n":                   "not a pgtlb run",
		"{}\n":                             "not a pgtlb run",
		`{"header":null}` + "\n":           "not a pgtlb run",
		`{"sample":{"seq":1}}`:             "not a pgtlb run",
		`{"header":{"schema":99}}`:         "written by a newer pgtlb: format 99, this one reads up to 3",
		`{"header":{"schema":1,"name":7}}`: "the header is damaged",
		"\x7fELF\x02\x01\x01":              "not a pgtlb run",
	} {
		path := filepath.Join(t.TempDir(), "x.ndjson")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Read(path)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("reading %q: error %v, want one with %q", content, err, want)
		}
	}
	if _, err := Read(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is not a file") {
		t.Errorf("reading a directory: %v", err)
	}
}

func TestDamagedLinesAreLeftOut(t *testing.T) {
	b := published4kB()
	b.seconds = 5
	lines := strings.SplitAfter(string(recorded(t, b)), "\n")
	samples := len(b.samples())
	long := `{"sample":{"seq":1,"x":"` + strings.Repeat("y", longestLine) + "\"}}\n"
	for name, c := range map[string]struct {
		insert string
		want   string
	}{
		"nonsense":     {"}{\n", "line 4 could not be read and was left out"},
		"too long":     {long, "line 4 is too long and was left out"},
		"twice":        {lines[2], "line 4 is not later than the one before and was left out"},
		"another kind": {`{"picture":1}` + "\n", "line 4 is of an unknown kind and was left out"},
		"many":         {"}{\n}{\n}{\n", "line 4 could not be read and was left out, as were 2 later ones"},
	} {
		text := strings.Join(lines[:3], "") + c.insert + strings.Join(lines[3:], "")
		run, err := parseRun(strings.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(run.Warnings) != 1 || run.Warnings[0] != c.want {
			t.Errorf("%s: warnings %q, want %q", name, run.Warnings, c.want)
		}
		if len(run.Samples) != samples || run.End == nil {
			t.Errorf("%s: %d samples of %d, end %v", name, len(run.Samples), samples, run.End)
		}
	}
}

func TestLinesBehindTheFooterAreLeftOut(t *testing.T) {
	b := published4kB()
	b.seconds = 1
	content := recorded(t, b)
	_, samples, _ := bytes.Cut(content, []byte("\n"))
	run, err := parseRun(bytes.NewReader(append(bytes.Clone(content), samples...)))
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Samples) != len(b.samples()) || len(run.Warnings) != 1 || !strings.Contains(run.Warnings[0], "is behind the footer") {
		t.Errorf("%d samples, warnings %q", len(run.Samples), run.Warnings)
	}
	if _, err := parseRun(bytes.NewReader(append(content, content...))); err == nil || !strings.Contains(err.Error(), "more than one run") {
		t.Errorf("two runs in one file: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	b := published4kB()
	b.seconds = 2
	content := recorded(f, b)
	f.Add(content)
	f.Add(content[:len(content)/2])
	f.Add([]byte(`{"header":{"schema":1}}` + "\n" + `{"sample":{"t_ns":1,"batches":[{"r":[{"id":"latency","h":null}]}]}}`))
	f.Add([]byte(`{"header":{"schema":1}}` + "\n" + `{"sample":null}` + "\n" + `{"end":{"reason":""}}`))
	f.Add([]byte("{\"header\":{}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		run, err := parseRun(bytes.NewReader(data))
		if err != nil {
			return
		}
		frames := Frames(run)
		if len(frames) != len(run.Samples) {
			t.Errorf("%d frames of %d samples", len(frames), len(run.Samples))
		}
		Summarize(frames)
		FillEnd(frames)
		readTail(bytes.NewReader(data), int64(len(data)))
	})
}
