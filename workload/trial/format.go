package trial

import (
	"math"
	"strconv"
	"time"

	"pgtlb/probes"
)

// Seconds writes a length of time in words of a report: "25 s", "2 min 5 s".
func Seconds(s float64) string {
	if s < 120 {
		return probes.Number(math.Round(s*10)/10) + " s"
	}
	d := time.Duration(s * float64(time.Second)).Round(time.Second)
	h, m, sec := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60
	if h > 0 {
		return strconv.Itoa(h) + " h " + strconv.Itoa(m) + " min"
	}
	return strconv.Itoa(m) + " min " + strconv.Itoa(sec) + " s"
}

// Level writes the value of a metric with its unit: a gauge's level, a ratio, a
// counter's growth per second.
func Level(m probes.Metric, v float64) string {
	switch {
	case m.Unit == "kB":
		return probes.Memory(v)
	case m.Unit == "s" && m.Kind == probes.Counter:
		return probes.Number(v) + " CPUs" // seconds of CPU time per second
	case m.Kind == probes.Counter:
		return probes.Count(v) + "/s"
	case m.Unit == "txn/s":
		return probes.Count(v)
	}
	return probes.Count(v) + " " + m.Unit
}

// TotalText writes what a counter grew by: "1,397,551", "8.1 s" for time. Where
// parts of the window were not read, it is the least that it can be: "≥ 1,397,551".
func TotalText(m probes.Metric, f Figure) string {
	text := probes.Count(f.Total)
	if m.Unit == "s" {
		text = probes.Number(f.Total) + " s"
	}
	if f.Uncovered > 0 {
		text = "≥ " + text
	}
	return text
}

// FigureText writes a figure for a table: "1,397,551 (55,902/s)" for a counter,
// the value with its unit for others, "n/a" where there is none.
func FigureText(m probes.Metric, f Figure) string {
	switch {
	case !f.OK():
		return "n/a"
	case m.Kind == probes.Counter:
		return TotalText(m, f) + " (" + Level(m, f.Value) + ")"
	}
	return Level(m, f.Value)
}
