package tui

import (
	"strings"
	"testing"
	"time"

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
		figs: []fig{{"now 1", stOne, 4}, {"run 2", stOne, 3}}, tight: []fig{{"1", stOne, 4}, {"run 2", stOne, 3}}}
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
