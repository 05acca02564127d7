package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pgtlb/probes"
)

// shownSettings is how many settings one check lists before it counts the rest.
const shownSettings = 12

// weighty are the settings that shared memory and huge pages hang on: they come
// first in every list.
func weighty() []string {
	return []string{"huge_pages", "shared_buffers", "huge_page_size", "max_connections", "shared_memory_type", "work_mem", "hash_mem_multiplier", "maintenance_work_mem"}
}

// byWeight orders names, the weighty first.
func byWeight(a, b string) int {
	weight := func(name string) int {
		if i := slices.Index(weighty(), name); i >= 0 {
			return i
		}
		return len(weighty())
	}
	return cmp.Or(cmp.Compare(weight(a), weight(b)), strings.Compare(a, b))
}

// listed joins the first of many texts.
func listed(all []string) string {
	if len(all) <= shownSettings {
		return strings.Join(all, "; ")
	}
	return strings.Join(all[:shownSettings], "; ") + fmt.Sprintf("; and %d more", len(all)-shownSettings)
}

// at is where a line of a file is.
func at(f probes.FileSetting) string { return fmt.Sprintf("%s:%d", f.File, f.Line) }

// needFiles answers a check about the configuration files where they are not seen.
func needFiles(s *Snapshot, c *Check) bool {
	if noServer(s, c) {
		return true
	}
	e := s.Server.Exam
	if e.FilesUnknown == "" {
		return false
	}
	if p, ok := providerOf(s); ok {
		c.Status, c.Found = NotHere, p.Name+" writes the configuration files; nobody else reads them"
		return true
	}
	c.Status, c.Found = Unknown, e.FilesUnknown+" (see settings_visible)"
	return true
}

// checkSettingsVisible is "settings_visible": whether our role sees every setting.
func checkSettingsVisible(s *Snapshot) Check {
	c := Check{ID: "settings_visible", Title: "Settings that our role may see", Sources: []string{"pg_settings", "pg_has_role(pg_read_all_settings)"},
		Expected: "a member of pg_read_all_settings (pg_monitor has it)",
		Why:      "Without it PostgreSQL hides in which file and line a setting stands, and the settings meant for superusers."}
	if noServer(s, &c) {
		return c
	}
	e := s.Server.Exam
	r := e.Role
	switch {
	case r.Superuser:
		c.Found = fmt.Sprintf("the role %s is a superuser", r.Name)
	case r.ReadAllSettings:
		c.Found = fmt.Sprintf("the role %s is a member of pg_read_all_settings", r.Name)
	default:
		c.Found = fmt.Sprintf("the role %s is not a member of pg_read_all_settings: files, lines and settings for superusers are hidden", r.Name)
		c.Fix, c.Undo = grantSettings(s)
	}
	if _, managed := providerOf(s); e.FilesUnknown != "" && !managed {
		c.Found += "; " + e.FilesUnknown
		role := ident(r.Name)
		c.Fix = append(c.Fix, psql("GRANT SELECT ON pg_file_settings TO "+role), psql("GRANT EXECUTE ON FUNCTION pg_show_all_file_settings() TO "+role))
		c.Undo = append(c.Undo, psql("REVOKE SELECT ON pg_file_settings FROM "+role), psql("REVOKE EXECUTE ON FUNCTION pg_show_all_file_settings() FROM "+role))
		c.Expected += ", with the right to read pg_file_settings"
	}
	c.Status = OK
	if len(c.Fix) > 0 {
		c.Status, c.Takes = Unknown, TakesSession
	}
	return c
}

// checkSettingsSources is "settings_sources": where the values that shared memory
// and huge pages hang on come from.
func checkSettingsSources(s *Snapshot) Check {
	c := Check{ID: "settings_sources", Title: "Where the values of the main settings come from", Sources: []string{"pg_settings: source, sourcefile, sourceline"},
		Why: "A change has to be made where the value comes from: a line further down, another file or the command line wins over it."}
	if noServer(s, &c) {
		return c
	}
	var all []string
	hidden := false
	for _, name := range weighty() {
		own, there := s.Server.Exam.Setting(name)
		set, ok := theServers(s, name)
		switch {
		case !there:
			continue
		case !ok:
			hidden = true
			all = append(all, notVisible(s, own))
			continue
		}
		from := set.Source
		switch {
		case set.File != "":
			from = fmt.Sprintf("%s:%d", set.File, set.Line)
		case set.Source == "configuration file" && !s.Server.Exam.Role.Superuser && !s.Server.Exam.Role.ReadAllSettings:
			hidden = true
			from = "a file that our role does not see"
		}
		all = append(all, fmt.Sprintf("%s = %s (%s)", name, set.Value, from))
	}
	c.Status, c.Found = OK, strings.Join(all, "; ")
	if hidden {
		c.Status, c.Found = Unknown, c.Found+" (see settings_visible)"
	}
	return c
}

// checkSettingsErrors is "settings_errors": lines that the server cannot take.
func checkSettingsErrors(s *Snapshot) Check {
	c := Check{ID: "settings_errors", Title: "Lines of the configuration files that are wrong", Sources: []string{"pg_file_settings"},
		Expected: "none",
		Why:      "With such a line in a file the server does not start any more, which shows at the next restart only. While a name is unknown or a line is none, a reload applies nothing from any file."}
	if needFiles(s, &c) {
		return c
	}
	var bad []string
	for _, f := range wrongLines(s) {
		line := at(f) + ": "
		if f.Name != "" {
			line += f.Name + " = " + shownValue(f) + ", "
		}
		bad = append(bad, line+f.Error)
		if f.Line > 0 {
			if holds := withoutLine(s, f); holds != "" {
				c.Fix = append(c.Fix, "# without this line "+holds+":")
			}
			c.comment(f)
		}
	}
	if len(bad) == 0 {
		c.Status, c.Found = OK, fmt.Sprintf("the server can take all %d lines", len(s.Server.Exam.Files))
		return c
	}
	c.Status, c.Found, c.Takes = Fail, listed(bad), TakesReload
	if len(c.Fix) > 0 {
		reload := psql("SELECT pg_reload_conf()")
		c.Fix, c.Undo = append(c.Fix, reload), append(c.Undo, reload)
	}
	return c
}

// withoutLine says what a setting has once a wrong line of it is out; empty where
// that is not known.
func withoutLine(s *Snapshot, wrong probes.FileSetting) string {
	if wrong.Name == "" {
		return ""
	}
	var next *probes.FileSetting
	for _, f := range s.Server.Exam.Files {
		same := f.File == wrong.File && f.Line == wrong.Line
		if strings.EqualFold(f.Name, wrong.Name) && !same && (f.Error == "" || f.NeedsRestart) {
			next = &f
		}
	}
	set, known := s.Server.Exam.Setting(wrong.Name)
	switch {
	case known && (set.Source == "command line" || set.Source == "environment variable"):
		return fmt.Sprintf("%s stays %s, from the %s", set.Name, set.Value, set.Source)
	case next != nil:
		return fmt.Sprintf("%s is %s, in %s", wrong.Name, shownValue(*next), at(*next))
	case known && !set.Secret:
		return fmt.Sprintf("%s is '%s', its default", set.Name, inUnit(set, set.Boot))
	case known:
		return set.Name + " is at its default"
	}
	return ""
}

// shownValue is the value of a line, or that it is kept back.
func shownValue(f probes.FileSetting) string {
	if f.Secret {
		return "(not shown)"
	}
	return "'" + f.Value + "'"
}

// winners are the lines that count: the last one for each name.
func winners(s *Snapshot) map[string]probes.FileSetting {
	out := map[string]probes.FileSetting{}
	for _, f := range s.Server.Exam.Files {
		if f.Name != "" {
			out[strings.ToLower(f.Name)] = f
		}
	}
	return out
}

// sortedNames are the names of lines, the weighty first.
func sortedNames[T any](m map[string]T) []string {
	var out []string
	for n := range m {
		out = append(out, n)
	}
	slices.SortFunc(out, byWeight)
	return out
}

// checkSettingsPending is "settings_pending": values that wait for a restart.
func checkSettingsPending(s *Snapshot) Check {
	c := Check{ID: "settings_pending", Title: "Settings that wait for a restart", Sources: []string{"pg_settings: pending_restart", "pg_file_settings"},
		Expected: "none",
		Why:      "The files say one thing and the server does another until it is restarted, which may be in the middle of an incident: what was changed months ago takes effect then."}
	if noServer(s, &c) {
		return c
	}
	names, won := waiting(s)
	if len(names) == 0 {
		c.Status, c.Found = OK, "pending_restart is set for no setting"
		return c
	}
	var all []string
	p, managed := providerOf(s)
	for _, name := range names {
		set, known := s.Server.Exam.Setting(name)
		text := name
		if known && !set.Secret {
			text += fmt.Sprintf(" is %s", set.Value)
		}
		if f, ok := won[name]; ok {
			text += fmt.Sprintf(", %s in %s", shownValue(f), at(f))
		} else {
			text += ", another value waits"
		}
		all = append(all, text)
		switch {
		case !known || set.Secret:
		case managed:
			c.Undo = append(c.Undo, p.set(set.Name, set.Setting)...)
		default:
			c.Undo = append(c.Undo, keepRunning(s, set, won[name])...)
		}
	}
	c.Status, c.Found, c.Takes = Warn, listed(all), TakesRestart
	c.Fix = restartServer(s)
	if !managed {
		c.Undo = append(c.Undo, psql("SELECT pg_reload_conf()"))
	}
	return c
}

// keepRunning are the lines that leave a setting as the server runs with it, written
// where the line is that waits.
func keepRunning(s *Snapshot, set probes.ExamSetting, waits probes.FileSetting) []string {
	line := confLine(set.Name, set.Value)
	switch {
	case strings.HasSuffix(waits.File, autoConf):
		if command, ok := alterSystem(set.Name, set.Value); ok {
			return []string{command}
		}
		return []string{"# ALTER SYSTEM cannot give an empty list: take the line out, and write the value into postgresql.conf:",
			psql("ALTER SYSTEM RESET " + ident(set.Name)), line}
	case waits.File != "":
		return []string{fmt.Sprintf("# in %s, line %d:", waits.File, waits.Line), line}
	case s.Server.Exam.FilesUnknown == "":
		return []string{"# no file has a line for " + set.Name + " any more; in postgresql.conf:", line}
	}
	return []string{"# in the file that has " + set.Name + " (see settings_visible):", line}
}

// confLine is a line of a configuration file.
func confLine(name, value string) string {
	return fmt.Sprintf("%s = '%s'", name, strings.NewReplacer("'", "''", `\`, `\\`).Replace(value))
}

// blocked tells whether a line would wait for a restart if the server looked at
// it, which it does not while another line is wrong.
func blocked(s *Snapshot, f probes.FileSetting) bool {
	set, ok := s.Server.Exam.Setting(f.Name)
	return ok && set.Context == "postmaster" && f.Error == "" && !f.Applied && !f.Secret && !set.Secret &&
		set.Source != "command line" && set.Source != "override" && !sameValue(set, set.Setting, f.Value)
}

// sessionNames are settings that pgtlb's own session has values of its own for:
// what it sees of them is not the server's.
func sessionNames() []string {
	return []string{"application_name", "client_encoding", "datestyle", "default_transaction_read_only", "statement_timeout", "timezone"}
}

// checkSettingsReload is "settings_reload": lines that are not in effect, though no
// restart is needed.
func checkSettingsReload(s *Snapshot) Check {
	c := Check{ID: "settings_reload", Title: "Value in effect against value in file", Sources: []string{"pg_settings", "pg_file_settings"},
		Expected: "the value of the last line for each name",
		Why:      "A line that was written and not loaded is no setting yet. A value that was given on the server's command line is not to be changed in any file."}
	if needFiles(s, &c) {
		return c
	}
	e := s.Server.Exam
	var late, fixed []string
	won := winners(s)
	for _, name := range sortedNames(won) {
		f := won[name]
		if f.NeedsRestart || f.Secret || slices.Contains(sessionNames(), name) || f.Error != "" && !strings.Contains(f.Error, "could not be applied") {
			continue
		}
		i := slices.IndexFunc(e.Settings, func(x probes.ExamSetting) bool { return strings.EqualFold(x.Name, name) })
		if i < 0 {
			if f.Applied && !strings.Contains(name, ".") { // an extension's may wait for its library
				late = append(late, fmt.Sprintf("%s is at its default, %s in %s", name, shownValue(f), at(f)))
			}
			continue
		}
		set := e.Settings[i]
		switch {
		case set.Secret, set.Pending, sameValue(set, set.Setting, f.Value):
		case set.Source == "command line", set.Source == "environment variable":
			fixed = append(fixed, fmt.Sprintf("%s is %s from the %s, %s in %s has no effect", name, set.Value, set.Source, shownValue(f), at(f)))
		case ownSource(set.Source): // of our own session: see the overrides
		case set.Context != "postmaster" && f.Applied:
			late = append(late, fmt.Sprintf("%s is %s, %s in %s", name, set.Value, shownValue(f), at(f)))
		}
	}
	if len(late)+len(fixed) == 0 {
		c.Status, c.Found = OK, fmt.Sprintf("no line waits for a reload, and none is passed over (settings in the files: %d)", len(won))
		return c
	}
	c.Status, c.Found = Warn, listed(append(late, fixed...))
	if len(late) > 0 {
		c.Fix, c.Takes = []string{psql("SELECT pg_reload_conf()")}, TakesReload
		c.Undo = []string{"# put the old lines back, then:", psql("SELECT pg_reload_conf()")}
	}
	return c
}

// ownSource tells whether our own session has the value, and not the server: from
// ALTER ROLE ALL, its database, its role, or the connection.
func ownSource(source string) bool {
	return slices.Contains([]string{"global", "database", "user", "database user", "client", "session"}, source)
}

// checkSettingsAlterSystem is "settings_alter_system": lines that ALTER SYSTEM has
// put out of effect. It only informs: ALTER SYSTEM is a usual way to set a value.
func checkSettingsAlterSystem(s *Snapshot) Check {
	c := Check{ID: "settings_alter_system", Title: "Lines that ALTER SYSTEM overrides", Sources: []string{"pg_file_settings: " + autoConf},
		Why: "postgresql.auto.conf, which ALTER SYSTEM writes, is read last: a change of the same setting in postgresql.conf has no effect, and says nothing. " +
			"ALTER SYSTEM RESET would bring the other line's value into effect, not the one that holds now."}
	if needFiles(s, &c) {
		return c
	}
	auto := map[string]probes.FileSetting{}
	for _, f := range s.Server.Exam.Files {
		if strings.HasSuffix(f.File, autoConf) {
			auto[strings.ToLower(f.Name)] = f
		}
	}
	dead := map[string][]probes.FileSetting{}
	for _, f := range s.Server.Exam.Files {
		name := strings.ToLower(f.Name)
		if winner, ok := auto[name]; ok && !strings.HasSuffix(f.File, autoConf) && !f.Secret && onPurpose(s, f) && !sameLine(s, f, winner) {
			dead[name] = append(dead[name], f)
		}
	}
	c.Status = OK
	if len(dead) == 0 {
		c.Found = fmt.Sprintf("%d settings by ALTER SYSTEM, none against a line that somebody wrote elsewhere", len(auto))
		return c
	}
	var all []string
	for _, name := range sortedNames(dead) {
		w, lines := auto[name], dead[name]
		last := lines[len(lines)-1]
		all = append(all, fmt.Sprintf("%s = %s in %s counts, %s in %s does not (ALTER SYSTEM RESET %s would give %s)",
			name, shownValue(w), at(w), shownValue(last), at(last), ident(name), shownValue(last)))
		for _, f := range lines {
			c.comment(f)
		}
	}
	c.Found, c.Takes = listed(all), TakesNothing
	return c
}

// comment adds the commands that make a line a comment, and a line again.
func (c *Check) comment(f probes.FileSetting) {
	c.Fix = append(c.Fix, fmt.Sprintf("sed -i '%ds/^/#/' %s", f.Line, quote(f.File)))
	c.Undo = append(c.Undo, fmt.Sprintf("sed -i '%ds/^#//' %s", f.Line, quote(f.File)))
}

// onPurpose tells whether somebody wrote a line, rather than initdb, which writes
// these into every postgresql.conf. The built-in value is no measure: before 15 the
// view has another one for shared_buffers and max_connections.
func onPurpose(s *Snapshot, f probes.FileSetting) bool {
	name := strings.ToLower(f.Name)
	switch name {
	case "datestyle", "default_text_search_config", "dynamic_shared_memory_type", "lc_messages", "lc_monetary", "lc_numeric", "lc_time", "log_timezone", "timezone":
		return false
	}
	initdb := map[string]string{"max_connections": "100", "shared_buffers": "128MB", "max_wal_size": "1GB", "min_wal_size": "80MB"}
	if initdb[name] != "" && f.Value == initdb[name] {
		return false
	}
	set, ok := s.Server.Exam.Setting(f.Name)
	return !ok || !sameValue(set, set.Boot, f.Value)
}

// sameLine tells whether two lines for one name mean the same.
func sameLine(s *Snapshot, a, b probes.FileSetting) bool {
	set, ok := s.Server.Exam.Setting(a.Name)
	if !ok {
		return a.Value == b.Value
	}
	va, okA := quantity(a.Value, set.Unit)
	vb, okB := quantity(b.Value, set.Unit)
	if okA && okB && (set.Type == "integer" || set.Type == "real") {
		return va == vb
	}
	return sameValue(set, a.Value, b.Value)
}

// checkSettingsDuplicates is "settings_duplicates": one name twice in one file.
func checkSettingsDuplicates(s *Snapshot) Check {
	c := Check{ID: "settings_duplicates", Title: "Settings that are in one file twice", Sources: []string{"pg_file_settings"},
		Expected: "one line for each setting",
		Why:      "The last line wins. Who changes the first one changes nothing, and the server does not say so."}
	if needFiles(s, &c) {
		return c
	}
	type place struct{ file, name string }
	last := map[place]probes.FileSetting{}
	for _, f := range s.Server.Exam.Files {
		if f.Name != "" {
			last[place{f.File, strings.ToLower(f.Name)}] = f
		}
	}
	var all []string
	c.Status = OK
	for _, f := range s.Server.Exam.Files {
		w := last[place{f.File, strings.ToLower(f.Name)}]
		if f.Name == "" || f.Line == w.Line || f.Secret || !onPurpose(s, f) || sameLine(s, f, w) || strings.HasSuffix(f.File, autoConf) {
			continue
		}
		all = append(all, fmt.Sprintf("%s = %s in %s is overridden by %s in line %d", f.Name, shownValue(f), at(f), shownValue(w), w.Line))
		c.comment(f)
		if slices.Contains(weighty(), strings.ToLower(f.Name)) {
			c.Status = Warn
		}
	}
	if len(all) == 0 {
		c.Found = "no setting is in one file twice with different values, but for lines that initdb wrote"
		return c
	}
	c.Found, c.Takes = listed(all), TakesNothing
	return c
}
