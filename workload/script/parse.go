package script

import (
	"strconv"
	"strings"
)

// Parse reads a script; name stands for it in errors, which are of the type *Error.
func Parse(name, text string) (*Script, error) {
	p := &parser{Script: &Script{Name: name, src: source{name, text}, names: newNames()}}
	if zero := strings.IndexByte(text, 0); zero >= 0 {
		return nil, p.src.fault(zero, "", "a script may not contain a zero byte")
	}
	p.sql.text = text
	for {
		end := p.sql.next()
		if p.sql.out.Len() > 0 {
			p.Commands = append(p.Commands, p.sqlCommand())
		}
		if end == endText {
			break
		}
		if end == endBackslash {
			if err := p.backslash(); err != nil {
				return nil, err
			}
		}
	}
	if len(p.Commands) == 0 {
		return nil, p.src.fault(-1, "", "empty command list")
	}
	if err := p.connect(); err != nil {
		return nil, err
	}
	return p.Script, nil
}

type parser struct {
	*Script
	sql sqlScanner
	// lines counted so far, so that a long script is not counted anew for each command
	linePos, lineNo int
}

// line is the number of the line that holds the offset; offsets have to rise.
func (p *parser) line(pos int) int {
	p.lineNo += strings.Count(p.src.text[p.linePos:pos], "\n")
	p.linePos = pos
	return p.lineNo + 1
}

func (p *parser) sqlCommand() Command {
	q := &SQL{Text: p.sql.out.String(), Statements: p.sql.count}
	q.cut(p.names)
	return Command{Kind: SQLCommand, Line: p.line(p.sql.start), pos: p.sql.start, SQL: q}
}

// cut finds the variables of the text: a single colon and a name, wherever it stands, in quotes and comments too. Two
// and more colons, as of a cast, are none.
func (q *SQL) cut(names *names) {
	var params strings.Builder
	text := q.Text
	done := 0
	literal := func(end int) {
		if end > done {
			q.pieces = append(q.pieces, argument{text[done:end], -1})
			params.WriteString(text[done:end])
		}
		done = end
	}
	for i := 0; i < len(text); {
		colon := strings.IndexByte(text[i:], ':')
		if colon < 0 {
			break
		}
		i += colon
		end := i + 1
		if end == len(text) || !isNameStart(text[end]) {
			for i < len(text) && text[i] == ':' {
				i++
			}
			continue
		}
		for end < len(text) && isNameByte(text[end]) {
			end++
		}
		literal(i)
		ref := names.add(text[i+1 : end])
		q.pieces = append(q.pieces, argument{text[i:end], ref})
		q.refs = append(q.refs, ref)
		params.WriteString("$" + strconv.Itoa(len(q.refs)))
		i, done = end, end
	}
	literal(len(text))
	q.Parameters = params.String()
}

// connect checks the conditional structure, and notes for each branch where to go on when it is skipped.
func (p *parser) connect() error {
	type branch struct {
		open, latest int   // the \if, and the latest of its branches
		all          []int // its \elif and \else
		closed       bool  // by an \else
	}
	var stack []branch
	for i := range p.Commands {
		c := &p.Commands[i]
		if c.Kind == IfCommand {
			stack = append(stack, branch{open: i, latest: i})
		}
		if c.Kind < ElifCommand || c.Kind > EndifCommand {
			continue
		}
		if len(stack) == 0 {
			return p.src.fault(c.pos, "", `\`+c.Kind.String()+` without matching \if`)
		}
		top := &stack[len(stack)-1]
		if top.closed && c.Kind != EndifCommand {
			return p.src.fault(c.pos, "", `\`+c.Kind.String()+` after \else`)
		}
		p.Commands[top.latest].next = i
		if c.Kind != EndifCommand {
			top.latest = i
			top.all = append(top.all, i)
			top.closed = c.Kind == ElseCommand
			continue
		}
		for _, b := range top.all {
			p.Commands[b].last = i
		}
		stack = stack[:len(stack)-1]
	}
	if len(stack) > 0 {
		return p.src.fault(p.Commands[stack[len(stack)-1].open].pos, "", `\if without matching \endif`)
	}
	return nil
}
