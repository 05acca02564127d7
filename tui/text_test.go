package tui

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

func TestTruncate(t *testing.T) {
	for _, c := range []struct {
		in   string
		w    int
		want string
	}{
		{"point-select", 12, "point-select"}, {"point-select", 8, "point-s…"}, {"point select", 7, "point…"},
		{"日本語", 6, "日本語"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"}, {"x", 0, ""}, {"xy", 1, "…"}, {"e\u0301a", 2, "e\u0301a"},
	} {
		if got := truncate(c.in, c.w); got != c.want {
			t.Errorf("truncate(%q, %d) = %q, want %q", c.in, c.w, got, c.want)
		}
	}
}

func TestWrap(t *testing.T) {
	got := wrap("use another host, or have the virtual PMU enabled", 20, 2)
	want := []string{"use another host, or", "have the virtual PM…"}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWrapBreaksLongWords(t *testing.T) {
	if got := strings.Join(wrap("see /var/lib/postgresql/15 日本語", 10, 9), "|"); got != "see|/var/lib/p|ostgresql/|15 日本語" {
		t.Errorf("got %q", got)
	}
}

func TestWrapMiddleKeepsBothEnds(t *testing.T) {
	for _, c := range []struct {
		in   string
		w, n int
		want string
	}{
		{"no space left", 20, 1, "no space left"},
		{"writing /home/somebody/.local/state/pgtlb/runs/x.ndjson: no space left", 30, 3, "writing|/home/somebody/…runs/x.ndjson:|no space left"},
		{"one two three four five six seven", 16, 1, "one two …x seven"},
	} {
		if got := strings.Join(wrapMiddle(c.in, c.w, c.n), "|"); got != c.want {
			t.Errorf("wrapMiddle(%q, %d, %d) = %q, want %q", c.in, c.w, c.n, got, c.want)
		}
	}
}

// Whatever the text is, what is drawn has no control character and exactly the
// width that is asked for.
func FuzzText(f *testing.F) {
	for _, s := range []string{"SELECT 1", "\x1b[31mred\x1b[m", "日本語", "\xff\xfe", "e\u0301", "👩‍👩‍👧", "\u202eback", "a\tb\nc", "\u009b31m", "\x1b]0;title\x07"} {
		f.Add(s, 8)
	}
	f.Fuzz(func(t *testing.T, s string, w int) {
		if w < 1 || w > 200 {
			return
		}
		for _, text := range []string{s, clean(s)} {
			c := newCanvas(w, 1)
			c.fit(0, 0, w, text, stPlain)
			out := c.render(theme{})
			if got := ansi.StringWidth(out); got != w {
				t.Errorf("%q in %d cells: %d wide: %q", text, w, got, out)
			}
			if !utf8.ValidString(out) || strings.ContainsFunc(out, unicode.IsControl) {
				t.Errorf("%q in %d cells: %q", text, w, out)
			}
		}
	})
}
