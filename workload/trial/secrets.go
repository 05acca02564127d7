package trial

import (
	"regexp"
	"slices"
	"strings"
)

// hidden stands where a password stood.
const hidden = "***"

var (
	// secretKey is a keyword of libpq's whose value is a secret, up to that value.
	secretKey = regexp.MustCompile(`(?i)[a-z_]*(?:password|passwd|secret)\s*=\s*`)
	// nextPair is where another keyword follows a value.
	nextPair = regexp.MustCompile(`^\s+[A-Za-z_]+\s*=`)
	// uriQuery is where the parameters of a URI begin.
	uriQuery = regexp.MustCompile(`\?[A-Za-z_]+=`)
	// uriSecret is a parameter that is a secret.
	uriSecret = regexp.MustCompile(`(?i)([a-z_]*(?:password|passwd|secret)\s*=)[^&]*`)
	// uriPort is what stands behind the colon of a host and not of a user.
	uriPort = regexp.MustCompile(`^\d*(?:[,/?#]|$)`)
)

// CommandLine writes how the program was called, as a shell reads it, without
// the passwords of connection strings.
func CommandLine(args []string) string {
	parts := []string{"pgtlb"}
	for _, a := range WithoutPasswords(args) {
		parts = append(parts, shellQuote(a))
	}
	return strings.Join(parts, " ")
}

// WithoutPasswords hides the passwords of connection strings among arguments.
func WithoutPasswords(args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = redact(a)
	}
	return out
}

// HidesPassword tells whether a text had a password that was taken out.
func HidesPassword(s string) bool { return strings.Contains(s, hidden) }

// redact takes the passwords out of one connection string, or of a text that
// holds one. In doubt it hides too much: what follows a password that libpq
// could not read is hidden with it.
func redact(s string) string {
	var out strings.Builder
	for {
		key, uri := secretKey.FindStringIndex(s), strings.Index(s, "://")
		switch {
		case uri >= 0 && (key == nil || uri < key[0]):
			return out.String() + s[:uri] + redactURI(s[uri:])
		case key == nil:
			return out.String() + s
		}
		out.WriteString(s[:key[1]] + hidden)
		s = s[key[1]:]
		s = s[valueEnd(s):]
	}
}

// valueEnd is the length of a value by libpq's rules: it may stand in single
// quotes, a backslash takes the next character as it is, and without quotes it
// ends at white space. Where no other keyword follows, the rest belongs to it.
func valueEnd(s string) int {
	i := 0
	if strings.HasPrefix(s, "'") {
		for i = 1; i < len(s) && s[i] != '\''; i++ {
			if s[i] == '\\' {
				i++
			}
		}
		i++
	}
	for ; i < len(s) && !strings.ContainsRune(" \t\n\r\f\v", rune(s[i])); i++ {
		if s[i] == '\\' {
			i++
		}
	}
	if i >= len(s) || !nextPair.MatchString(s[i:]) {
		return len(s)
	}
	return i
}

// redactURI takes the passwords out of a URI from its "://" on. A password may
// hold characters that it should not: it ends at the last @ before the
// parameters.
func redactURI(s string) string {
	const slashes = len("://")
	head, query := s, ""
	if q := uriQuery.FindStringIndex(s); q != nil {
		head, query = s[:q[0]], s[q[0]:]
	}
	query = uriSecret.ReplaceAllString(query, "${1}"+hidden)
	colon := strings.IndexByte(head[slashes:], ':')
	if colon < 0 {
		return head + query
	}
	colon += slashes + 1 // behind it
	if at := strings.LastIndexByte(head, '@'); at >= colon {
		return head[:colon] + hidden + head[at:] + query
	}
	if at := strings.LastIndexByte(s, '@'); at >= colon && !uriPort.MatchString(head[colon:]) {
		return head[:colon] + hidden + uriSecret.ReplaceAllString(s[at:], "${1}"+hidden)
	}
	return head + query
}

// withoutSecrets takes passwords out of the texts of a header that may hold
// connection strings.
func withoutSecrets(m Meta) Meta {
	m.Command = redactCommand(m.Command)
	m.Note = redact(m.Note)
	m.Server.Where = redact(m.Server.Where)
	m.Server.Settings = slices.Clone(m.Server.Settings)
	for i := range m.Server.Settings {
		m.Server.Settings[i].Value = redact(m.Server.Settings[i].Value)
	}
	return m
}

// redactCommand takes the passwords out of a command line as CommandLine writes
// it. A file may come from elsewhere, so it is not taken on trust.
func redactCommand(s string) string {
	words := shellWords(s)
	for i, w := range words {
		words[i] = shellQuote(redact(w))
	}
	return strings.Join(words, " ")
}

// shellQuote writes a word as a shell reads it.
func shellQuote(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n'\"\\$&|;<>()*?[]#~`!{}") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// shellWords takes a command line apart as a shell does, without expanding
// anything. A quote that is not closed reaches to the end.
func shellWords(s string) []string {
	var words []string
	var word strings.Builder
	began, quote := false, rune(0)
	escaped := false
	for _, r := range s {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, began = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, began = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if began {
				words = append(words, word.String())
				word.Reset()
				began = false
			}
		default:
			word.WriteRune(r)
			began = true
		}
	}
	if began {
		words = append(words, word.String())
	}
	return words
}
