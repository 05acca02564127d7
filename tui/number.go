package tui

import (
	"fmt"
	"math"
	"strings"
	"time"

	"pgtlb/probes"
)

// percent writes a share.
func percent(v float64) string { return probes.Short(v) + " %" }

// trimmed writes an axis label: zeros behind the point say nothing there.
func trimmed(format func(float64) string) func(float64) string {
	return func(v float64) string {
		if v == 0 {
			return "0"
		}
		number, unit, _ := strings.Cut(format(v), " ")
		if strings.Contains(number, ".") {
			number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
		}
		if unit == "" || unit == "%" {
			return number
		}
		return number + " " + unit
	}
}

// valueText writes a value of a metric with its unit where the unit is short.
func valueText(m probes.Metric, v float64) string {
	switch m.Unit {
	case "kB":
		return probes.Memory(v)
	case "%":
		return percent(v)
	}
	return probes.Short(v)
}

// clock writes a duration as 01:24 or 1:02:03.
func clock(d time.Duration) string {
	s := int(max(0, d) / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%02d:%02d", s/60, s%60)
}

// age writes how long something has been there, in its largest unit.
func age(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d d", d/(24*time.Hour))
}

// niceMax rounds up to a number that makes a short axis label.
func niceMax(v float64) float64 {
	if !(v > 0) || math.IsInf(v, 0) {
		return 1
	}
	base := math.Pow(10, math.Floor(math.Log10(v)))
	for _, f := range []float64{1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8} {
		if v <= f*base*(1+1e-9) {
			return f * base
		}
	}
	return 10 * base
}

// niceSize is niceMax for kilobytes: round in the unit that is shown.
func niceSize(kb float64) float64 {
	unit := 1.0
	for kb/unit >= 1023.5 {
		unit *= 1024
	}
	return niceMax(kb/unit) * unit
}
