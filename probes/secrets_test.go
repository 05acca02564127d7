package probes

import (
	"strings"
	"testing"
)

func TestSecrets(t *testing.T) {
	for name, secret := range map[string]bool{
		"primary_conninfo": true, "ssl_passphrase_command": true, "archive_command": true, "app.jwt_secret": true,
		"password_encryption": false, "shared_buffers": false, "ssl_key_file": false,
	} {
		if got := IsSecret(name, "x"); got != secret {
			t.Errorf("%s: %v", name, got)
		}
	}
	if !IsSecret("app.upstream", "host=a password=hunter2") || IsSecret("shared_preload_libraries", "passwordcheck") {
		t.Error("values are judged wrongly")
	}
}

func TestSecretWord(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT 1": "", "": "", "SELECT shipping, author, pinned FROM opinions": "",
		"ALTER ROLE app PASSWORD 'x'": "PASSWORD", "SET pass = 1": "pass", "a\xffÄ Passphrase": "Passphrase", "passed": "pass",
		"spinning pin": "pin", "user_pin2": "pin", "authors_auth": "auth", "basic_auth pin": "auth", "PIN": "PIN", "f(pw)": "pw",
		"'a://b'": "://", "key to a token": "key", "access_key": "key", "api_key": "api_key", "sha224(x)": "sha224", "sha512": "sha512",
	} {
		at, end := SecretWord(text)
		switch {
		case want == "" && at >= 0:
			t.Errorf("%s: %q", text, text[at:end])
		case want != "" && (at < 0 || text[at:end] != want):
			t.Errorf("%s: from %d to %d, want %s", text, at, end, want)
		}
	}
}

// The word that tells of a secret may stand behind what is kept of a text, or be cut
// in two by its end.
func TestLongTextsAreJudgedAsAWhole(t *testing.T) {
	filled := "SELECT 'x', " + strings.Repeat("a, ", maxQuery/3)
	for text, want := range map[string]bool{
		filled:                            false,
		filled + " password":              true,
		filled[:maxQuery-4] + "password":  true,
		filled + "pass\u200bword":         true,
		"password " + filled:              true,
		"SELECT password":                 false, // is kept whole
		filled + strings.Repeat("b, ", 9): false,
	} {
		if got := (activity{query: text, secret: longSecret(text)}).backend(0); got.QuerySecret != want {
			t.Errorf("%.20s… %q: %v", text, text[max(0, len(text)-10):], got.QuerySecret)
		}
	}
}
