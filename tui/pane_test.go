package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

func text(figs []fig) string {
	var words []string
	for _, f := range figs {
		words = append(words, f.text)
	}
	return strings.Join(words, " ")
}

// The server's own faults go first; the machine's stand beside them, and alone
// where the server's are not known.
func TestFaultsPane(t *testing.T) {
	st := demo{seconds: 60, loads: 1}.state()
	last := st.Last()
	for id, v := range map[string]float64{probes.ServerPageFaults: 1200, probes.PageFaultsMinor: 1900, probes.PageFaultsMajor: 2} {
		last.Values[probes.Key{ID: id}] = probes.Value{V: v}
	}
	st.Run.Summary.Figures[probes.Key{ID: probes.ServerPageFaults}] = trial.Figure{Value: 1000, Total: 54000}
	p := newScene(&st, 60, false).faultsPane()
	if got := text(p.figs) + " " + text(p.foot); got != "server 1.20 k │ minor 1.90 k major 2.00 total 54.0 k minor, major: system" {
		t.Errorf("got %q", got)
	}
	if !p.chart.lines[0].area || p.chart.lines[0].points[0].y != st.History[0].Get(probes.ServerPageFaults).V {
		t.Error("the area is not the server's faults")
	}
	for i := range st.History {
		delete(st.History[i].Values, probes.Key{ID: probes.ServerPageFaults})
	}
	if got := text(newScene(&st, 60, false).faultsPane().figs); got != "minor 1.90 k major 2.00" {
		t.Errorf("without the server's: %q", got)
	}
}

// A baseline that did not record the server's faults is compared by what both have.
func TestFaultsComparedByWhatBothHave(t *testing.T) {
	st := demo{seconds: 60, loads: 1, compare: true}.state()
	if p := newScene(&st, 60, false).faultsPane(); p.title != "Server faults/s" {
		t.Errorf("title %q", p.title)
	}
	delete(st.Baseline.Summary.Figures, probes.Key{ID: probes.ServerPageFaults})
	if p := newScene(&st, 60, false).faultsPane(); p.title != "Minor faults/s" || strings.Contains(text(p.figs), "n/a") {
		t.Errorf("title %q, figures %q", p.title, text(p.figs))
	}
}

// Where words are short of room, titles and figures get shorter before a figure
// is left out.
func TestPaneTitleFits(t *testing.T) {
	p := pane{title: "Latency p99 ms", shorter: []string{"p99 ms"},
		figs: []fig{{"now 1", stOne, 4}, {"run 2", stOne, 3}}, tight: [][]fig{{{"1", stOne, 4}, {"run 2", stOne, 3}}}}
	for _, c := range []struct {
		w           int
		title, figs string
	}{
		{26, "Latency p99 ms", "now 1 run 2"}, {25, "p99 ms", "now 1 run 2"}, {17, "p99 ms", "1 run 2"}, {13, "p99 ms", "run 2"}, {8, "p99 ms", ""},
	} {
		if title, figs := p.fit(c.w); title != c.title || text(figs) != c.figs {
			t.Errorf("%d cells: %q %q, want %q %q", c.w, title, text(figs), c.title, c.figs)
		}
	}
}

// While the second sample is on its way the panes say so, and not that there is
// nothing to measure.
func TestWaitingForTheSecondSample(t *testing.T) {
	st := demo{seconds: 1, mode: trial.Watching}.state()
	st.History[0].Values = map[probes.Key]probes.Value{}
	for _, size := range [][2]int{{120, 40}, {80, 24}} {
		screen := Snapshot(st, Options{}, size[0], size[1])
		if strings.Contains(screen, "not measured") || strings.Count(screen, "waiting for the second sample") < 3 {
			t.Errorf("%v:\n%s", size, screen)
		}
	}
}

// Both page modes show the same columns, query and age among them; only the
// memory that shared buffers lie in changes its name.
func TestColumnsOfBothPageModes(t *testing.T) {
	titles := func(hugetlb uint64, w int) string {
		st := demo{seconds: 20, loads: 1}.state()
		rows := st.Last().Backends
		for i := range rows {
			rows[i].Mem.Hugetlb = hugetlb
		}
		var words []string
		for _, c := range fitColumns(w, (&table{}).view(&st)) {
			words = append(words, c.title)
		}
		return strings.Join(words, " ")
	}
	for w, want := range map[int]string{
		76:  "PID ROLE STATE PAGE TABLES kB/s FAULTS/s USR% SYS%",
		116: "PID ROLE STATE PAGE TABLES kB/s SHARED FAULTS/s USR% SYS% AGE QUERY",
	} {
		if got := titles(0, w); got != want {
			t.Errorf("%d cells: %s", w, got)
		}
		if got := titles(4096, w); got != strings.Replace(want, "SHARED", "HUGETLB", 1) {
			t.Errorf("%d cells, huge pages: %s", w, got)
		}
	}
}

// The smallest screen names both loads that run, with their time.
func TestTwoLoadsOnTheSmallestScreen(t *testing.T) {
	screen := ansi.Strip(Snapshot(demo{seconds: 90, loads: 2}.state(), Options{}, 40, 12))
	if first, _, _ := strings.Cut(screen, "\n"); !strings.Contains(first, "●1 01:24 ●2 01:24") || !strings.Contains(first, "FELL BACK") {
		t.Errorf("the first line is %q", first)
	}
}

// A name has the room that it needs before the scope has any, and at 80 columns
// the newest value has its place.
func TestValueColumns(t *testing.T) {
	rows := []valueRow{{title: "page faults of the server /s"}}
	for w, want := range map[int]string{112: "METRIC 28 NOW 12 RUN 12 BASE 12 DIFFERENCE 12 SCOPE 7 VERDICT 12", 74: "METRIC 28 NOW 8 RUN 8 BASE 8 DIFFERENCE 11",
		66: "METRIC 28 RUN 8 BASE 8 DIFFERENCE 11", 34: "METRIC 12 RUN 9 DIFFERENCE 9"} {
		var words []string
		for _, c := range valueColumns(w, rows) {
			words = append(words, fmt.Sprint(c.title, " ", c.w))
		}
		if got := strings.Join(words, " "); got != want {
			t.Errorf("%d cells: %s, want %s", w, got, want)
		}
	}
}

// A restart's step shows how far it is in full; the bar gives the room.
func TestStepDetailBeforeBar(t *testing.T) {
	st := demo{seconds: 30}.state()
	st.Phase = trial.Changing
	st.Steps = []trial.Step{{Name: "prewarm", Done: 97_400, Total: 97_400, Unit: "pages", State: trial.StepRunning, Detail: "table and index"}}
	for _, size := range [][2]int{{120, 40}, {80, 24}} {
		if screen := Snapshot(st, Options{NoColor: true}, size[0], size[1]); !strings.Contains(ansi.Strip(screen), "97.4 k of 97.4 k pages") {
			t.Errorf("%v:\n%s", size, screen)
		}
	}
}

// pgtlb's own CPU time is said to be of one CPU.
func TestOwnCPUIsOfOneCPU(t *testing.T) {
	st := demo{seconds: 30}.state()
	if screen := ansi.Strip(Snapshot(st, Options{}, 120, 50, "tab", "tab", "tab", "tab", "tab", "enter")); !strings.Contains(screen, "own CPU, of 1 CPU") {
		t.Errorf("the zoom says nothing of it:\n%s", screen)
	}
	m, _ := press(t, &fakeEngine{}, st)
	glossary := ""
	for _, p := range (&help{}).lines(&m, 92) {
		glossary += p.text + " "
	}
	if !strings.Contains(glossary, "in percent of one CPU") {
		t.Error("the glossary says nothing of it")
	}
}

// The header says how much of the baseline the figures cover.
func TestCovered(t *testing.T) {
	frames := demo{loads: 1}.frames(36, false, 3)[6:] // 30 s of load
	b := trial.BaselineState{Frames: frames, Start: 6 * time.Second}
	for _, c := range []struct {
		seconds float64
		ended   bool
		want    string
	}{{11.98, false, "first 00:12"}, {29.9, false, "whole 00:30"}, {30, true, "whole 00:30"}} {
		b.Summary, b.Ended = &trial.Summary{Seconds: c.seconds}, c.ended
		if got := covered(&b); got != c.want {
			t.Errorf("%v s: %q, want %q", c.seconds, got, c.want)
		}
	}
	if b.Summary = nil; covered(&b) != "" {
		t.Error("nothing summed up, and yet a length")
	}
}
