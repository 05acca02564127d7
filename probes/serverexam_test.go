package probes_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgtlb/probes"
	"pgtlb/workload/lab"
)

func TestExamOfARealServer(t *testing.T) {
	for i, s := range servers(t) {
		t.Run(strconv.Itoa(s.Major), func(t *testing.T) {
			if testing.Short() && i > 0 {
				t.Skip("need: more time than -short leaves, to repeat it with another server version")
			}
			c := startLab(t, lab.Options{Server: s})
			t.Run("settings and overrides", func(t *testing.T) { checkExamSettings(t, c) })
			t.Run("a role without rights", func(t *testing.T) { checkExamUnprivileged(t, c) })
			t.Run("files", func(t *testing.T) { checkExamFiles(t, c) })
		})
	}
}

func exam(t *testing.T, s *probes.Server) probes.ServerExam {
	t.Helper()
	e, err := s.Exam(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// lineOf is the last line of the files for a setting.
func lineOf(t *testing.T, e probes.ServerExam, name string) probes.FileSetting {
	t.Helper()
	for _, f := range slices.Backward(e.Files) {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no line for %s in %+v (%s)", name, e.Files, e.FilesUnknown)
	return probes.FileSetting{}
}

func setting(t *testing.T, e probes.ServerExam, name string) probes.ExamSetting {
	t.Helper()
	s, ok := e.Setting(name)
	if !ok {
		t.Fatalf("no setting %s in %+v", name, e.Settings)
	}
	return s
}

func checkExamSettings(t *testing.T, c *lab.Cluster) {
	cfg := config(t, c.DSN())
	conn := client(t, cfg, "admin")
	for _, sql := range []string{
		"CREATE DATABASE accounts",
		"CREATE ROLE reporting LOGIN",
		"ALTER ROLE reporting SET work_mem = '256MB'",
		"ALTER DATABASE accounts SET work_mem = '64MB'",
		"ALTER ROLE reporting IN DATABASE accounts SET jit = off",
		"ALTER ROLE reporting SET app.token = 'hunter2'",
		"ALTER SYSTEM SET work_mem = '8MB'",
		"ALTER SYSTEM SET max_connections = 321",
		"ALTER SYSTEM SET primary_conninfo = 'host=x password=hunter2'",
		"SELECT pg_reload_conf()",
	} {
		run(t, conn, sql)
	}
	s := watch(t, cfg, probes.SystemRoots())
	e := exam(t, s)
	for deadline := time.Now().Add(10 * time.Second); setting(t, e, "work_mem").Value != "8MB" && time.Now().Before(deadline); e = exam(t, s) {
		time.Sleep(20 * time.Millisecond) // a session takes a reload when it is idle
	}
	auto := filepath.Join(c.Data(), "postgresql.auto.conf")
	wm := setting(t, e, "work_mem")
	if wm.Value != "8MB" || wm.Setting != "8192" || wm.Unit != "kB" || wm.Source != "configuration file" || wm.File != auto || wm.Line == 0 || wm.Context != "user" {
		t.Errorf("work_mem %+v", wm)
	}
	if mc := setting(t, e, "max_connections"); !mc.Pending || mc.Setting == "321" || mc.Context != "postmaster" {
		t.Errorf("max_connections %+v", mc)
	}
	if f := lineOf(t, e, "max_connections"); f.Value != "321" || f.File != auto || f.Error == "" || !f.NeedsRestart {
		t.Errorf("the line of max_connections %+v", f)
	}
	if f := lineOf(t, e, "work_mem"); f.Value != "8MB" || f.Error != "" || f.NeedsRestart {
		t.Errorf("the line of work_mem %+v", f)
	}
	want := []probes.Override{{Database: "accounts", Role: "reporting", Name: "jit", Value: "off"},
		{Role: "reporting", Name: "work_mem", Value: "256MB"}, {Database: "accounts", Name: "work_mem", Value: "64MB"}}
	if !slices.Equal(e.Overrides, want) {
		t.Errorf("overrides %+v", e.Overrides)
	}
	setting(t, e, "jit") // at its default, and overridden
	for _, f := range e.Files {
		if strings.Contains(f.Value, "hunter2") {
			t.Errorf("a password in %+v", f)
		}
	}
	if f := lineOf(t, e, "primary_conninfo"); !f.Secret || f.Value != "" {
		t.Errorf("the line with the password %+v", f)
	}
	if p := setting(t, e, "primary_conninfo"); !p.Secret || p.Value+p.Setting+p.Reset != "" {
		t.Errorf("the setting with the password %+v", p)
	}
	if !e.Role.Superuser || !e.Role.ReadAllSettings || e.InRecovery || !strings.Contains(e.VersionText, "PostgreSQL "+c.Server().Version) {
		t.Errorf("role %+v, in recovery %v, version %q", e.Role, e.InRecovery, e.VersionText)
	}
	if len(e.Marks.Roles)+len(e.Marks.Prefixes) != 0 || e.Marks.Aurora {
		t.Errorf("marks of a provider on a private server: %+v", e.Marks)
	}
	if len(e.Sessions) != 1 || e.Sessions[0].Sessions != 1 {
		t.Errorf("sessions %+v, want the one of this test", e.Sessions)
	}
	if _, ok := e.Setting("num_os_semaphores"); ok != (c.Server().Major >= 18) {
		t.Errorf("num_os_semaphores with PostgreSQL %d: %v", c.Server().Major, ok)
	}
	if _, ok := e.Setting("application_name"); ok {
		t.Error("application_name is pgtlb's own session's")
	}
}

func checkExamUnprivileged(t *testing.T, c *lab.Cluster) {
	cfg := config(t, c.DSN())
	cfg.User = "reporting"
	s, err := probes.Connect(t.Context(), cfg, probes.SystemRoots())
	if err != nil {
		t.Skipf("need: a lab that lets other roles in (%v)", err)
	}
	defer s.Close(context.Background())
	e := exam(t, s)
	if e.FilesUnknown == "" || len(e.Files) != 0 || e.Role.Superuser || e.Role.ReadAllSettings || e.Role.Name != "reporting" {
		t.Errorf("role %+v, files %v %q", e.Role, e.Files, e.FilesUnknown)
	}
	if _, ok := e.Setting("data_directory"); ok {
		t.Error("a setting for superusers is shown")
	}
	// The session itself has the role's own value.
	if wm := setting(t, e, "work_mem"); wm.Source != "user" || wm.Value != "256MB" || wm.File != "" {
		t.Errorf("work_mem %+v", wm)
	}
	if len(e.Overrides) != 3 {
		t.Errorf("overrides %+v", e.Overrides)
	}
	run(t, client(t, config(t, c.DSN()), "admin"), "GRANT pg_read_all_settings TO reporting")
	if e := exam(t, s); !e.Role.ReadAllSettings || setting(t, e, "data_directory").Value != c.Data() {
		t.Errorf("with pg_read_all_settings: %+v", e.Role)
	}
}

func checkExamFiles(t *testing.T, c *lab.Cluster) {
	conf := filepath.Join(c.Data(), "postgresql.conf")
	old, err := os.ReadFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	write := func(more string) probes.ServerExam {
		t.Helper()
		if err := os.WriteFile(conf, []byte(string(old)+more), 0o600); err != nil {
			t.Fatal(err)
		}
		return exam(t, watch(t, config(t, c.DSN()), probes.SystemRoots()))
	}
	const lines = "max_wal_senders = 'many'\nmax_prepared_transactions = 9\nwork_mem = 12MB\n"
	e := write(lines)
	if f := lineOf(t, e, "max_wal_senders"); f.Error == "" || f.NeedsRestart || f.File != conf || f.Line != strings.Count(string(old), "\n")+1 {
		t.Errorf("a value that is none: %+v", f)
	}
	if f := lineOf(t, e, "max_prepared_transactions"); f.Error == "" || !f.NeedsRestart {
		t.Errorf("a value that waits for a restart: %+v", f)
	}
	lost := slices.IndexFunc(e.Files, func(f probes.FileSetting) bool { return f.Name == "work_mem" && f.File == conf })
	if lost < 0 || e.Files[lost].Value != "12MB" || e.Files[lost].Applied || lineOf(t, e, "work_mem").File == conf {
		t.Errorf("ALTER SYSTEM does not win over %+v", e.Files)
	}
	// With an unknown name the server looks at nothing else.
	e = write(lines + "no_such_setting = 7\n")
	if f := lineOf(t, e, "no_such_setting"); f.Error == "" || f.NeedsRestart || f.Value != "7" {
		t.Errorf("an unknown name: %+v", f)
	}
	if i := slices.IndexFunc(e.Files, func(f probes.FileSetting) bool { return f.Applied || f.NeedsRestart }); i >= 0 {
		t.Errorf("in spite of the unknown name: %+v", e.Files[i])
	}
	if e = write("shared_buffers 64MB 12\n"); !slices.ContainsFunc(e.Files, func(f probes.FileSetting) bool { return f.Name == "" && f.Error != "" && f.Line > 0 }) {
		t.Errorf("a line that is none: %+v", e.Files)
	}
}
