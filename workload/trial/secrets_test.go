package trial

import (
	"slices"
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		// keyword and value
		"host=db1 password='my secret' user=x":     "host=db1 password=*** user=x",
		`password='it\'s x' user=x`:                "password=*** user=x",
		`password=a\ b user=x`:                     "password=*** user=x",
		"password=foo bar":                         "password=***",
		"password=foo bar user=x":                  "password=***",
		"password=a&b host=x":                      "password=*** host=x",
		`password="my secret" host=x`:              "password=***",
		"password = 'x y' host=h":                  "password = *** host=h",
		"PASSWORD=x sslpassword=y dbname=d":        "PASSWORD=*** sslpassword=*** dbname=d",
		"password='never closed host=h":            "password=***",
		"password=a://b host=x":                    "password=*** host=x",
		"--dbname=password=x":                      "--dbname=password=***",
		"host=h user=u passfile=/home/u/.pgpass":   "host=h user=u passfile=/home/u/.pgpass",
		"password_encryption=scram-sha-256":        "password_encryption=scram-sha-256",
		"oauth_client_secret=x host=h":             "oauth_client_secret=*** host=h",
		"password=":                                "password=***",
		"sample of 100 rows, no connection at all": "sample of 100 rows, no connection at all",
		// URI
		"postgres://u:p@h/db":                           "postgres://u:***@h/db",
		"postgres://u:p@ss@h/db":                        "postgres://u:***@h/db",
		"postgres://u:p/ss@h/db":                        "postgres://u:***@h/db",
		"postgres://u:p?ss@h/db":                        "postgres://u:***@h/db",
		"postgres://u:p?s=s@h/db?password=y":            "postgres://u:***@h/db?password=***",
		"postgres://u:my pass@h/db":                     "postgres://u:***@h/db",
		"postgres://u@corp:p@h/db":                      "postgres://u@corp:***@h/db",
		"postgres://:p@h":                               "postgres://:***@h",
		"postgres://u:@h":                               "postgres://u:***@h",
		"postgres://h:5432/db?user=a@b":                 "postgres://h:5432/db?user=a@b",
		"postgres://u@h1:1,h2:2/db":                     "postgres://u@h1:1,h2:2/db",
		"postgres://h/db?password=x&user=u":             "postgres://h/db?password=***&user=u",
		"postgres://h/db?sslpassword=a b&user=u":        "postgres://h/db?sslpassword=***&user=u",
		"--dbname=postgresql://u:p@h/d":                 "--dbname=postgresql://u:***@h/d",
		"postgres://u:p%40ss@h:5432/db?x=1":             "postgres://u:***@h:5432/db?x=1",
		"from postgres://a:x@h1/ to postgres://b:y@h2/": "from postgres://a:***@h2/",
	} {
		if got := redact(in); got != want {
			t.Errorf("redact(%q)\n = %q, want\n   %q", in, got, want)
		}
		if once := redact(in); redact(once) != once {
			t.Errorf("%q is not left alone a second time: %q", once, redact(once))
		}
	}
}

func TestCommandLineHoldsNoPassword(t *testing.T) {
	for _, secret := range []string{"hunter2", "my hunter2", "it's hunter2", `hunter2"x`, "a@hunter2", "hunter2 bar", "hunter2&x", `\hunter2`} {
		quoted := "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(secret) + "'"
		for _, arg := range []string{
			"host=db1 password=" + quoted + " user=x", "password=" + secret, "postgres://u:" + secret + "@h/db",
			"-dpassword=" + quoted, "--dbname=postgres://u:" + secret + "@h",
		} {
			line := CommandLine([]string{"watch", arg, "--plain"})
			if strings.Contains(line, "hunter2") || !strings.HasSuffix(line, " --plain") {
				t.Errorf("%s: %s", arg, line)
			}
			// A header that was written with the password inside is not shown either.
			raw := "pgtlb watch " + shellQuote(arg) + " --plain"
			if m := withoutSecrets(Meta{Command: raw}); m.Command != line {
				t.Errorf("%s: shown as %s, want %s", raw, m.Command, line)
			}
		}
	}
}

func TestShellWords(t *testing.T) {
	for _, words := range [][]string{
		nil, {"a"}, {"a", "b c", ""}, {"it's", `"q"`, `\`}, {"$HOME", "*", "a\nb", "~", "#"}, {"--set", "work_mem=64MB"},
	} {
		var quoted []string
		for _, w := range words {
			quoted = append(quoted, shellQuote(w))
		}
		if got := shellWords(strings.Join(quoted, " ")); !slices.Equal(got, words) {
			t.Errorf("%q came back as %q", words, got)
		}
	}
	if got := shellWords(`a "b \" c" d\ e 'f`); !slices.Equal(got, []string{"a", `b " c`, "d e", "f"}) {
		t.Errorf("words %q", got)
	}
}
