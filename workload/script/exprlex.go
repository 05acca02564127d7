package script

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// tokenKind tells the tokens of expressions apart.
type tokenKind uint8

const (
	tEnd tokenKind = iota // end of line or of the script
	tSymbol
	tConstant
	tMinInt // 9223372036854775808, which is a number only behind a unary minus
	tVariable
	tWord // keyword or function
)

// token is one token of an expression.
type token struct {
	kind       tokenKind
	start, end int    // byte offsets in the script; a newline belongs to its tEnd
	text       string // symbol, keyword in lower case, function or variable's name as written
	value      Value  // of a constant
}

// is tells whether the token is this symbol or keyword.
func (t token) is(text string) bool {
	return (t.kind == tSymbol || t.kind == tWord) && t.text == text
}

// exprLexer cuts one expression of a script into tokens.
type exprLexer struct {
	text string
	pos  int
}

const bigIntOverflow = "9223372036854775808" // 2^63

// next is the next token, or a message where there is none. In either case end is the byte behind what was read.
func (l *exprLexer) next() (t token, message string) {
	l.pos = skipBlanks(l.text, l.pos)
	t.start = l.pos
	defer func() { t.end = l.pos }()
	if l.pos == len(l.text) {
		return t, ""
	}
	c := l.text[l.pos]
	switch {
	case c == '\n':
		l.pos++
		return t, ""
	case isDigit(c), c == '.' && l.pos+1 < len(l.text) && isDigit(l.text[l.pos+1]):
		return l.number(t)
	case c == ':' && l.pos+1 < len(l.text) && isNameByte(l.text[l.pos+1]):
		l.pos++
		l.skip(isNameByte)
		t.kind, t.text = tVariable, l.text[t.start+1:l.pos]
		return t, ""
	case isNameStart(c):
		l.skip(isNameByte)
		return l.word(t), ""
	}
	return l.symbol(t)
}

func (l *exprLexer) symbol(t token) (token, string) {
	rest := l.text[l.pos:]
	t.kind = tSymbol
	if len(rest) >= 2 {
		switch two := rest[:2]; two {
		case "<=", ">=", "<>", "!=", "<<", ">>":
			l.pos += 2
			t.text = two
			return t, ""
		}
	}
	l.pos++
	t.text = rest[:1]
	if !strings.Contains("+-*/%=<>|&#~(),", t.text) {
		return t, "unexpected character (" + t.text + ")"
	}
	return t, ""
}

func (l *exprLexer) word(t token) token {
	t.kind, t.text = tWord, l.text[t.start:l.pos]
	switch low := lower(t.text); low {
	case "null":
		t.kind, t.text = tConstant, low
	case "true", "false":
		t.kind, t.text, t.value = tConstant, low, BoolValue(low == "true")
	case "and", "or", "not", "is", "isnull", "notnull", "case", "when", "then", "else", "end":
		t.text = low
	}
	return t
}

// number reads digits[.digits][e[+-]digits] or .digits[e[+-]digits].
func (l *exprLexer) number(t token) (token, string) {
	t.kind = tConstant
	l.skip(isDigit)
	whole := true
	if l.at('.') {
		l.pos++
		l.skip(isDigit)
		whole = false
	}
	if p := l.pos; l.at('e') || l.at('E') {
		l.pos++
		if l.at('+') || l.at('-') {
			l.pos++
		}
		if digits := l.pos; l.skip(isDigit) == digits {
			l.pos = p // the e begins the next token
		} else {
			whole = false
		}
	}
	t.text = l.text[t.start:l.pos]
	if t.text == bigIntOverflow {
		t.kind = tMinInt
		return t, ""
	}
	if whole {
		i, err := strconv.ParseInt(t.text, 10, 64)
		if err != nil {
			return t, "bigint constant overflow (" + t.text + ")"
		}
		t.value = IntValue(i)
		return t, ""
	}
	d, err := parseDecimal(t.text)
	if err != nil {
		return t, "double constant overflow (" + t.text + ")"
	}
	t.value = DoubleValue(d)
	return t, ""
}

func (l *exprLexer) at(c byte) bool { return l.pos < len(l.text) && l.text[l.pos] == c }

// skip passes the bytes of a class and returns the new position.
func (l *exprLexer) skip(class func(byte) bool) int {
	for l.pos < len(l.text) && class(l.text[l.pos]) {
		l.pos++
	}
	return l.pos
}

// parseDecimal reads a number as strtod does: what is too large, or too small to be exact, is an error.
func parseDecimal(s string) (float64, error) {
	d, err := strconv.ParseFloat(s, 64)
	if err == nil && underflows(s, d) {
		err = errors.New("out of range")
	}
	return d, err
}

// underflows tells whether d, read from s, is below the normal range. strtod reports those that it had to round.
func underflows(s string, d float64) bool {
	if math.Abs(d) >= 0x1p-1022 {
		return false
	}
	mantissa, _, _ := strings.Cut(lower(s), "e")
	return strings.ContainsAny(mantissa, "123456789")
}

// lower folds ASCII letters only, as PostgreSQL does with keywords.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// skipBlanks passes spaces and line continuations (a backslash at the end of a line).
func skipBlanks(text string, pos int) int {
	for pos < len(text) {
		if isBlank(text[pos]) {
			pos++
		} else if n := continuation(text, pos); n > 0 {
			pos += n
		} else {
			break
		}
	}
	return pos
}

// continuation is the length of the line continuation at pos, 0 where there is none.
func continuation(text string, pos int) int {
	rest := text[pos:]
	switch {
	case strings.HasPrefix(rest, "\\\n"):
		return 2
	case strings.HasPrefix(rest, "\\\r\n"):
		return 3
	}
	return 0
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v' }
func isSpace(c byte) bool { return c == '\n' || isBlank(c) }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isNameStart and isNameByte are the bytes of names: letters, underscore, everything beyond ASCII, and digits.
func isNameStart(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c >= 0x80
}
func isNameByte(c byte) bool { return isNameStart(c) || isDigit(c) }

// validName tells whether a variable may have this name.
func validName(name string) bool {
	if name == "" || !isNameStart(name[0]) {
		return false
	}
	for i := range len(name) {
		if !isNameByte(name[i]) {
			return false
		}
	}
	return true
}
