package probes_test

import (
	"testing"

	"pgtlb/probes"
)

func TestSettingLiteral(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"work_mem", "64MB", "'64MB'"},
		{"log_line_prefix", `it's \m`, `E'it''s \\m'`},
		{"listen_addresses", "localhost, 10.0.0.1", "'localhost, 10.0.0.1'"}, // a list that is not quoted
		{"listen_addresses", "", "''"},
		{"shared_preload_libraries", "pg_stat_statements, auto_explain", "'pg_stat_statements', 'auto_explain'"},
		{"Shared_Preload_Libraries", " pg_stat_statements ", "'pg_stat_statements'"},
		{"search_path", `"$user", Public, "My ""own"""`, `'$user', 'public', 'My "own"'`},
		{"unix_socket_directories", "/run/Post gres,/tmp", "'/run/Post gres', '/tmp'"},
		{"session_preload_libraries", `$libdir/O'x`, `'$libdir/O''x'`},
	} {
		if got, ok := probes.SettingLiteral(c.name, c.value); !ok || got != c.want {
			t.Errorf("%s = %q gives %s, %v; want %s", c.name, c.value, got, ok, c.want)
		}
	}
	for _, value := range []string{"", "  ", "a,", ",a", "a,,b", `"a`, `"a" b`, `""`} {
		if got, ok := probes.SettingLiteral("shared_preload_libraries", value); ok {
			t.Errorf("%q gives %s", value, got)
		}
	}
}
