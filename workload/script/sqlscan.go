package script

import "strings"

// sqlScanner cuts SQL at the semicolons and backslashes that end a command, as psql does: not inside of quotes and
// comments, and for semicolons not inside of parentheses and bodies of functions either.
type sqlScanner struct {
	text string
	pos  int

	parens int
	bodies int     // depth of BEGIN and CASE in CREATE FUNCTION or PROCEDURE
	words  int     // identifiers of the statement so far
	first  [4]byte // of the first four: c(reate), o(r), r(eplace), f(unction) or p(rocedure), or 0

	out   strings.Builder // the command so far
	start int             // offset of its first byte
	begun bool            // a statement has begun since the last \;
	count int             // statements that have begun
}

// sqlEnd is what ended a command.
type sqlEnd uint8

const (
	endText sqlEnd = iota
	endSemicolon
	endBackslash // pos is behind it
)

// next reads one command into out. The text is empty where there was nothing but spaces and comments.
func (s *sqlScanner) next() sqlEnd {
	s.out.Reset()
	s.start, s.count, s.begun = s.pos, 0, false
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		rest := s.text[s.pos:]
		switch {
		case isSpace(c):
			s.blank(1)
		case strings.HasPrefix(rest, "--"):
			if n := strings.IndexByte(rest, '\n'); n >= 0 {
				s.blank(n)
			} else {
				s.blank(len(rest))
			}
		case strings.HasPrefix(rest, "/*"):
			s.emit(blockComment(rest))
		case c == '\\':
			s.pos++
			if len(rest) < 2 || rest[1] != ';' && rest[1] != ':' {
				return endBackslash
			}
			s.escaped(rest[1])
		case c == ';':
			s.emit(1)
			if s.parens == 0 && s.bodies == 0 {
				s.words = 0
				return endSemicolon
			}
		default:
			s.statement()
			s.token(rest)
		}
	}
	return endText
}

// escaped adds the character behind a backslash: \; separates statements of one command, \: is a colon.
func (s *sqlScanner) escaped(c byte) {
	if c == ';' {
		s.begun, s.words = false, 0
	} else {
		s.statement()
	}
	s.mark(s.pos - 1)
	s.out.WriteByte(c)
	s.pos++
}

func (s *sqlScanner) statement() {
	if !s.begun {
		s.begun = true
		s.count++
	}
}

// mark notes where the command begins.
func (s *sqlScanner) mark(pos int) {
	if s.out.Len() == 0 {
		s.start = pos
	}
}

func (s *sqlScanner) emit(n int) {
	s.mark(s.pos)
	s.out.WriteString(s.text[s.pos : s.pos+n])
	s.pos += n
}

// blank passes spaces and comments to the end of the line, which are left out in front of a command.
func (s *sqlScanner) blank(n int) {
	if s.out.Len() > 0 {
		s.emit(n)
	} else {
		s.pos += n
	}
}

// token passes what is neither a blank nor the end of the command.
func (s *sqlScanner) token(rest string) {
	c := rest[0]
	switch {
	case c == '(':
		s.parens++
	case c == ')':
		s.parens = max(s.parens-1, 0)
	case c == '"', c == '\'':
		s.emit(quoted(rest, 0, false))
		return
	case c == '$':
		s.emit(dollar(rest))
		return
	case c == ':':
		s.emit(colon(rest))
		return
	case isNameStart(c):
		s.identifier(rest)
		return
	}
	s.emit(1)
}

// quoted is the length of a quoted thing whose quote stands at i; with escapes a backslash takes what follows it. A
// string goes on behind a line end and the next quote, with the same rule for backslashes.
func quoted(rest string, i int, escapes bool) int {
	quote := rest[i]
	for i++; i < len(rest); i++ {
		switch {
		case escapes && rest[i] == '\\':
			i++
		case rest[i] == quote:
			if quote != '\'' {
				return i + 1
			}
			next := continued(rest, i+1)
			if next < 0 {
				return i + 1
			}
			i = next
		}
	}
	return len(rest)
}

// continued is the offset of the quote that continues a string which ended before i: blanks with a line end among them,
// and comments to the end of a line, may stand between. It is -1 where there is none.
func continued(rest string, i int) int {
	line := false
	for i < len(rest) {
		switch {
		case rest[i] == '\'' && line:
			return i
		case rest[i] == '\n' || rest[i] == '\r':
			line = true
			i++
		case isSpace(rest[i]):
			i++
		case strings.HasPrefix(rest[i:], "--"):
			n := strings.IndexByte(rest[i:], '\n')
			if n < 0 {
				return -1
			}
			i += n
		default:
			return -1
		}
	}
	return -1
}

// identifier passes a name or keyword, or a string with a letter in front of it.
func (s *sqlScanner) identifier(rest string) {
	if len(rest) > 1 && rest[1] == '\'' {
		switch rest[0] {
		case 'e', 'E':
			s.emit(quoted(rest, 1, true))
			return
		case 'b', 'B', 'x', 'X', 'n', 'N':
			s.emit(quoted(rest, 1, false))
			return
		}
	}
	if len(rest) > 2 && (rest[0] == 'u' || rest[0] == 'U') && rest[1] == '&' && (rest[2] == '\'' || rest[2] == '"') {
		s.emit(quoted(rest, 2, false))
		return
	}
	n := 1
	for n < len(rest) && (isNameByte(rest[n]) || rest[n] == '$') {
		n++
	}
	s.keyword(lower(rest[:n]))
	s.emit(n)
}

// keyword counts BEGIN, CASE and END where the statement begins with CREATE [OR REPLACE] FUNCTION or PROCEDURE.
func (s *sqlScanner) keyword(word string) {
	if s.words == 0 {
		s.first = [4]byte{}
	}
	switch word {
	case "create", "or", "replace", "function", "procedure":
		if s.words < len(s.first) {
			s.first[s.words] = word[0]
		}
	}
	s.words++
	if s.parens > 0 || !s.routine() {
		return
	}
	switch {
	case word == "begin", word == "case" && s.bodies > 0:
		s.bodies++
	case word == "end":
		s.bodies = max(s.bodies-1, 0)
	}
}

func (s *sqlScanner) routine() bool {
	kind := s.first[1:]
	if kind[0] == 'o' && kind[1] == 'r' {
		kind = kind[2:]
	}
	return s.first[0] == 'c' && (kind[0] == 'f' || kind[0] == 'p')
}

// blockComment is the length of the comment at the beginning of rest; comments nest.
func blockComment(rest string) int {
	depth := 0
	for i := 0; i+1 < len(rest); {
		switch rest[i : i+2] {
		case "/*":
			depth++
			i += 2
		case "*/":
			i += 2
			if depth--; depth == 0 {
				return i
			}
		default:
			i++
		}
	}
	return len(rest)
}

// dollar is the length of a parameter ($1), a dollar quoted string, or a lone dollar.
func dollar(rest string) int {
	n := 1
	for n < len(rest) && isDigit(rest[n]) {
		n++
	}
	if n > 1 {
		return n
	}
	for n < len(rest) && isNameByte(rest[n]) {
		n++
	}
	if n == len(rest) || rest[n] != '$' {
		return 1
	}
	n++
	if end := strings.Index(rest[n:], rest[:n]); end >= 0 {
		return n + end + n
	}
	return len(rest)
}

// colon is the length of a variable, a cast (::), or a lone colon.
func colon(rest string) int {
	n := 1
	for n < len(rest) && isNameByte(rest[n]) {
		n++
	}
	if n == 1 && len(rest) > 1 && rest[1] == ':' {
		return 2
	}
	return n
}
