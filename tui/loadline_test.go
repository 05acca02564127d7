package tui

import (
	"strings"
	"testing"
	"time"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

// TestLoadLine: what runs comes first and is never left out; the rest as far as
// it fits, and then how to see all.
func TestLoadLine(t *testing.T) {
	text := func(n, w, spare int) string {
		var words []string
		for _, f := range loadFigs(&trial.State{Loads: demoLoads(n, 84*time.Second)}, w, spare) {
			words = append(words, f.text)
		}
		return strings.Join(words, "  ")
	}
	for _, c := range []struct {
		running, w, spare int
		want              string
	}{
		{0, 60, 0, "○ 1 point-select  ○ 2 join-aggregate  l all 14"},
		{0, 60, 20, "○ 1 point-select  l all 14"},
		{1, 78, 0, "● 1 point-select 8 clients 01:24  ○ 2 join-aggregate  l all 14"},
		{1, 40, 0, "● 1 point-select 01:24  l all 14"},
		{3, 78, 30, "● 1 point-select  ● 2 join-aggregate  ● 3 many-backends  l all 14"},
		{4, 60, 0, "●1  ●2  ●3  ●4  ○ 5 sbtest-point-select  l all 14"},
		{14, 80, 0, "●1  ●2  ●3  ●4  ●5  ●6  ●7  ●8  ●9  ●planning  ●temp-ta…  ●report  ●churn  ●custom"},
	} {
		if got := text(c.running, c.w, c.spare); got != c.want {
			t.Errorf("%d running in %d cells: %q, want %q", c.running, c.w, got, c.want)
		}
	}
	if got, want := text(0, 400, 0), 14; strings.Count(got, "○") != want || strings.Contains(got, "l all") {
		t.Errorf("with room for all: %q", got)
	}
}

// TestLegend names the loads as long as their names can be told apart, then by
// their digits.
func TestLegend(t *testing.T) {
	list := []named{{"1", "point-select", "44.1 k", "o", stTwo}, {"2", "join-aggregate", "8.27 k", "x", stThree}, {"", "custom", "3", "+", stBase}}
	for w, want := range map[int]string{
		80: "o point-select 44.1 k  x join-aggregate 8.27 k  + custom 3",
		50: "o point-se… 44.1 k  x join-agg… 8.27 k  + custom 3",
		40: "1: 44.1 k  2: 8.27 k  cus…: 3",
		22: "1: 44.1 k  2: 8.27 k",
	} {
		var words []string
		for _, f := range legendFigs(list, w) {
			words = append(words, f.text)
		}
		if got := strings.Join(words, "  "); got != want {
			t.Errorf("in %d cells: %q, want %q", w, got, want)
		}
	}
}

// TestFilled: the ceiling is that of the backends that are there, in the pages
// that are proved.
func TestFilled(t *testing.T) {
	state := func(pageKB int, sum float64) *scene {
		before := probes.Frame{}
		f := probes.Frame{T: 30 * time.Second, Values: map[probes.Key]probes.Value{{ID: probes.PageTableBackendsSum}: {V: sum}}}
		for i := range 3 {
			row := probes.BackendRow{Backend: probes.Backend{Pid: i, Role: "client", Own: i == 2, Mem: &probes.BackendMem{}}}
			before.Backends = append(before.Backends, row)
			row.Mem = &probes.BackendMem{PageTables: uint64(30 * (i + 1))}
			f.Backends = append(f.Backends, row)
		}
		before.Clients, f.Clients = probes.ClientTables(before.Backends), probes.ClientTables(f.Backends)
		st := trial.State{History: []probes.Frame{before, f}, Server: probes.ServerInfo{SharedMemoryKB: 1 << 20, HugePages: probes.HugePages{PageKB: pageKB}}}
		return newScene(&st, 60, false)
	}
	for _, c := range []struct {
		pageKB int
		sum    float64
		want   string
	}{
		{4, 2000, "1.95 of at most 4.27 MB"}, // two backends, each 512 tables of 4 kB, 2 above them and 128 kB
		{2048, 200, "200 of at most 272 kB"},
		{2048, 400, "400 kB, computed 272 kB"},
		{0, 400, ""},
	} {
		text, growth := state(c.pageKB, c.sum).filled()
		if text != c.want || growth != "+90 kB/min each" {
			t.Errorf("pages of %d kB: %q, %q; want %q", c.pageKB, text, growth, c.want)
		}
	}
}

// TestSpotOfALongLine keeps the caret in sight.
func TestSpotOfALongLine(t *testing.T) {
	line := "\\set x " + strings.Repeat("1 + ", 40) + "nonsense here"
	at := strings.Index(line, "nonsense")
	got := spotLines([]string{line, strings.Repeat(" ", at) + "^ error found here"}, 40)
	caret := strings.IndexByte(got[1].text, '^')
	if caret < 0 || !strings.HasPrefix(got[0].text[caret:], "nonsense") || textWidth(got[0].text) > 40 || textWidth(got[1].text) > 40 {
		t.Errorf("%q\n%q", got[0].text, got[1].text)
	}
}

func TestScriptLinesKeepTheirIndentation(t *testing.T) {
	for line, want := range map[string]string{
		"  FROM a JOIN b": "  FROM a J|  OIN b", "\tSELECT 1": "    SELECT|   1", "": "", "short": "short",
	} {
		if got := strings.Join(codeLines(line, 10), "|"); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func TestGrouped(t *testing.T) {
	for in, want := range map[string]string{"6000000": "6,000,000", "1000": "1000", "-12345": "-12,345", "0.001": "0.001", "prepared": "prepared", "9223372036854775807": "9,223,372,036,854,775,807"} {
		if got := grouped(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
