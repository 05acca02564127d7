package tui

import (
	"math"
	"strings"
	"testing"

	"pgtlb/probes"
)

// drawn returns a chart as text.
func drawn(ch *chart, w, h int, ascii bool) []string {
	c := newCanvas(w, h)
	ch.draw(c, rect{0, 0, w, h}, ascii)
	return strings.Split(c.render(theme{ascii: ascii}), "\n")
}

func TestChartLineASCII(t *testing.T) {
	ch := &chart{x0: 0, x1: 9, label: probes.Short, lines: []line{
		{glyph: '*', points: []point{{0, 0, true}, {3, 30, false}, {6, 30, true}, {9, 0, false}}}}}
	got := strings.Join(drawn(ch, 16, 4, true), "\n")
	want := strings.Join([]string{
		"   30|   *  *   ",
		"     |  *    *  ",
		"     | *      * ",
		"    0|*        *",
	}, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestChartGapStaysAGap(t *testing.T) {
	for _, gap := range []bool{false, true} {
		ch := &chart{x0: 0, x1: 10, label: probes.Short, lines: []line{
			{points: []point{{0, 1, true}, {1, 1, false}, {9, 1, gap}, {10, 1, false}}}}}
		line := drawn(ch, 26, 4, false)[0]
		blank := strings.Contains(line, strings.Repeat(" ", 10))
		if blank != gap {
			t.Errorf("gap %v: the middle is blank: %v\n%s", gap, blank, line)
		}
	}
}

// The baseline is there without colour: its dots do not touch.
func TestChartBaselineIsDotted(t *testing.T) {
	flat := []point{{0, 1, true}, {10, 1, false}}
	solid := &chart{x0: 0, x1: 10, label: probes.Short, lines: []line{{points: flat}}}
	dotted := &chart{x0: 0, x1: 10, label: probes.Short, lines: []line{{points: flat, dotted: true}}}
	dots := func(lines []string) int {
		n := 0
		for _, r := range strings.Join(lines, "") {
			if r > 0x2800 && r < 0x2900 {
				for bits := r - 0x2800; bits > 0; bits >>= 1 {
					n += int(bits & 1)
				}
			}
		}
		return n
	}
	s, d := dots(drawn(solid, 36, 4, false)), dots(drawn(dotted, 36, 4, false))
	if s != 60 || d != 20 {
		t.Errorf("solid line of %d dots, dotted of %d; want 60 and 20", s, d)
	}
}

func TestChartStackASCII(t *testing.T) {
	flat := func(y float64) []point { return []point{{0, y, true}, {3, y, false}} }
	ch := &chart{x0: 0, x1: 3, label: probes.Short, stack: true, nice: func(v float64) float64 { return v }, lines: []line{
		{glyph: '#', points: flat(2)}, {glyph: 'k', points: flat(1)}}}
	got := strings.Join(drawn(ch, 14, 4, true), "\n")
	want := strings.Join([]string{
		"    3|kkkkkkkk", "     |########", "     |########", "    0|########"}, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Where lines are close to each other and far from zero, a loose axis begins
// above zero and says so; noise is not blown up.
func TestChartLooseAxis(t *testing.T) {
	two := func(a, b float64) *chart {
		return &chart{x0: 0, x1: 1, loose: true, label: probes.Short, lines: []line{
			{points: []point{{0, a, true}, {1, a, false}}}, {points: []point{{0, b, true}, {1, b, false}}, dotted: true}}}
	}
	for _, c := range []struct {
		a, b   float64
		wantLo bool // above zero
	}{{54300, 58600, true}, {54300, 54310, true}, {100, 20, false}, {0, 0, false}} {
		ch := two(c.a, c.b)
		s := ch.span()
		if (s.lo > 0) != c.wantLo || s.lo > min(c.a, c.b) || s.hi < max(c.a, c.b) {
			t.Errorf("%v and %v: axis from %v to %v", c.a, c.b, s.lo, s.hi)
		}
		if s.lo > 0 && (s.hi-s.lo)/s.hi < looseShare {
			t.Errorf("%v and %v: axis from %v to %v shows noise as a difference", c.a, c.b, s.lo, s.hi)
		}
	}
}

func TestPointsBreakAtMissingFramesAndValues(t *testing.T) {
	frames := demo{seconds: 6}.frames(6, false, 1)
	frames[1].Values[probes.Key{ID: probes.PageTables}] = probes.Value{Missing: "not read"}
	frames = append(frames[:4], frames[5:]...) // the fifth second is missing
	got := points(frames, 0, probes.PageTables, "")
	want := []struct {
		x   float64
		gap bool
	}{{1, true}, {3, true}, {4, false}, {6, true}}
	if len(got) != len(want) {
		t.Fatalf("%d points, want %d", len(got), len(want))
	}
	for i, w := range want {
		if got[i].x != w.x || got[i].gap != w.gap {
			t.Errorf("point %d at %v with gap %v, want %v and %v", i, got[i].x, got[i].gap, w.x, w.gap)
		}
	}
}

func TestNiceMax(t *testing.T) {
	for _, v := range []float64{1e-9, 0.147, 1, 54300, 7.2e9, 999.99} {
		if n := niceMax(v); n < v || n > v*2.1 {
			t.Errorf("niceMax(%v) = %v", v, n)
		}
	}
	for _, v := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if n := niceMax(v); n != 1 {
			t.Errorf("niceMax(%v) = %v, want 1", v, n)
		}
	}
	if n := niceSize(433 * 1024); n != 500*1024 {
		t.Errorf("niceSize(433 MB) = %v kB", n)
	}
}

func BenchmarkPane(b *testing.B) {
	st := demo{seconds: 100, loads: 1, pmu: true, compare: true}.state()
	sc := newScene(&st, 60, false)
	c := newCanvas(60, 7)
	for b.Loop() {
		sc.build(paneLatency).draw(c, rect{0, 0, 60, 7}, sc, false)
	}
}

func BenchmarkScreen(b *testing.B) {
	st := demo{seconds: 100, loads: 1, pmu: true, compare: true}.state()
	m := newModel(still{}, Options{width: 120, height: 40}, nil, nil)
	m.st = &st
	for b.Loop() {
		m.screen()
	}
}

// A single peak does not flatten what is usual, and its height is said.
func TestChartCutsPeaks(t *testing.T) {
	var l line
	for i := range 30 {
		l.points = append(l.points, point{float64(i), 0.4, i == 0})
	}
	l.points[3].y = 1200
	ch := &chart{x0: 0, x1: 29, label: probes.Short, cut: true, lines: []line{l}}
	if s := ch.span(); s.hi > 1 {
		t.Errorf("the axis goes to %v", s.hi)
	}
	if top := drawn(ch, 40, 5, false)[0]; !strings.Contains(top, "▲ up to 1.20 k") {
		t.Errorf("the peak is not told: %q", top)
	}
	ch.lines[0].points[3].y = 1.2
	if s := ch.span(); s.hi < 1.2 {
		t.Errorf("a small peak is cut at %v", s.hi)
	}
}
