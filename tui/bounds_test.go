package tui

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

// hostile is a state whose texts try to break the screen.
func hostile() trial.State {
	st := demo{seconds: 20, loads: 2, pmu: true}.state()
	last := &st.History[len(st.History)-1]
	bad := []string{"SELECT '\x1b[2J\x1b[31mred'", "tab\tand\nnewline\r", "日本語のクエリ 日本語のクエリ", "e\u0301 👩‍👩‍👧 \u202eback", "\xff\xfe not UTF-8", strings.Repeat("long ", 100), "\u009b31m"}
	for i := range last.Backends {
		last.Backends[i].Query = bad[i%len(bad)]
		last.Backends[i].Wait = bad[(i+1)%len(bad)]
		last.Backends[i].Role = bad[(i+2)%len(bad)]
	}
	st.Server.Version = "17\x1b[31m"
	st.Loads[0].Name = bad[2]
	st.Notices = []trial.Notice{{Text: bad[5]}, {Text: bad[0], Error: true}}
	st.Unavailable = append(st.Unavailable, probes.Miss{ID: probes.CyclesUser, Reason: bad[5], Remedy: bad[2]})
	return st
}

// A frame is exactly as large as the screen, at every size and in every state.
func TestFramesFillTheScreenExactly(t *testing.T) {
	if testing.Short() {
		t.Skip("need: more time than -short leaves")
	}
	type view struct {
		st   trial.State
		keys []string
	}
	views := []view{{st: hostile()}}
	for _, g := range goldens() {
		views = append(views, view{g.st, g.keys})
	}
	n := 0
	for w := 20; w <= 220; w++ {
		for h := 5; h <= 70; h++ {
			// Each size gets one of the views; its neighbours get the others. Of
			// the large sizes a fifth is enough.
			n++
			if (w > 100 || h > 45) && n%5 != 0 {
				continue
			}
			v := views[(n+n/5)%len(views)]
			screen := Snapshot(v.st, Options{ASCII: n%5 == 0}, w, h, v.keys...)
			lines := strings.Split(screen, "\n")
			if len(lines) != h {
				t.Fatalf("%dx%d %v: %d lines", w, h, v.keys, len(lines))
			}
			for y, l := range lines {
				if got := ansi.StringWidth(l); got != w {
					t.Fatalf("%dx%d %v: line %d is %d wide: %q", w, h, v.keys, y, got, l)
				}
				if got := ansi.StringWidthWc(l); got != w {
					t.Fatalf("%dx%d %v: line %d is %d wide on terminals that count runes: %q", w, h, v.keys, y, got, l)
				}
			}
		}
	}
}

// What comes from the server cannot send escape sequences to the terminal.
func TestServerTextIsHarmless(t *testing.T) {
	screen := Snapshot(hostile(), Options{NoColor: true}, 200, 50)
	for _, s := range regexp.MustCompile("\x1b[^m]*m?").FindAllString(screen, -1) {
		if !regexp.MustCompile("^\x1b\\[[0-9;]*m$").MatchString(s) {
			t.Errorf("an escape sequence that is no style: %q", s)
		}
	}
	if strings.ContainsAny(screen, "\t\r\x07\u009b\u202e") || strings.Contains(screen, "\x1b[31m") {
		t.Error("control characters came through")
	}
	if !utf8.ValidString(screen) {
		t.Error("the screen is not UTF-8")
	}
}

// colour matches styles with a foreground or background colour.
var colour = regexp.MustCompile(`\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:[;:]\d*)*m`)

func TestNoColor(t *testing.T) {
	for _, g := range goldens() {
		opts := Picture(Options{}, false)
		if !colour.MatchString(Snapshot(g.st, opts, 120, 40, g.keys...)) {
			t.Errorf("%s: no colour where colour is wanted", g.name)
		}
		opts.NoColor = true
		if s := colour.FindString(Snapshot(g.st, opts, 120, 40, g.keys...)); s != "" {
			t.Errorf("%s: colour code %q with NO_COLOR", g.name, s)
		}
	}
}

func TestSixteenColorsAreTheTerminalsOwn(t *testing.T) {
	opts := Picture(Options{}, false)
	opts.profile = colorprofile.ANSI
	if s := regexp.MustCompile(`\x1b\[[0-9;]*[34]8[;:]`).FindString(Snapshot(demo{seconds: 30, loads: 1}.state(), opts, 120, 40)); s != "" {
		t.Errorf("a colour beyond the palette: %q", s)
	}
}

func TestASCIIHoldsNothingElse(t *testing.T) {
	views := goldens()
	for _, size := range [][2]int{{120, 40}, {80, 24}, {40, 12}} {
		for _, g := range views {
			for i, r := range Snapshot(g.st, Options{ASCII: true}, size[0], size[1], g.keys...) {
				if r >= utf8.RuneSelf {
					t.Fatalf("%s at %v: %q at byte %d", g.name, size, r, i)
				}
			}
		}
		screen := Snapshot(hostile(), Options{ASCII: true}, size[0], size[1])
		if strings.ContainsFunc(screen, func(r rune) bool { return r >= utf8.RuneSelf }) {
			t.Errorf("server text came through at %v", size)
		}
	}
}

func TestAsciiHasASubstituteForEveryGlyph(t *testing.T) {
	for _, g := range goldens() {
		screen := ansi.Strip(Snapshot(g.st, Options{}, 120, 40, g.keys...))
		for _, r := range screen {
			if r >= utf8.RuneSelf && asciiOf(string(r)) == "?" {
				t.Errorf("%s: no substitute for %q", g.name, r)
			}
		}
	}
}
