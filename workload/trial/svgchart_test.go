package trial

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"pgtlb/probes"
)

func TestChartsAreWellFormedAndEscaped(t *testing.T) {
	y := 3.0
	drawings := map[string]string{
		"lines": string(lineSVG(Chart{Title: `<script>"&`, Unit: "<kB>", Series: []Series{
			{Name: "<current>", Points: []Point{{0, &y}, {1, nil}, {2, &y}, {3, &y}}}, {Name: "&base", Base: true, Points: []Point{{0, nil}}},
		}})),
		"no points": string(lineSVG(Chart{Series: []Series{{Name: "current"}}})),
		"bars":      string(barSVG(Bars{Current: []uint64{5, 0}, Base: []uint64{5000}})),
		"no bars":   string(barSVG(Bars{})),
	}
	for name, text := range drawings {
		d := xml.NewDecoder(strings.NewReader(text))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Errorf("%s: %v in %s", name, err, text)
				break
			}
			if e, ok := token.(xml.StartElement); ok && e.Name.Local == "script" {
				t.Errorf("%s holds a script", name)
			}
		}
		if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("%s holds a number that is none: %s", name, text)
		}
	}
	// Two strokes: a lone point drawn as a dot, and the line behind the gap.
	if got := strings.Count(path([]Point{{0, &y}, {1, nil}, {2, &y}, {3, &y}}, 3, 4), "M"); got != 2 {
		t.Errorf("a line with a gap has %d strokes, want 2", got)
	}
}

func TestMissingSamplesLeaveAGap(t *testing.T) {
	b := published4kB()
	run := b.run()
	run.Samples = append(run.Samples[:10], run.Samples[15:]...)
	s, ok := seriesOf(probes.TPS, Frames(run))
	if !ok {
		t.Fatal("no series")
	}
	gaps := 0
	for _, p := range s.Points {
		if p.Y == nil {
			gaps++
		}
	}
	if gaps != 1 {
		t.Errorf("%d gaps, want 1", gaps)
	}
}

func TestRestOfAnIntervalIsNoPoint(t *testing.T) {
	b := published4kB()
	run := b.run()
	last := &run.Samples[len(run.Samples)-1]
	last.T -= 990 * time.Millisecond // 10 ms after the one before
	s, _ := seriesOf(probes.TPS, Frames(run))
	if got := len(s.Points); got != b.seconds-1 {
		t.Errorf("%d points of %d whole seconds", got, b.seconds-1)
	}
}

func TestLongRunsAreThinned(t *testing.T) {
	points := make([]Point, 86_400)
	for i := range points {
		v := float64(i % 2)
		points[i] = Point{X: float64(i), Y: &v}
	}
	out := thin(points)
	if len(out) > mostPoints || *out[7].Y != 0.5 || out[len(out)-1].X != 86_399 {
		t.Errorf("%d points, one is %v, the last at %v", len(out), *out[7].Y, out[len(out)-1].X)
	}
}

func TestScalesAreRound(t *testing.T) {
	for _, c := range []struct {
		top  float64
		unit string
		want string
	}{
		{54263, "txn/s", "0 20 k 40 k 60 k"}, {0.147, "ms", "0 0.05 0.1 0.15"}, {434176, "kB", "0 200 MB 400 MB 600 MB"},
		{0, "faults/s", "0 0.5 1"}, {3, "pages", "0 1 2 3"}, {1000, "x", "0 500 1 k"},
	} {
		s := newScale(c.top, c.unit)
		words := make([]string, len(s.ticks))
		for i, v := range s.ticks {
			words[i] = s.tick(v)
		}
		if got := strings.Join(words, " "); got != c.want {
			t.Errorf("axis to %v %s is %q, want %q", c.top, c.unit, got, c.want)
		}
	}
}
