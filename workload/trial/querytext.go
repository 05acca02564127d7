package trial

import (
	"slices"
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

// normalized takes the constants out of a query text: numbers, and whatever stands
// in quotes. What a person may have meant as a password is taken out too where it
// stands without quotes. Comments are left out, and several constants in a list, or
// rows of constants, stand as the first of them.
func normalized(query string) statement {
	query, cut := strings.CutSuffix(query, probes.CutMark)
	pieces := squashed(joined(withoutBareSecrets(sqlPieces(query))))
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

// withoutBareSecrets takes out what stands for a password, and is not in single
// quotes as it should be: a statement that failed is listed like any other.
func withoutBareSecrets(pieces []sqlPiece) []sqlPiece {
	pieces = slices.Clone(pieces)
	var verb, object sqlPiece // of the statement: ALTER, ROLE
	for i := range pieces {
		p := &pieces[i]
		switch {
		case p.is(";"):
			verb, object = sqlPiece{}, sqlPiece{}
			continue
		case p.kind == sqlIdentifier && (strings.Contains(p.text, "=") || strings.Contains(p.text, "://")):
			p.kind = sqlLiteral // a connection string in the wrong quotes
			continue
		case p.kind == sqlWord && verb.text == "":
			verb = *p
		case p.kind == sqlWord && object.text == "":
			object = *p
		}
		if p.is("identified") {
			return hiddenFrom(pieces, i+1)
		}
		if p.kind != sqlWord && p.kind != sqlIdentifier || !isSecretName(p.text) {
			continue
		}
		value := i + 1
		for value < len(pieces) && (pieces[value].is("=") || pieces[value].is(":") || pieces[value].is(">") || pieces[value].is("to")) {
			value++
		}
		if value >= len(pieces) || pieces[value].kind != sqlWord && pieces[value].kind != sqlIdentifier && pieces[value].kind != sqlNumber {
			continue
		}
		changes := verb.is("create") || verb.is("alter") || verb.is("set")
		switch next := &pieces[value]; {
		case value == i+1 && !(changes && ofRoles(&object)): // a column, or a table of that name
		case next.is("null"):
		case changes:
			return hiddenFrom(pieces, value)
		case value+1 < len(pieces) && (pieces[value+1].is("(") || pieces[value+1].is(".")): // computed from something else
		default:
			next.kind = sqlLiteral
		}
	}
	return pieces
}

// ofRoles tells whether a statement about this has passwords among its options.
func ofRoles(object *sqlPiece) bool {
	return slices.ContainsFunc([]string{"role", "user", "group", "server", "foreign", "subscription"}, object.is)
}

// hiddenFrom hides all from a piece on.
func hiddenFrom(pieces []sqlPiece, at int) []sqlPiece {
	return append(pieces[:at:at], sqlPiece{kind: sqlHidden, space: true})
}

// isSecretName tells whether a name is that of a secret.
func isSecretName(name string) bool {
	return probes.IsSecret(name, "") || strings.Contains(strings.ToLower(name), "pwd")
}

// recordedQuery is a query text as a run keeps it: a text that speaks of passwords,
// keys or connections without its constants, any other as it is.
func recordedQuery(query string) string {
	if query == "" || !speaksOfSecrets(strings.ToLower(query)) {
		return query
	}
	return normalized(query).text
}

// speaksOfSecrets tells whether a text in small letters may have a secret among its
// constants. In doubt it says so: all that is lost then are constants.
func speaksOfSecrets(query string) bool {
	has := func(part string) bool { return strings.Contains(query, part) }
	switch {
	case probes.IsSecret(query, query), isSecretName(query):
		return true
	case has("copy") && has("program"), has("options") && (has("server") || has("foreign")):
		return true
	}
	// Functions of pgcrypto and statements that take connection strings; what those
	// of other databases write where PostgreSQL has PASSWORD.
	return slices.ContainsFunc([]string{"passw", "crypt", "hmac", "digest", "pgp_", "md5", "sha256", "bearer ", "dblink", "subscription", "mapping", "identified"}, has)
}
