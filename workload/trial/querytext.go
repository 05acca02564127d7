package trial

import (
	"strconv"
	"strings"

	"pgtlb/probes"
)

// statement is a query text without its constants.
type statement struct {
	// text has $1, $2, … where constants and parameters stood, and ends with
	// probes.CutMark where the rest is not there or not told.
	text string
	// key is alike for texts that differ in constants, the case of keywords, white
	// space and the length of lists only.
	key string
}

// cut tells whether there was more of the text.
func (s statement) cut() bool { return strings.HasSuffix(s.text, probes.CutMark) }

// normalized takes the constants out of a query text: numbers, and whatever stands in
// single or dollar quotes. Comments are left out, and several constants in a list, or
// rows of constants, stand as the first of them. A text that speaks of secrets ends as
// openTo says.
func normalized(query string, secret bool) statement {
	query, cut := strings.CutSuffix(query, probes.CutMark)
	if n := openTo(query, secret); n >= 0 {
		query, cut = query[:n], cut || n < len(query)
	}
	pieces := squashed(joined(certain(sqlPieces(query))))
	for len(pieces) > 0 && pieces[len(pieces)-1].is(";") {
		pieces = pieces[:len(pieces)-1]
	}
	var text, key strings.Builder
	constants := 0
	for i, p := range pieces {
		if p.space && i > 0 {
			text.WriteByte(' ')
		}
		if i > 0 && !p.more() {
			key.WriteByte(' ')
		}
		switch {
		case p.more():
			text.WriteString(p.text)
		case p.constant():
			constants++
			text.WriteString("$" + strconv.Itoa(constants))
			key.WriteByte('?')
		case p.kind == sqlHidden:
			cut = true
		case p.kind == sqlWord:
			text.WriteString(p.text)
			key.WriteString(strings.ToLower(p.text))
		default:
			text.WriteString(p.text)
			key.WriteString(p.text)
		}
	}
	s := statement{strings.TrimSpace(text.String()), key.String()}
	if cut {
		s.text, s.key = s.text+probes.CutMark, s.key+probes.CutMark
	}
	return s
}

// joined makes one constant of a sign and its number, and of constants that follow
// one another, as PostgreSQL does over the end of a line.
func joined(pieces []sqlPiece) []sqlPiece {
	var out []sqlPiece
	for _, p := range pieces {
		n := len(out)
		switch {
		case p.constant() && n > 0 && out[n-1].constant():
		case p.kind == sqlNumber && !p.space && n > 1 && isSign(&out[n-1]) && beforeSign(&out[n-2]):
			p.space = out[n-1].space
			out[n-1] = p
		default:
			out = append(out, p)
		}
	}
	return out
}

func isSign(p *sqlPiece) bool { return p.is("-") || p.is("+") }

// beforeSign tells whether a sign behind this piece is a number's own.
func beforeSign(p *sqlPiece) bool {
	return p.kind == sqlSymbol && strings.Contains("(,[=<>", p.text)
}

// moreConstants stands behind the first of several constants, as it does in
// pg_stat_statements from PostgreSQL 18 on; moreRows behind the first of several rows.
const (
	moreConstants = "/*, ... */"
	moreRows      = "/*, (...) */"
)

// more tells whether a piece is one of these.
func (p *sqlPiece) more() bool {
	return p.kind == sqlSymbol && (p.text == moreConstants || p.text == moreRows)
}

// squashed leaves one constant of the lists behind IN and ARRAY, and one row of
// several rows of constants.
func squashed(pieces []sqlPiece) []sqlPiece {
	var out []sqlPiece
	for i := 0; i < len(pieces); i++ {
		p := pieces[i]
		out = append(out, p)
		first, end := constantList(pieces, i)
		if end == 0 {
			continue
		}
		behind := i > 0 && (p.is("(") && pieces[i-1].is("in") || p.is("[") && pieces[i-1].is("array"))
		if behind && first < end-1 {
			out = append(out, pieces[i+1:first]...)
			out = append(out, sqlPiece{sqlSymbol, moreConstants, true}, pieces[end-1])
			i = end - 1
			continue
		}
		rows := end
		for p.is("(") && rows+1 < len(pieces) && pieces[rows].is(",") {
			_, next := constantList(pieces, rows+1)
			if next == 0 || !pieces[rows+1].is("(") {
				break
			}
			rows = next
		}
		if rows > end {
			out = append(out, pieces[i+1:end]...)
			out = append(out, sqlPiece{sqlSymbol, moreRows, true})
			i = rows - 1
		}
	}
	return out
}

// constantList finds what is nothing but constants, each with or without a cast, in
// brackets that open at a piece. first is behind its first constant, end behind the
// closing bracket; end is 0 where there is no such list.
func constantList(pieces []sqlPiece, at int) (first, end int) {
	closing := map[string]string{"(": ")", "[": "]"}[pieces[at].text]
	if pieces[at].kind != sqlSymbol || closing == "" {
		return 0, 0
	}
	for i := at + 1; i+1 < len(pieces); i++ {
		if !pieces[i].constant() {
			return 0, 0
		}
		i++
		if i+2 < len(pieces) && pieces[i].is(":") && pieces[i+1].is(":") && pieces[i+2].kind == sqlWord {
			i += 3
		}
		if first == 0 {
			first = i
		}
		switch {
		case i >= len(pieces):
			return 0, 0
		case pieces[i].is(closing):
			return first, i + 1
		case !pieces[i].is(","):
			return 0, 0
		}
	}
	return 0, 0
}

// openTo is how much anybody may read of a text that speaks of secrets; −1 where it does
// not. secret says that it does, where the word is in a part that is not there any more.
// The word may stay, if nothing before it can be or begin a constant. Behind it nothing
// is certain: what is a password there may stand in the wrong quotes, or in none.
func openTo(query string, secret bool) int {
	at, end := probes.SecretWord(query)
	if at < 0 {
		if !secret {
			return -1
		}
		at, end = len(query), len(query)
	}
	if n := strings.IndexAny(query, "'\"`‘’‚‛“”„‟«»$0123456789"); n >= 0 && n < at {
		return n
	}
	return end
}

// certain leaves out what may be the inside of a constant, because a quote was not
// doubled: 'O'Brien'. Then another constant lacks its end, or something stands at a
// quote that does not belong there. It cannot be told which quote is the wrong one, so
// all is hidden from the first constant in quotes on.
func certain(pieces []sqlPiece) []sqlPiece {
	first := -1 // constant in quotes
	for i := range pieces {
		p, from := &pieces[i], i
		doubt := p.kind == sqlHidden
		if i > 0 && !p.space && !fits(&pieces[i-1], p) {
			doubt, from = true, i-1
		}
		if first < 0 && (doubt || p.kind == sqlLiteral) {
			first = from
		}
		if doubt {
			return append(pieces[:first:first], sqlPiece{kind: sqlHidden, space: true})
		}
	}
	return pieces
}

// fits tells whether two pieces stand together without a space in a text as people
// write them, if one of them is in quotes.
func fits(left, right *sqlPiece) bool {
	quoted := left.kind == sqlLiteral || left.kind == sqlIdentifier || right.kind == sqlLiteral || right.kind == sqlIdentifier
	switch {
	case !quoted:
		return true
	case left.kind != sqlSymbol && right.kind != sqlSymbol:
		return false
	case left.kind == sqlLiteral:
		return strings.Contains(")]},;:|=<>-", right.text)
	case right.kind == sqlLiteral:
		return strings.Contains("([{,;=<>|:~-+?", left.text)
	}
	return true
}

// recordedQuery is a query text as a run keeps it: one that speaks of secrets as far as
// openTo says; one that is not whole, and so may speak of them, without its constants;
// any other as it is.
func recordedQuery(query string, secret bool) string {
	if openTo(query, secret) < 0 && !strings.HasSuffix(query, probes.CutMark) {
		return query
	}
	return normalized(query, secret).text
}
