package tui

import (
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// clean makes text that came from a server or a file safe to draw: one line,
// no control characters, no escape sequences, valid UTF-8.
func clean(s string) string {
	if plainASCII(s) {
		return s
	}
	s = strings.ToValidUTF8(ansi.Strip(s), "\uFFFD")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, s)
}

func plainASCII(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// textWidth is the number of cells that the canvas uses for s.
func textWidth(s string) int {
	if plainASCII(s) {
		return len(s)
	}
	width := 0
	for len(s) > 0 {
		_, w, rest := nextCluster(s)
		width += w
		s = rest
	}
	return width
}

// truncate cuts s to at most w cells; what was cut ends in an ellipsis. It looks
// no further than it needs, however long s is.
func truncate(s string, w int) string {
	if w <= 0 {
		return ""
	}
	var b strings.Builder
	used := 0
	for rest := s; len(rest) > 0; {
		var cluster string
		var cw int
		cluster, cw, rest = nextCluster(rest)
		if used+cw > w {
			return cut(b.String(), w) + "…"
		}
		b.WriteString(cluster)
		used += cw
	}
	return b.String()
}

// cut shortens s, which is at most w cells wide, until a cell is left, and takes
// blanks off its end.
func cut(s string, w int) string {
	keep := 0
	used := 0
	for rest := s; len(rest) > 0; {
		_, cw, after := nextCluster(rest)
		if used+cw > w-1 {
			break
		}
		used += cw
		keep = len(s) - len(after)
		rest = after
	}
	return strings.TrimRight(s[:keep], " ")
}

// wrap breaks s at spaces into lines of at most w cells and at most n lines; the
// last line ends in an ellipsis when there was more.
func wrap(s string, w, n int) []string {
	if w <= 0 || n <= 0 {
		return nil
	}
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		switch {
		case line == "":
			line = word
		case textWidth(line)+1+textWidth(word) <= w:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	if len(lines) > n {
		lines = lines[:n]
		lines[n-1] += " …"
	}
	for i := range lines {
		lines[i] = truncate(lines[i], w)
	}
	return lines
}
