package probes

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes text from outside, such as a query or an application name, safe
// to draw and to write: control characters become spaces, what is not UTF-8
// becomes the replacement character, and characters that show nothing and
// change how others are laid out (direction marks, zero-width ones) are
// dropped. Text that is clean already is returned as it is.
func Clean(s string) string {
	clean := true
	for i, r := range s {
		if fate(r) != keep || (r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD")) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		switch fate(r) {
		case keep:
			b.WriteRune(r)
		case blank:
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// What Clean does with a character.
const (
	keep = iota
	blank
	drop
)

func fate(r rune) int {
	switch {
	case unicode.IsControl(r), r == '\u2028', r == '\u2029':
		return blank
	case unicode.Is(unicode.Cf, r):
		return drop
	}
	return keep
}
