package probes

import "strings"

// IsSecret tells whether a setting may hold a secret: connection strings, shell
// commands, and what applications and extensions keep in settings of their own.
func IsSecret(name, value string) bool {
	name, value = strings.ToLower(name), strings.ToLower(value)
	if name == "password_encryption" {
		return false // the name of a method
	}
	for _, part := range secretSettings {
		if strings.Contains(name, part) {
			return true
		}
	}
	return strings.Contains(value, "password=") || strings.Contains(value, "://")
}

// secretSettings are parts of the names of settings that may hold a secret. "key" is
// none, since ssl_key_file names a file.
var secretSettings = []string{"conninfo", "password", "passwd", "passphrase", "secret", "token", "credential", "_command", "apikey", "api_key", "private_key"}

// secretWords are other parts of an SQL text that tell of a secret in it: names of
// secrets, functions and methods that take or make one, and what statements with
// connection strings or programs have.
var secretWords = []string{
	"pass", "passcode", "pwd", "key", "creds", "jwt", "bearer", "cookie", "session", "login", "otp", "mfa", "pincode", "salt",
	"authoriz", "authorization", "authent", "authentication", "identified", "scram",
	"crypt", "encrypt", "decrypt", "cipher", "hash", "hmac", "digest", "pgp_", "md5", "sha1", "sha224", "sha256", "sha384", "sha512",
	"connection", "dblink", "subscription", "options", "://", "program",
}

// secretEndings tell of a secret where no letter follows: "pin" is not in "shipping",
// nor "auth" in "author".
var secretEndings = []string{"pin", "pw", "auth", "dsn"}

// SecretWord finds the first part of an SQL text that tells of a secret, the longest of
// those that begin there. at is −1 where none does. In doubt one does: a text is lost
// then, and no secret told.
func SecretWord(text string) (at, end int) {
	at = -1
	small := smallLetters(text)
	look := func(word string, ending bool) {
		for from := 0; ; {
			i := strings.Index(small[from:], word)
			if i < 0 {
				return
			}
			i += from
			from = i + len(word)
			if at >= 0 && (i > at || i == at && from <= end) {
				return
			}
			if !ending || from == len(small) || small[from] < 'a' || small[from] > 'z' {
				at, end = i, from
				return
			}
		}
	}
	for _, words := range [][]string{secretSettings, secretWords} {
		for _, w := range words {
			look(w, false)
		}
	}
	for _, w := range secretEndings {
		look(w, true)
	}
	return at, end
}

// smallLetters changes A to Z, and no other byte: the places in the text stay.
func smallLetters(text string) string {
	b := []byte(text)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
