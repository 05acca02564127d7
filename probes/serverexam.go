package probes

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

//go:embed sql/exam_settings.sql
var examSettingsSQL string

//go:embed sql/exam_role.sql
var examRoleSQL string

//go:embed sql/exam_overrides.sql
var examOverridesSQL string

//go:embed sql/exam_sessions.sql
var examSessionsSQL string

//go:embed sql/exam_files.sql
var examFilesSQL string

//go:embed sql/exam_pending.sql
var examPendingSQL string

// ServerExam is what a server says about its settings and itself beyond
// ServerInfo, for the doctor. Values that may be secret are left out.
type ServerExam struct {
	VersionText string    `json:"version_text"` // version()
	InRecovery  bool      `json:"in_recovery"`
	Role        ExamRole  `json:"role"`
	Marks       ExamMarks `json:"marks"`
	// Settings are those that somebody made, those that Overrides change, and
	// those that checks ask for; sorted by name.
	Settings  []ExamSetting `json:"settings"`
	Overrides []Override    `json:"overrides,omitempty"`
	// Sessions counts client sessions by role, our own left out; most first.
	Sessions []RoleSessions `json:"sessions,omitempty"`
	// Files are the lines of the configuration files as they are on disk, in the
	// order in which they are read: of two lines for one name the later wins.
	Files []FileSetting `json:"files,omitempty"`
	// FilesUnknown says why Files is empty; empty where they could be read.
	FilesUnknown string `json:"files_unknown,omitempty"`
}

// ExamRole is the role that asked, and what it may see.
type ExamRole struct {
	Name      string `json:"name"`
	Superuser bool   `json:"superuser"`
	// ReadAllSettings is membership in pg_read_all_settings: without it files,
	// lines and the settings for superusers are hidden.
	ReadAllSettings bool `json:"read_all_settings"`
	Monitor         bool `json:"monitor"` // membership in pg_monitor
}

// ExamMarks are traces that providers leave in a server.
type ExamMarks struct {
	Roles    []string `json:"roles,omitempty"`    // such as rds_superuser
	Prefixes []string `json:"prefixes,omitempty"` // of settings, such as rds
	Aurora   bool     `json:"aurora,omitempty"`   // has the function aurora_version
}

// ExamSetting is one row of pg_settings.
type ExamSetting struct {
	Name    string `json:"name"`
	Value   string `json:"value"`          // in effect, as SHOW prints it
	Setting string `json:"setting"`        // in effect, in Unit
	Unit    string `json:"unit,omitempty"` // "8kB", "ms", …
	Type    string `json:"type"`           // bool, enum, integer, real, string
	Context string `json:"context"`        // postmaster: needs a restart; sighup: a reload; …
	Source  string `json:"source"`
	File    string `json:"file,omitempty"` // empty where hidden or not from a file
	Line    int    `json:"line,omitempty"`
	Boot    string `json:"boot"`  // built in
	Reset   string `json:"reset"` // what RESET in this session gives
	Pending bool   `json:"pending_restart,omitempty"`
	// Secret is set where the values are left out.
	Secret bool `json:"secret,omitempty"`
}

// Override is a setting that a database, a role, or a role in a database has.
type Override struct {
	Database string `json:"database,omitempty"` // empty: in all
	Role     string `json:"role,omitempty"`     // empty: for all
	Name     string `json:"name"`
	Value    string `json:"value"`
}

// RoleSessions is how many client sessions a role has.
type RoleSessions struct {
	Role     string `json:"role"`
	Sessions int    `json:"sessions"`
}

// FileSetting is one line of a configuration file.
type FileSetting struct {
	File  string `json:"file"`
	Line  int    `json:"line"`
	Name  string `json:"name"`  // empty for a line that is no setting
	Value string `json:"value"` // left out where Secret
	// Applied tells whether a reload would take the line; false for one that a
	// later line overrides, and for all while any line is wrong.
	Applied bool `json:"applied"`
	// Error is in the server's words. While one line is no setting that the server
	// knows, it looks at none of the others and finds no error in them.
	Error string `json:"error,omitempty"`
	// NeedsRestart tells that the error only says that a reload is not enough.
	NeedsRestart bool `json:"needs_restart,omitempty"`
	Secret       bool `json:"secret,omitempty"`
}

// examNames are the settings that checks ask for whether somebody made them or
// not. Names that a server does not have are not in its answer.
func examNames() []string {
	return []string{
		"autovacuum_max_workers", "autovacuum_work_mem", "autovacuum_worker_slots", "config_file", "data_directory",
		"dynamic_shared_memory_type", "effective_cache_size", "hash_mem_multiplier", "huge_page_size", "huge_pages",
		"huge_pages_status", "io_max_concurrency", "io_method", "io_workers", "listen_addresses", "maintenance_work_mem",
		"max_connections", "max_files_per_process", "max_locks_per_transaction", "max_parallel_workers",
		"max_prepared_transactions", "max_wal_senders", "max_worker_processes", "min_dynamic_shared_memory",
		"num_os_semaphores", "port", "reserved_connections", "restart_after_crash", "shared_buffers",
		"shared_memory_size", "shared_memory_size_in_huge_pages", "shared_memory_type",
		"superuser_reserved_connections", "temp_buffers", "unix_socket_directories", "work_mem",
	}
}

// providerRoles are roles that only the servers of a provider have.
func providerRoles() []string {
	return []string{"alloydbsuperuser", "avnadmin", "azure_pg_admin", "cloudsqladmin", "cloudsqlsuperuser", "doadmin",
		"neon_superuser", "rds_superuser", "rdsadmin", "supabase_admin"}
}

// providerPrefixes begin the names of settings that a provider has added.
func providerPrefixes() []string { return []string{"alloydb", "azure", "cloudsql", "neon", "rds"} }

// Exam asks the server, in one round trip and, where a configuration file has
// something to tell apart, a second one. What the role may not see is left out
// and said; an error means that the server did not answer.
func (s *Server) Exam(ctx context.Context) (ServerExam, error) {
	var e ServerExam
	err := s.use(ctx, func(c *session) error {
		if err := examine(ctx, c, &e); err != nil {
			return fmt.Errorf("asking the server about its settings: %w", err)
		}
		return nil
	})
	if err != nil {
		return ServerExam{}, err
	}
	return e, nil
}

func examine(ctx context.Context, c *session, e *ServerExam) error {
	var b pgx.Batch
	b.Queue(examRoleSQL, providerRoles(), providerPrefixes()).QueryRow(func(row pgx.Row) error {
		return row.Scan(&e.VersionText, &e.InRecovery, &e.Role.Superuser, &e.Role.ReadAllSettings, &e.Role.Monitor,
			&e.Role.Name, &e.Marks.Roles, &e.Marks.Prefixes, &e.Marks.Aurora)
	})
	b.Queue(examSettingsSQL, examNames()).Query(func(rows pgx.Rows) (err error) {
		e.Settings, err = pgx.CollectRows(rows, scanExamSetting)
		return err
	})
	b.Queue(examOverridesSQL).Query(func(rows pgx.Rows) error {
		all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Override])
		e.Overrides = publicOverrides(all)
		return err
	})
	b.Queue(examSessionsSQL).Query(func(rows pgx.Rows) (err error) {
		e.Sessions, err = pgx.CollectRows(rows, pgx.RowToStructByPos[RoleSessions])
		return err
	})
	// Last, because it may be refused, and what follows a refusal is not executed.
	b.Queue(examFilesSQL).Query(func(rows pgx.Rows) (err error) {
		e.Files, err = pgx.CollectRows(rows, scanFileSetting)
		return err
	})
	if err := c.conn.SendBatch(ctx, &b).Close(); err != nil {
		var pg *pgconn.PgError
		if !errors.As(err, &pg) || pg.Code != "42501" { // insufficient_privilege
			return err
		}
		e.FilesUnknown = "the role " + Clean(e.Role.Name) + " may not read pg_file_settings"
	}
	e.clean()
	return markRestarts(ctx, c, e.Files)
}

// markRestarts tells lines that wait for a restart from lines that are wrong.
func markRestarts(ctx context.Context, c *session, files []FileSetting) error {
	if !slices.ContainsFunc(files, func(f FileSetting) bool { return f.Error != "" }) {
		return nil
	}
	rows, err := c.conn.Query(ctx, examPendingSQL)
	if err != nil {
		return err
	}
	pending, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for i, f := range files {
		same := func(name string) bool { return strings.EqualFold(name, f.Name) }
		files[i].NeedsRestart = f.Error != "" && slices.ContainsFunc(pending, same)
	}
	return nil
}

func scanExamSetting(row pgx.CollectableRow) (ExamSetting, error) {
	var s ExamSetting
	err := row.Scan(&s.Name, &s.Value, &s.Setting, &s.Unit, &s.Type, &s.Context, &s.Source, &s.File, &s.Line,
		&s.Boot, &s.Reset, &s.Pending)
	if IsSecret(s.Name, s.Value) || IsSecret(s.Name, s.Reset) {
		s.Value, s.Setting, s.Boot, s.Reset, s.Secret = "", "", "", "", true
	}
	return s, err
}

func scanFileSetting(row pgx.CollectableRow) (FileSetting, error) {
	var f FileSetting
	err := row.Scan(&f.File, &f.Line, &f.Name, &f.Value, &f.Applied, &f.Error)
	if IsSecret(f.Name, f.Value) {
		f.Value, f.Secret = "", true
	}
	return f, err
}

// publicOverrides leaves out what may be secret.
func publicOverrides(all []Override) []Override {
	return slices.DeleteFunc(all, func(o Override) bool { return IsSecret(o.Name, o.Value) })
}

// clean makes every text that came from the server safe to draw and to write.
func (e *ServerExam) clean() {
	for _, s := range []*string{&e.VersionText, &e.Role.Name, &e.FilesUnknown} {
		*s = Clean(*s)
	}
	for i := range e.Settings {
		s := &e.Settings[i]
		for _, t := range []*string{&s.Name, &s.Value, &s.Setting, &s.File, &s.Boot, &s.Reset} {
			*t = Clean(*t)
		}
	}
	for i := range e.Overrides {
		o := &e.Overrides[i]
		o.Database, o.Role, o.Name, o.Value = Clean(o.Database), Clean(o.Role), Clean(o.Name), Clean(o.Value)
	}
	for i := range e.Sessions {
		e.Sessions[i].Role = Clean(e.Sessions[i].Role)
	}
	for i := range e.Files {
		f := &e.Files[i]
		f.File, f.Name, f.Value, f.Error = Clean(f.File), Clean(f.Name), Clean(f.Value), Clean(f.Error)
	}
}

// Setting returns the row of a setting; false where the server does not have it
// or this role may not see it.
func (e ServerExam) Setting(name string) (ExamSetting, bool) {
	i := slices.IndexFunc(e.Settings, func(s ExamSetting) bool { return s.Name == name })
	if i < 0 {
		return ExamSetting{}, false
	}
	return e.Settings[i], true
}
