package doctor

import (
	"slices"
	"strings"
	"testing"

	"pgtlb/probes"
)

// conf and autoFile are the two files that settings come from in these tests.
const (
	conf     = "/etc/postgresql/postgresql.conf"
	autoFile = "/srv/pg/" + autoConf
)

// withSettings is a snapshot of a server that a superuser asked.
func withSettings(settings []probes.ExamSetting, files ...probes.FileSetting) *Snapshot {
	return &Snapshot{HostUnknown: "SQL only", Server: &Server{
		Info: probes.ServerInfo{Version: "17.2", VersionNum: 170002, DataDir: "/srv/pg"},
		Exam: probes.ServerExam{Role: probes.ExamRole{Name: "dba", Superuser: true}, Settings: settings, Files: files},
	}}
}

func hasLine(lines []string, part string) bool {
	return slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, part) })
}

// TestAlterSystemInforms: the value that holds stays, the dead line goes.
func TestAlterSystemInforms(t *testing.T) {
	work := probes.ExamSetting{Name: "work_mem", Value: "64MB", Setting: "65536", Unit: "kB", Type: "integer", Context: "user", Source: "configuration file", File: autoFile, Line: 3, Boot: "4096"}
	buffers := probes.ExamSetting{Name: "shared_buffers", Value: "8GB", Setting: "1048576", Unit: "8kB", Type: "integer", Context: "postmaster", Source: "configuration file", File: autoFile, Line: 4, Boot: "1024"} // as 13 and 14 have it
	s := withSettings([]probes.ExamSetting{work, buffers},
		probes.FileSetting{File: conf, Line: 7, Name: "work_mem", Value: "16MB"},
		probes.FileSetting{File: conf, Line: 9, Name: "shared_buffers", Value: "128MB"},
		probes.FileSetting{File: autoFile, Line: 3, Name: "work_mem", Value: "64MB", Applied: true},
		probes.FileSetting{File: autoFile, Line: 4, Name: "shared_buffers", Value: "8GB", Applied: true})
	c := checkSettingsAlterSystem(s)
	wellFormed(t, c)
	if c.Status != OK || !slices.Equal(c.Fix, []string{"sed -i '7s/^/#/' " + conf}) || hasLine(append(c.Fix, c.Undo...), "RESET") {
		t.Errorf("%s %q %q", c.Status, c.Fix, c.Undo)
	}
	for _, want := range []string{"'64MB' in " + autoFile + ":3 counts", "'16MB' in " + conf + ":7 does not", "RESET work_mem would give '16MB'"} {
		if !strings.Contains(c.Found, want) {
			t.Errorf("%q is not in %q", want, c.Found)
		}
	}
	if strings.Contains(c.Found, "shared_buffers") {
		t.Errorf("initdb's own line: %s", c.Found)
	}
}

// TestPendingUndo: what takes a change back is written where the change is.
func TestPendingUndo(t *testing.T) {
	set := func(name, value, kind string) probes.ExamSetting {
		return probes.ExamSetting{Name: name, Value: value, Setting: value, Type: kind, Context: "postmaster", Source: "configuration file", Pending: true}
	}
	for name, c := range map[string]struct {
		set   probes.ExamSetting
		waits probes.FileSetting
		want  []string
	}{
		"the admin's line": {set("huge_pages", "try", "enum"), probes.FileSetting{File: conf, Line: 12, Name: "huge_pages", Value: "on"},
			[]string{"# in " + conf + ", line 12:", "huge_pages = 'try'"}},
		"ALTER SYSTEM": {set("huge_pages", "try", "enum"), probes.FileSetting{File: autoFile, Line: 3, Name: "huge_pages", Value: "on"},
			[]string{psql("ALTER SYSTEM SET huge_pages = 'try'")}},
		"a list": {set("shared_preload_libraries", "pg_stat_statements, auto_explain", "string"), probes.FileSetting{File: autoFile, Line: 3, Name: "shared_preload_libraries", Value: "x"},
			[]string{psql("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements', 'auto_explain'")}},
		"an empty list": {set("shared_preload_libraries", "", "string"), probes.FileSetting{File: autoFile, Line: 3, Name: "shared_preload_libraries", Value: "x"},
			[]string{"# ALTER SYSTEM cannot give an empty list: take the line out, and write the value into postgresql.conf:", psql("ALTER SYSTEM RESET shared_preload_libraries"), "shared_preload_libraries = ''"}},
		"a line that is gone": {set("huge_pages", `o'n\`, "enum"), probes.FileSetting{Name: "other"},
			[]string{"# no file has a line for huge_pages any more; in postgresql.conf:", `huge_pages = 'o''n\\'`}},
	} {
		s := withSettings([]probes.ExamSetting{c.set}, c.waits)
		check := checkSettingsPending(s)
		wellFormed(t, check)
		if len(check.Undo) < len(c.want) || !slices.Equal(check.Undo[:len(c.want)], c.want) {
			t.Errorf("%s: %q, want %q", name, check.Undo, c.want)
		}
	}
}

// TestOwnValueIsNotTheServers: what our role or database has of its own says nothing
// about other sessions.
func TestOwnValueIsNotTheServers(t *testing.T) {
	for _, source := range []string{"global", "database", "user", "database user", "client", "session"} {
		own := probes.ExamSetting{Name: "work_mem", Value: "1GB", Setting: "1048576", Unit: "kB", Type: "integer", Context: "user", Source: source, Boot: "4096", Reset: "1048576"}
		s := withSettings([]probes.ExamSetting{own, {Name: "max_connections", Setting: "100"}})
		s.Server.Exam.FilesUnknown = "the role dba may not read pg_file_settings"
		if n, ok := settingNumber(s, "work_mem"); ok {
			t.Errorf("%s: work_mem is %d kB", source, n)
		}
		if c := checkWorkMemory(s); c.Status != Unknown || !strings.Contains(c.Found, "not visible for the role dba") {
			t.Errorf("%s: %s %s", source, c.Status, c.Found)
		}
		s.Server.Exam.FilesUnknown = ""
		s.Server.Exam.Files = []probes.FileSetting{{File: conf, Line: 1, Name: "work_mem", Value: "8MB"}, {File: autoFile, Line: 3, Name: "Work_Mem", Value: "16MB", Applied: true}}
		if n, _ := settingNumber(s, "work_mem"); n != 16<<10 {
			t.Errorf("%s: work_mem is %d kB", source, n)
		}
		if got := alterBack(s, own); got != psql("ALTER SYSTEM SET work_mem = '16MB'") {
			t.Errorf("%s: back by %s", source, got)
		}
		s.Server.Exam.Files = s.Server.Exam.Files[:1]
		if got := alterBack(s, own); got != psql("ALTER SYSTEM RESET work_mem") {
			t.Errorf("%s: back by %s", source, got)
		}
		s.Server.Exam.Files = []probes.FileSetting{{File: conf, Line: 2, Name: "port", Value: "5432", Applied: true}}
		if n, _ := settingNumber(s, "work_mem"); n != 4096 {
			t.Errorf("%s: the default is %d kB", source, n)
		}
	}
}

// TestDuplicates: only another value of a setting that memory hangs on is a warning.
func TestDuplicates(t *testing.T) {
	line := func(n int, name, value string) probes.FileSetting {
		return probes.FileSetting{File: conf, Line: n, Name: name, Value: value}
	}
	initdb := []probes.FileSetting{line(1, "shared_buffers", "128MB"), line(2, "max_connections", "100"), line(3, "max_wal_size", "1GB"), line(4, "timezone", "UTC"),
		line(5, "shared_buffers", "8GB"), line(6, "max_connections", "500"), line(7, "max_wal_size", "8GB"), line(8, "TimeZone", "Europe/Paris")}
	s := withSettings(nil, initdb...)
	if c := checkSettingsDuplicates(s); c.Status != OK || len(c.Fix) > 0 {
		t.Errorf("initdb's lines: %s %s", c.Status, c.Found)
	}
	s = withSettings(nil, line(1, "random_page_cost", "2"), line(2, "random_page_cost", "1.1"))
	if c := checkSettingsDuplicates(s); c.Status != OK || len(c.Fix) != 1 {
		t.Errorf("of no weight: %s %q", c.Status, c.Fix)
	}
	s = withSettings(nil, line(1, "huge_pages", "off"), line(2, "huge_pages", "on"))
	if c := checkSettingsDuplicates(s); c.Status != Warn || len(c.Fix) != 1 {
		t.Errorf("huge_pages: %s %q", c.Status, c.Fix)
	}
}

// TestWrongLineSaysWhatHolds: a comment for a line changes the setting's value.
func TestWrongLineSaysWhatHolds(t *testing.T) {
	work := probes.ExamSetting{Name: "shared_buffers", Value: "8GB", Setting: "1048576", Unit: "8kB", Type: "integer", Context: "postmaster", Source: "configuration file", Boot: "16384"}
	wrong := probes.FileSetting{File: conf, Line: 9, Name: "shared_buffers", Value: "8 GiB", Error: "setting could not be applied"}
	for want, files := range map[string][]probes.FileSetting{
		"shared_buffers is '4GB', in " + conf + ":3": {{File: conf, Line: 3, Name: "shared_buffers", Value: "4GB"}, wrong},
		"shared_buffers is '131072kB', its default":  {wrong},
	} {
		c := checkSettingsErrors(withSettings([]probes.ExamSetting{work}, files...))
		if c.Status != Fail || !hasLine(c.Fix, "# without this line "+want) {
			t.Errorf("%q, want %q", c.Fix, want)
		}
	}
}

// TestSessionsAdvice: neither more connections nor less work_mem by a command.
func TestSessionsAdvice(t *testing.T) {
	s := withSettings([]probes.ExamSetting{{Name: "max_connections", Value: "1000", Setting: "1000", Type: "integer", Context: "postmaster"},
		{Name: "work_mem", Value: "1GB", Setting: "1048576", Unit: "kB", Type: "integer"}})
	s.Server.Exam.Sessions = []probes.RoleSessions{{Role: "app", Sessions: 990}}
	s.HostUnknown, s.Pages.Memory.TotalKB = "", 32<<20
	for _, c := range []Check{checkConnections(s), checkWorkMemory(s)} {
		wellFormed(t, c)
		if c.Status != Warn || len(c.Fix) > 0 || !strings.Contains(c.Expected, "pooler") {
			t.Errorf("%s: %s %q %s", c.ID, c.Status, c.Fix, c.Expected)
		}
	}
}

// TestProviderTakesBaseUnits: a parameter group takes numbers in the setting's unit.
func TestProviderTakesBaseUnits(t *testing.T) {
	set := probes.ExamSetting{Name: "shared_buffers", Value: "8GB", Setting: "1048576", Unit: "8kB", Type: "integer", Context: "postmaster"}
	s := withSettings([]probes.ExamSetting{set})
	s.Server.Exam.Marks = probes.ExamMarks{Roles: []string{"rds_superuser"}}
	fix, undo, _ := alter(s, set, "16GB")
	if !hasLine(fix, "ParameterName=shared_buffers,ParameterValue=2097152,") || !hasLine(undo, "ParameterValue=1048576,") {
		t.Errorf("%q %q", fix, undo)
	}
}
