package doctor

import (
	"slices"
	"strings"
	"testing"

	"pgtlb/probes"
)

// TestRestartCommands: through what runs the server, with the full path, never as root.
func TestRestartCommands(t *testing.T) {
	server := func() *Server {
		return &Server{Info: probes.ServerInfo{DataDir: "/srv/pg data", Where: "socket /run/postgresql:5433", User: "dba", Database: "postgres"}}
	}
	program := &Program{Dir: "/usr/lib/postgresql/15/bin", Owner: "postgres", CtlCluster: true}
	config := func(path string) *Server {
		s := server()
		s.Exam.Settings = []probes.ExamSetting{{Name: "config_file", Value: path}}
		return s
	}
	for name, c := range map[string]struct {
		s    Snapshot
		want string
	}{
		"unit":          {Snapshot{Server: server(), Pages: Pages{Unit: &Service{Name: "postgresql-16.service"}, Program: program}}, "systemctl restart postgresql-16.service"},
		"login session": {Snapshot{Server: server(), Pages: Pages{Unit: &Service{Name: "user@1000.service"}, Program: program}}, "sudo -u postgres /usr/lib/postgresql/15/bin/pg_ctl restart -D '/srv/pg data'"},
		"debian":        {Snapshot{Server: config("/etc/postgresql/15/main/postgresql.conf"), Pages: Pages{Program: program}}, "pg_ctlcluster 15 main restart"},
		"by hand":       {Snapshot{Server: config("/srv/postgresql.conf"), Pages: Pages{Program: program}}, "sudo -u postgres /usr/lib/postgresql/15/bin/pg_ctl restart -D '/srv/pg data'"},
		"container":     {Snapshot{Server: server(), Host: probes.Host{Virtual: "container"}, Pages: Pages{Program: program}}, "# restart the server's container"},
		"elsewhere":     {Snapshot{Server: server(), HostUnknown: "SQL only"}, "# on the server's machine, as the account that owns the data directory: pg_ctl restart -D '/srv/pg data'"},
		"bad unit":      {Snapshot{Server: server(), Pages: Pages{Unit: &Service{Name: "a;reboot\x1b.service"}}}, "systemctl restart 'a;reboot"},
	} {
		if got := c.s.restart(); len(got) != 1 || !strings.HasPrefix(got[0], c.want) || strings.Contains(got[0], "\x1b") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestRestartIsHeldBack: while a line of the files is wrong, no fix restarts the
// server, and each says what comes first.
func TestRestartIsHeldBack(t *testing.T) {
	s := look(t, "short-pool")
	s.Server.Exam.Files = []probes.FileSetting{{File: "/etc/postgresql.conf", Line: 7, Name: "shared_bufers", Error: "unrecognized configuration parameter"}}
	held := 0
	for _, c := range Examine(s).Checks {
		for _, line := range c.Fix {
			if strings.HasPrefix(line, "systemctl restart") {
				t.Errorf("%s restarts: %q", c.ID, c.Fix)
			}
		}
		if slices.Contains(c.Fix, mendFirst) {
			held++
			if c.Fix[0] != mendFirst || c.ID == "settings_errors" {
				t.Errorf("%s: %q", c.ID, c.Fix)
			}
		}
	}
	if held < 2 { // huge_pages and huge_pages_mode
		t.Errorf("held back: %d", held)
	}
	s.Server.Exam.Files[0].NeedsRestart = true
	e := Examine(s)
	if c := e.check("huge_pages"); slices.Contains(c.Fix, mendFirst) || !slices.Contains(c.Fix, "systemctl restart postgresql@15-main.service") {
		t.Errorf("a line that waits is not wrong: %q", c.Fix)
	}
}

// TestPsqlGoesToTheServer: psql as printed asks the server that was examined.
func TestPsqlGoesToTheServer(t *testing.T) {
	for where, want := range map[string]string{
		"socket /tmp/my socket:5433": `psql -h '/tmp/my socket' -p 5433 -U dba -d app -c "SELECT 1"`,
		"[::1]:5432":                 `psql -h ::1 -p 5432 -U dba -d app -c "SELECT 1"`,
		"db1:6432":                   `psql -h db1 -p 6432 -U dba -d app -c "SELECT 1"`,
		"nowhere":                    `psql -c "SELECT 1"`,
	} {
		s := Snapshot{Server: &Server{Info: probes.ServerInfo{Where: where, User: "dba", Database: "app"}, Exam: probes.ServerExam{Role: probes.ExamRole{Superuser: true}}}}
		if got := s.connected([]string{psql("SELECT 1")}); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %q", where, got, want)
		}
	}
	s := Snapshot{Server: &Server{Info: probes.ServerInfo{Where: "db1:6432", User: "watcher"}}}
	if got := s.connected([]string{psql("SELECT 1"), psql("SELECT 2")}); len(got) != 3 || !strings.HasPrefix(got[0], "# as a superuser") || !strings.Contains(got[1], "-U postgres ") {
		t.Errorf("%q", got)
	}
}

func TestProgramOfThePostmaster(t *testing.T) {
	s := look(t, "by-hand")
	if p := s.Pages.Program; p == nil || p.Dir != "/usr/lib/postgresql/15/bin" || p.Owner != "#26" || p.CtlCluster {
		t.Errorf("%+v", p)
	}
	if got := accountName("root:x:0:0::/:/bin/sh\npostgres:x:26:26::/:/bin/sh\n", "26"); got != "postgres" {
		t.Errorf("%q", got)
	}
}
