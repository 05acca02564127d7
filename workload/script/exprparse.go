package script

import (
	"math"
)

const (
	maxNesting = 1000   // of parentheses, calls, CASE and prefix operators
	maxHeight  = 10_000 // of the tree that is evaluated: a chain of infix operators is as high as it is long
)

// node is an expression.
type node struct {
	op     op
	height int
	pos    int   // byte offset of the operator, the function's name or the variable
	ref    int   // of a variable: its number in the script
	value  Value // of a constant
	args   []*node
}

// exprParser reads one expression, one token ahead as pgbench does, so that of several faults it finds the same one.
type exprParser struct {
	lex     exprLexer
	names   *names
	tok     token
	depth   int
	message string // the first fault; tok.end is then the byte behind its spot
}

// parseExpr reads the expression that begins at pos and ends with the line. It returns the position behind it.
func parseExpr(src *source, names *names, pos int, command string) (*node, int, error) {
	p := &exprParser{lex: exprLexer{text: src.text, pos: pos}, names: names}
	p.advance()
	n := p.expr(0)
	if p.message == "" && p.tok.kind != tEnd {
		p.fail("syntax error")
	}
	if p.message != "" {
		return nil, 0, src.fault(max(p.tok.end-1, 0), command, p.message)
	}
	return n, p.tok.end, nil
}

func (p *exprParser) fail(message string) *node {
	if p.message == "" {
		p.message = message
	}
	return nil
}

// advance reads the next token. After a fault it stays where it is.
func (p *exprParser) advance() {
	if p.message != "" {
		return
	}
	var message string
	if p.tok, message = p.lex.next(); message != "" {
		p.fail(message)
	}
}

// expect passes a symbol or keyword.
func (p *exprParser) expect(text string) {
	if !p.tok.is(text) {
		p.fail("syntax error")
	}
	p.advance()
}

// make builds a node. What is made of constants alone is computed here and now, unless that is an error, which then
// belongs to the run.
func (p *exprParser) make(op op, pos int, args ...*node) *node {
	if p.message != "" {
		return nil
	}
	n := &node{op: op, pos: pos, args: args}
	constant := op != opDebug && op != opRandom && op != opRandomExponential && op != opRandomGaussian && op != opRandomZipfian
	for _, a := range args {
		n.height = max(n.height, a.height+1)
		constant = constant && a.op == opConstant
	}
	if n.height > maxHeight {
		return p.fail("expression is too long")
	}
	if constant && op != opConstant && op != opVariable {
		if v, err := (&scope{}).eval(n); err == nil {
			return &node{value: v, pos: pos}
		}
	}
	return n
}

func (p *exprParser) constant(v Value, pos int) *node { return &node{value: v, pos: pos} }

// expr reads operators that bind at least as tight as level.
func (p *exprParser) expr(level int) *node {
	if p.depth++; p.depth > maxNesting {
		return p.fail("expression nests too deep")
	}
	defer func() { p.depth-- }()
	left := p.operand()
	for p.message == "" {
		if level <= levelIs {
			if is, ok := p.is(left); ok {
				left = is
				continue
			}
		}
		b, ok := p.infix()
		if !ok || b.precedence < level {
			break
		}
		pos := p.tok.start
		p.advance()
		right := p.expr(b.precedence + 1)
		if b.precedence == levelCompare {
			if next, ok := p.infix(); ok && next.precedence == levelCompare {
				p.fail("syntax error")
			}
		}
		if b.swapped {
			left, right = right, left
		}
		left = p.make(b.op, pos, left, right)
	}
	return left
}

func (p *exprParser) infix() (binary, bool) {
	if p.tok.kind != tSymbol && p.tok.kind != tWord {
		return binary{}, false
	}
	b, ok := binaries[p.tok.text]
	return b, ok
}

// is reads IS [NOT] NULL, TRUE or FALSE, ISNULL and NOTNULL.
func (p *exprParser) is(left *node) (*node, bool) {
	pos, not := p.tok.start, p.tok.is("notnull")
	wanted := p.constant(Value{}, pos)
	switch {
	case p.tok.is("is"):
		p.advance()
		if not = p.tok.is("not"); not {
			p.advance()
		}
		if p.tok.kind != tConstant || p.tok.value.kind > Bool {
			return p.fail("syntax error"), true
		}
		wanted.value = p.tok.value
	case !not && !p.tok.is("isnull"):
		return nil, false
	}
	p.advance()
	n := p.make(opIs, pos, left, wanted)
	if not {
		n = p.make(opNot, pos, n)
	}
	return n, true
}

func (p *exprParser) operand() *node {
	if p.message != "" {
		return nil
	}
	t := p.tok
	switch t.kind {
	case tConstant:
		p.advance()
		return p.constant(t.value, t.start)
	case tVariable:
		p.advance()
		return &node{op: opVariable, pos: t.start, ref: p.names.add(t.text)}
	case tWord:
		return p.word(t)
	case tSymbol:
		return p.prefix(t)
	}
	return p.fail("syntax error")
}

// prefix reads a parenthesis or a prefix operator. Such an operator takes what binds tighter than itself, wherever it
// stands.
func (p *exprParser) prefix(t token) *node {
	switch t.text {
	case "(", "+", "-", "~":
		p.advance()
	default:
		return p.fail("syntax error")
	}
	switch t.text {
	case "(":
		n := p.expr(0)
		p.expect(")")
		return n
	case "+":
		return p.expr(levelUnary)
	case "~":
		return p.make(opBitXor, t.start, p.constant(IntValue(-1), t.start), p.expr(levelBit+1))
	}
	if p.tok.kind == tMinInt {
		p.advance()
		return p.constant(IntValue(math.MinInt64), t.start)
	}
	return p.make(opSub, t.start, p.constant(IntValue(0), t.start), p.expr(levelUnary))
}

func (p *exprParser) word(t token) *node {
	switch t.text {
	case "not":
		p.advance()
		return p.make(opNot, t.start, p.expr(levelNot))
	case "case":
		p.advance()
		return p.cases(t.start)
	case "and", "or", "is", "isnull", "notnull", "when", "then", "else", "end":
		return p.fail("syntax error")
	}
	f, ok := functions[lower(t.text)]
	if !ok {
		return p.fail("unexpected function name (" + t.text + ")")
	}
	p.advance()
	p.expect("(")
	return p.call(f, t)
}

// call reads arguments and the closing parenthesis, where pgbench checks their number. As there, the first
// argument may be missing before a comma: least(,1).
func (p *exprParser) call(f function, t token) *node {
	var args []*node
	if !p.tok.is(")") && !p.tok.is(",") {
		args = append(args, p.expr(0))
	}
	for p.message == "" && p.tok.is(",") {
		p.advance()
		args = append(args, p.expr(0))
	}
	if p.message == "" && p.tok.is(")") {
		switch n := len(args); {
		case f.max < 0 && n == 0:
			p.fail("at least one argument expected (" + lower(t.text) + ")")
		case n < f.min, f.max >= 0 && n > f.max:
			p.fail("unexpected number of arguments (" + lower(t.text) + ")")
		case f.seeded && n == f.max-1:
			args = append(args, &node{op: opVariable, pos: t.start, ref: p.names.add("default_seed")})
		}
	}
	p.expect(")")
	return p.make(f.op, t.start, args...)
}

// cases reads what follows CASE. The arguments are conditions and results in turn, and the result of ELSE.
func (p *exprParser) cases(pos int) *node {
	var args []*node
	for {
		p.expect("when")
		args = append(args, p.expr(0))
		p.expect("then")
		args = append(args, p.expr(0))
		if p.message != "" {
			return nil
		}
		if !p.tok.is("when") {
			break
		}
	}
	other := p.constant(Value{}, pos)
	if p.tok.is("else") {
		p.advance()
		other = p.expr(0)
	}
	p.expect("end")
	return p.make(opCase, pos, append(args, other)...)
}
