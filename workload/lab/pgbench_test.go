package lab

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgtlb/probes"
)

// What the versions print for the same kind of run, warnings and failures included.
const (
	pgbench13 = `transaction type: -
scaling factor: 1
query mode: prepared
number of clients: 8
number of threads: 2
duration: 4 s
number of transactions actually processed: 123456
latency average = 0.259 ms
tps = 30790.105263 (including connections establishing)
tps = 30864.197531 (excluding connections establishing)
`
	pgbench15 = `pgbench (15.18 (Debian 15.18-0+deb12u1))
transaction type: -
scaling factor: 1
query mode: prepared
number of clients: 8
number of threads: 1
maximum number of tries: 1
duration: 4 s
number of transactions actually processed: 180433
number of failed transactions: 0 (0.000%)
latency average = 0.177 ms
initial connection time = 11.480 ms
tps = 45221.804305 (without initial connection time)
`
	pgbench17once = `pgbench (17.6)
transaction type: -
scaling factor: 1
query mode: extended
number of clients: 80
number of threads: 1
maximum number of tries: 1
number of transactions per client: 1
number of transactions actually processed: 80/80
number of failed transactions: 0 (0.000%)
latency average = 3.105 ms
initial connection time = 180.221 ms
tps = 25764.895330 (without initial connection time)
`
	pgbench17none = `pgbench (17.6)
transaction type: -
scaling factor: 1
query mode: simple
number of clients: 80
number of threads: 1
maximum number of tries: 1
duration: 1 s
number of transactions actually processed: 0
number of failed transactions: 0 (NaN%)
`
)

func TestParsePgbench(t *testing.T) {
	for name, c := range map[string]struct {
		out  string
		want PgbenchResult
	}{
		"13":    {pgbench13, PgbenchResult{Transactions: 123456, TPS: 30864.197531}},
		"15":    {pgbench15, PgbenchResult{Transactions: 180433, TPS: 45221.804305}},
		"17 -t": {pgbench17once, PgbenchResult{Transactions: 80, TPS: 25764.895330}},
	} {
		got, err := parsePgbench(c.out)
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
	}
	for out, want := range map[string]string{
		pgbench17none: "no transaction",
		"":            "no line",
		"number of transactions actually processed: many\n":                                            "many",
		"number of transactions actually processed: 5\ntps = x (without initial connection time)\n":    `"tps = x`,
		"number of transactions actually processed: 5\ntps = 9.0 (including reconnection times)\n":     "no transaction",
		"number of transactions actually processed: 99999999999999999999\ntps = 1 (excluding nothing)": "out of range",
	} {
		if _, err := parsePgbench(out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error with %q", out, err, want)
		}
	}
}

func TestPgbenchArguments(t *testing.T) {
	r := PgbenchRun{Mode: "extended", Clients: 80, Threads: 2, Seed: -7, Seconds: 4, Defines: map[string]int64{"rows": 10, "data_seed": 1}}
	want := strings.Fields("-n -M extended -c 80 -j 2 --random-seed=-7 -f - -D data_seed=1 -D rows=10 -T 4")
	if got := r.args(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	r.Seconds, r.Transactions, r.Defines = 0, 1, nil
	if got := r.args(); !slices.Equal(got[len(got)-2:], []string{"-t", "1"}) {
		t.Errorf("%q ends otherwise than with -t 1", got)
	}
}

// TestPgbenchMissing: neither beside the server nor in PATH.
func TestPgbenchMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Server{Bindir: t.TempDir()}.Pgbench(t.Context())
	var u *probes.Unavailable
	if !errors.As(err, &u) || u.Remedy == "" {
		t.Errorf("%v, want an Unavailable with a remedy", err)
	}
}

// TestPgbenchInPath: a folder of PATH stands in for the server's own.
func TestPgbenchInPath(t *testing.T) {
	dir := t.TempDir()
	fake := "#!/bin/sh\necho 'pgbench (PostgreSQL) 16.4'\n"
	if err := os.WriteFile(filepath.Join(dir, "pgbench"), []byte(fake), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "not/absolute"+string(os.PathListSeparator)+dir)
	p, err := Server{Bindir: t.TempDir()}.Pgbench(t.Context())
	if err != nil || p.Version != "16.4" || p.Path != filepath.Join(dir, "pgbench") {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestRunPgbench runs the installed one against a lab.
func TestRunPgbench(t *testing.T) {
	server := needServer(t)
	p, err := server.Pgbench(t.Context())
	if errors.Is(err, probes.ErrUnavailable) {
		t.Skipf("need: pgbench: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := startLab(t, Options{Server: server})
	r := PgbenchRun{Script: "\\set id random(1, :rows)\nSELECT :id FROM pg_tables LIMIT 1;\n", Mode: "prepared", SearchPath: "pg_catalog",
		Clients: 2, Threads: 1, Defines: map[string]int64{"rows": 100}, Transactions: 3}
	res, err := c.RunPgbench(t.Context(), p, r)
	if err != nil || res.Transactions != 6 || res.TPS <= 0 || res.CPU <= 0 {
		t.Errorf("%+v, %v, want 6 transactions", res, err)
	}
	r.Script, r.Mode = "SELECT no_such_column;\n", "simple"
	if _, err := c.RunPgbench(t.Context(), p, r); err == nil || !strings.Contains(err.Error(), "no_such_column") {
		t.Errorf("a failing script: %v", err)
	}
}
