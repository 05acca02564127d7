package probes

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Minus is the minus sign of texts, not the hyphen: it has the width of a plus.
const Minus = "−"

// Short writes a number in at most six characters for the screen: "54.3 k",
// "2.73", "16.3 G". Three digits are kept.
func Short(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "n/a"
	}
	sign := ""
	if v < 0 {
		sign, v = Minus, -v
	}
	for _, unit := range []string{"", " k", " M", " G", " T"} {
		// 999.5 would round to the four digits of 1000.
		if v < 999.5 {
			return sign + digits(v) + unit
		}
		v /= 1000
	}
	return sign + Number(v) + " P"
}

// digits keeps three significant digits of a number below 1000.
func digits(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v >= 99.95:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v >= 0.9995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v >= 0.0005:
		return strconv.FormatFloat(v, 'f', 3, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// Plural writes a number of things with its thousands apart: "1 run", "2,109 pages",
// "5 processes".
func Plural(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "s"):
		what += "e"
	}
	return Number(float64(n)) + " " + what + "s"
}

// Number writes a number for a report: whole with thousands separators from 1000
// on ("1,397,551"), three significant digits below ("0.147").
func Number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "n/a"
	}
	sign := ""
	if v < 0 {
		sign, v = Minus, -v
	}
	if v < 999.5 {
		return sign + trimZeros(digits(v), v)
	}
	return sign + group(strconv.FormatFloat(v, 'f', 0, 64))
}

// trimZeros writes a whole number without decimals: "8", not "8.00".
func trimZeros(s string, v float64) string {
	if v == math.Trunc(v) && strings.Contains(s, ".") {
		return strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// group puts a comma between each three digits.
func group(s string) string {
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Count is Number, but shortened where the digits would only hide the size: from
// 100 million on ("67.1 G").
func Count(v float64) string {
	if math.Abs(v) >= 1e8 {
		return Short(v)
	}
	return Number(v)
}

// About writes a length of time as people say it: "about 40 s", "about 12 min",
// "about 1.5 h".
func About(d time.Duration) string {
	switch {
	case d < 90*time.Second:
		return fmt.Sprintf("about %.0f s", d.Seconds())
	case d < 90*time.Minute:
		return fmt.Sprintf("about %.0f min", d.Minutes())
	}
	return fmt.Sprintf("about %.1f h", d.Hours())
}

// Memory writes an amount of memory given in kB of 1024 bytes, in the unit that
// suits: "128 kB", "5.14 MB", "40 GB".
func Memory(kB float64) string {
	units := []string{"kB", "MB", "GB", "TB"}
	i := 0
	v := math.Abs(kB)
	for v >= 1023.5 && i < len(units)-1 {
		v /= 1024
		i++
	}
	if kB < 0 {
		v = -v
	}
	return Number(v) + " " + units[i]
}
