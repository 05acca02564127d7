package probes

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParseDecimal(t *testing.T) {
	for in, want := range map[string]uint64{"0": 0, "7": 7, "18446744073709551615": 1<<64 - 1} {
		if n, ok := parseDecimal([]byte(in)); !ok || n != want {
			t.Errorf("%q gives %d, %v", in, n, ok)
		}
	}
	for _, in := range []string{"", "-1", "1 ", "0x1", "18446744073709551616", "99999999999999999999999"} {
		if n, ok := parseDecimal([]byte(in)); ok {
			t.Errorf("%q gives %d", in, n)
		}
	}
}

func TestParseTHPChoice(t *testing.T) {
	for in, want := range map[string]string{
		"always [madvise] never\n": "madvise", "[always]": "always", "never\n": "never",
		"": "", "always never": "", "[] x": "",
	} {
		got, ok := parseTHPChoice(in)
		if got != want || ok != (want != "") {
			t.Errorf("%q gives %q, %v; want %q", in, got, ok, want)
		}
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"SELECT 'ünïcode 表 🐘'": "SELECT 'ünïcode 表 🐘'",
		"a\x1b[31mred\x1b[0m":  "a [31mred [0m",
		"two\nlines\tand\x00":  "two lines and ",
		"bad \xff\xfe utf8":    "bad \uFFFD\uFFFD utf8",
		"real \uFFFD stays":    "real \uFFFD stays",
		"c1 \u009b31m":         "c1  31m",
		"bidi \u202Eevil":      "bidi evil",
		"zero\u200Bwidth":      "zerowidth",
		"line\u2028separator":  "line separator",
		"":                     "",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"plain", "\x1b]0;title\x07", "\xff", "\u202e", "\u0085"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c := Clean(s)
		if !utf8.ValidString(c) {
			t.Fatalf("%q is not UTF-8", c)
		}
		for _, r := range c {
			if fate(r) != keep {
				t.Fatalf("%q keeps %U", c, r)
			}
		}
		if Clean(c) != c {
			t.Fatalf("cleaning %q again changes it", c)
		}
	})
}

func FuzzParseVMStat(f *testing.F) {
	f.Add([]byte("pgfault 12\npgmajfault 3\nthp_fault_alloc 0\ncompact_stall 1\nother x\n"))
	f.Add([]byte("pgfault\n"))
	f.Add([]byte("pgfault 1 2"))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := parseVMStat(b)
		if err != nil {
			return
		}
		for name := range v {
			if !bytes.Contains(b, []byte(name)) {
				t.Fatalf("%s is not in %q", name, b)
			}
		}
		readings, misses := vmstatReadings(v, true)
		if len(readings)+len(misses) != 5 {
			t.Fatalf("%d readings and %d misses of 5 metrics", len(readings), len(misses))
		}
	})
}

func FuzzParseTLBShootdowns(f *testing.F) {
	f.Add([]byte("   CPU0 CPU1\nTLB:  1  2   TLB shootdowns\n"))
	f.Add([]byte("TLB:\n"))
	f.Add([]byte("ERR: 0"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, err := parseTLBShootdowns(b)
		if err == nil && !bytes.Contains(b, []byte("TLB:")) {
			t.Fatalf("found a row in %q", b)
		}
		if errors.Is(err, ErrUnavailable) && strings.HasPrefix(string(b), "TLB:") {
			t.Fatalf("did not see the row in %q", b)
		}
	})
}

func FuzzParseCPUTimes(f *testing.F) {
	f.Add([]byte("cpu  1 2 3 4 5 6 7 8 9 10\nprocs_running 2\nbtime 9\n"))
	f.Add([]byte("cpu 1 2\n"))
	f.Add([]byte("cpu0 1 2 3 4\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := parseCPUTimes(b)
		if err == nil && !bytes.Contains(b, []byte("cpu")) {
			t.Fatalf("%q gives %+v", b, c)
		}
	})
}

func FuzzParseCPUInfo(f *testing.F) {
	f.Add([]byte("processor\t: 0\nmodel name\t: X\nflags : a hypervisor\n"))
	f.Add([]byte("CPU implementer : 0x41\nCPU part : 0xd0c\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := parseCPUInfo(b)
		if c.model != Clean(c.model) || c.count < 0 {
			t.Fatalf("%q gives %+v", b, c)
		}
	})
}

func FuzzParsePoolName(f *testing.F) {
	f.Add("hugepages-2048kB")
	f.Add("hugepages-0kB")
	f.Fuzz(func(t *testing.T, name string) {
		kb, ok := parsePoolName(name)
		if ok && (kb <= 0 || !strings.Contains(name, "kB")) {
			t.Fatalf("%q gives %d", name, kb)
		}
	})
}
