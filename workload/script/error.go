package script

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Error is a fault in a script, found when it is parsed or when it runs.
type Error struct {
	File    string // name of the script, as given to Parse
	Line    int    // from 1; 0 where the fault belongs to the whole script
	Column  int    // in characters from 1; 0 where the fault belongs to the whole line
	Text    string // the line of the script, without its line end
	Command string // name of the backslash command, "" for SQL
	Message string // in pgbench's words where it has some
}

// Error names file, line, column and command.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	if e.Column > 0 {
		fmt.Fprintf(&b, ":%d", e.Column)
	}
	b.WriteString(": ")
	b.WriteString(e.Message)
	if e.Command != "" {
		fmt.Fprintf(&b, " in command %q", e.Command)
	}
	return b.String()
}

// Spot shows the line and, below it, a caret under the column. It is empty where the fault has no line. Tabs are
// kept in front of the caret, other control characters are shown as '?', so that the caret stays in its place.
func (e *Error) Spot() string {
	if e.Line == 0 {
		return ""
	}
	var line, pad strings.Builder
	column := 0
	for _, r := range e.Text {
		if r != '\t' && (r < ' ' || r == 0x7f || r == utf8.RuneError) {
			r = '?'
		}
		line.WriteRune(r)
		if column++; column < e.Column {
			if r != '\t' {
				r = ' '
			}
			pad.WriteRune(r)
		}
	}
	if e.Column == 0 {
		return line.String()
	}
	for ; column < e.Column-1; column++ {
		pad.WriteByte(' ')
	}
	return line.String() + "\n" + pad.String() + "^ error found here"
}

// source is the text of a script, for turning offsets into positions.
type source struct {
	name string
	text string
}

// fault makes the error at a byte offset; an offset below 0 is a fault of the whole script.
func (s *source) fault(offset int, command, message string) *Error {
	e := &Error{File: s.name, Command: command, Message: message}
	if offset < 0 {
		return e
	}
	offset = min(offset, len(s.text))
	start := strings.LastIndexByte(s.text[:offset], '\n') + 1
	end := strings.IndexByte(s.text[offset:], '\n')
	if end < 0 {
		end = len(s.text)
	} else {
		end += offset
	}
	e.Line = 1 + strings.Count(s.text[:start], "\n")
	e.Column = 1 + utf8.RuneCountInString(s.text[start:offset])
	e.Text = strings.TrimRight(s.text[start:end], "\r")
	return e
}
