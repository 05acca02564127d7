package probes

import (
	"testing"
	"time"
)

func TestNumbers(t *testing.T) {
	for want, got := range map[string]string{
		"0": Short(0), "0.147": Short(0.147), "2.73": Short(2.73), "54.3 k": Short(54263), "16.3 G": Short(16.285e9),
		"1.00 k": Short(999.6), "999": Short(999.4), "−7.30": Short(-7.3), "n/a": Short(1 / zero()),
		"1,397,551": Number(1397551), "8": Number(8), "0.137": Number(0.137), "−1,000": Number(-1000), "999,999": Number(999999),
		"67.1 G": Count(67.08e9), "55,902": Count(55902.04),
		"128 kB": Memory(128), "5.14 MB": Memory(5268), "424 MB": Memory(434176), "40 GB": Memory(40 << 20), "0 kB": Memory(0),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func zero() float64 { return 0 }

func TestPlural(t *testing.T) {
	for want, got := range map[string]string{"1 run": Plural(1, "run"), "0 runs": Plural(0, "run"), "2,109 pages": Plural(2109, "page"), "5 processes": Plural(5, "process")} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAbout(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "about 0 s", 40 * time.Second: "about 40 s", 89 * time.Second: "about 89 s", 90 * time.Second: "about 2 min",
		164 * time.Second: "about 3 min", 89 * time.Minute: "about 89 min", 90 * time.Minute: "about 1.5 h", 50 * time.Hour: "about 50.0 h",
	} {
		if got := About(d); got != want {
			t.Errorf("%v: %q, not %q", d, got, want)
		}
	}
}
