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
// last line ends in an ellipsis when there was more. A word that is longer than
// a line goes on in the next.
func wrap(s string, w, n int) []string {
	if w <= 0 || n <= 0 {
		return nil
	}
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		if len(lines) > n {
			break
		}
		if line != "" && textWidth(line)+1+textWidth(word) <= w {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for line = word; textWidth(line) > w && len(lines) <= n; {
			first, rest := split(line, w)
			lines, line = append(lines, first), rest
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	if len(lines) > n {
		lines = lines[:n]
		lines[n-1] = truncate(lines[n-1]+" …", w)
	}
	return lines
}

// split cuts s after at most w cells, but not before its first character.
func split(s string, w int) (first, rest string) {
	used := 0
	for rest = s; len(rest) > 0; {
		_, cw, after := nextCluster(rest)
		if used+cw > w && len(rest) < len(s) {
			break
		}
		used += cw
		rest = after
	}
	return s[:len(s)-len(rest)], rest
}

// wrapMiddle is wrap for a message whose end says most, such as an error's
// reason: what does not fit is left out in the middle, of long paths first.
func wrapMiddle(s string, w, n int) []string {
	lines := wrap(s, w, n+1)
	if len(lines) <= n || w <= 0 || n <= 0 {
		return lines
	}
	short := s
	for path := w; path >= w/3; path -= max(1, w/8) {
		short = shortPaths(s, path)
		if lines = wrap(short, w, n+1); len(lines) <= n {
			return lines
		}
	}
	for room := w * n; room > 0 && len(lines) > n; room -= max(1, w/16) {
		lines = wrap(middle(short, room), w, n+1)
	}
	return lines[:min(n, len(lines))]
}

// shortPaths leaves out the middle of paths longer than w.
func shortPaths(s string, w int) string {
	words := strings.Fields(s)
	for i, word := range words {
		if strings.Contains(word, "/") {
			words[i] = middle(word, w)
		}
	}
	return strings.Join(words, " ")
}

// middle shortens s to at most w cells by leaving out its middle.
func middle(s string, w int) string {
	total := textWidth(s)
	if total <= w {
		return s
	}
	head, rest := split(s, max(1, w/2))
	for skip := total - textWidth(head) - (w - textWidth(head) - 1); skip > 0 && rest != ""; {
		_, cw, after := nextCluster(rest)
		skip -= cw
		rest = after
	}
	return head + "…" + rest
}
