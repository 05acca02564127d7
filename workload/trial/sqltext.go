package trial

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// sqlKind says what a piece of an SQL text is.
type sqlKind int

const (
	sqlSymbol     sqlKind = iota // one character of an operator or a bracket
	sqlWord                      // a keyword or a name without quotes
	sqlIdentifier                // a name in double quotes
	sqlLiteral                   // a constant in quotes or dollar quotes, its type's letter included
	sqlNumber
	sqlParameter // $1
	// sqlHidden is all that follows where it cannot be told any more what is a
	// constant: it is the last piece.
	sqlHidden
)

// sqlPiece is a part of an SQL text. Comments and white space are none.
type sqlPiece struct {
	kind  sqlKind
	text  string
	space bool // white space or a comment stands before it
}

// constant tells whether a piece is what one execution has and another has not.
func (p *sqlPiece) constant() bool {
	return p.kind == sqlLiteral || p.kind == sqlNumber || p.kind == sqlParameter
}

// is tells whether a piece is this symbol or, in any case of letters, this word.
func (p *sqlPiece) is(text string) bool {
	return p.kind == sqlSymbol && p.text == text || p.kind == sqlWord && strings.EqualFold(p.text, text)
}

// sqlPieces takes an SQL text apart by PostgreSQL's rules. Any text has pieces. A quote
// behind a backslash hides the rest, since whether it ends the constant depends on the
// letter before it and on standard_conforming_strings. So does a word that may have been
// meant as something else. Where a person forgot to double a quote, constants are
// outside of literals: see certain.
func sqlPieces(s string) []sqlPiece {
	var out []sqlPiece
	space := false
	for s != "" {
		n, kind := 0, sqlSymbol
		switch c := s[0]; {
		case isSQLSpace(c):
			s, space = s[1:], true
			continue
		case strings.HasPrefix(s, "--"):
			s, space = s[sqlLine(s):], true
			continue
		case strings.HasPrefix(s, "/*"):
			if n = sqlComment(s); n > 0 {
				s, space = s[n:], true
				continue
			}
		case c == '\'':
			n, kind = sqlQuoted(s, '\''), sqlLiteral
		case c == '"':
			n, kind = sqlQuoted(s, '"'), sqlIdentifier
		case c == '$' && len(s) > 1 && isDigit(s[1]):
			n, kind = 1+sqlRun(s[1:], isSQLName), sqlParameter
		case c == '$':
			if n, kind = sqlDollar(s), sqlLiteral; n < 0 { // no quote: a character like others
				n, kind = 1, sqlSymbol
			}
		case isDigit(c), c == '.' && len(s) > 1 && isDigit(s[1]):
			n, kind = sqlDigits(s), sqlNumber
		case startsSQLWord(c):
			n, kind = sqlRun(s, isSQLWord), sqlWord
			if !isSQLPlain(s[:n]) {
				n = 0
			} else if n < len(s) && sqlPrefix(s[:n], s[n:]) {
				at := strings.IndexAny(s[n:], `'"`) + n
				n, kind = sqlQuoted(s[at:], s[at]), sqlLiteral
				if s[at] == '"' {
					kind = sqlIdentifier
				}
				if n > 0 {
					n += at
				}
			}
		default:
			_, n = utf8.DecodeRuneInString(s)
		}
		if n <= 0 {
			return append(out, sqlPiece{sqlHidden, s, space})
		}
		out = append(out, sqlPiece{kind, s[:n], space})
		s, space = s[n:], false
	}
	return out
}

// sqlQuoted is the length of a text in quotes, 0 where its end is not there or not
// certain. A quote that is doubled stands for itself.
func sqlQuoted(s string, quote byte) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] != quote:
		case quote == '\'' && s[i-1] == '\\':
			return 0
		case i+1 < len(s) && s[i+1] == quote:
			i++
		default:
			return i + 1
		}
	}
	return 0
}

// sqlPrefix tells whether a word is the letter of a constant, or U& of a constant
// or a name, and what follows its quoted part.
func sqlPrefix(word, rest string) bool {
	switch strings.ToLower(word) {
	case "e", "b", "x", "n":
		return rest[0] == '\''
	case "u":
		return strings.HasPrefix(rest, `&'`) || strings.HasPrefix(rest, `&"`)
	}
	return false
}

// sqlDollar is the length of a dollar-quoted constant, 0 where its end is not there,
// −1 where none begins.
func sqlDollar(s string) int {
	tag := 1
	if tag < len(s) && startsSQLWord(s[tag]) {
		tag += sqlRun(s[tag:], isSQLName)
	}
	if tag >= len(s) || s[tag] != '$' {
		return -1
	}
	tag++
	end := strings.Index(s[tag:], s[:tag])
	if end < 0 {
		return 0
	}
	return tag + end + tag
}

// sqlLine is the length of a comment that ends with its line.
func sqlLine(s string) int {
	if n := strings.IndexAny(s, "\r\n"); n >= 0 {
		return n
	}
	return len(s)
}

// sqlComment is the length of a comment, in which others may stand; 0 where its end
// is not there.
func sqlComment(s string) int {
	depth := 0
	for i := 0; i+1 < len(s); i++ {
		switch s[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
			if depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// sqlDigits is the length of a number and of what stands at it, such as the sign of
// an exponent.
func sqlDigits(s string) int {
	hex := len(s) > 1 && (s[1] == 'x' || s[1] == 'X')
	return sqlRunAt(s, func(i int) bool {
		sign := (s[i] == '+' || s[i] == '-') && !hex && i > 0 && (s[i-1] == 'e' || s[i-1] == 'E') && i+1 < len(s) && isDigit(s[i+1])
		return s[i] == '.' || isSQLName(s[i]) || sign
	})
}

func sqlRun(s string, in func(byte) bool) int {
	return sqlRunAt(s, func(i int) bool { return in(s[i]) })
}

// sqlRunAt is how many bytes from the beginning on belong to a piece.
func sqlRunAt(s string, in func(i int) bool) int {
	for i := range len(s) {
		if !in(i) {
			return i
		}
	}
	return len(s)
}

func isSQLSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func startsSQLWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= utf8.RuneSelf
}

// isSQLName tells whether a character goes on with a name, a number or the tag of a
// dollar quote.
func isSQLName(c byte) bool { return startsSQLWord(c) || isDigit(c) }

func isSQLWord(c byte) bool { return isSQLName(c) || c == '$' }

// isSQLPlain tells whether a word is one for a person too: PostgreSQL also takes dollar
// quotes that touch a name, quotes of typography and odd spaces as parts of names.
func isSQLPlain(word string) bool {
	return strings.Count(word, "$") <= 1 && !strings.ContainsFunc(word, func(r rune) bool {
		return r >= utf8.RuneSelf && !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r)
	})
}
