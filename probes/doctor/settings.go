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
		set, ok := s.Server.Exam.Setting(name)
		if !ok {
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
	for _, f := range s.Server.Exam.Files {
		if f.Error == "" || f.NeedsRestart {
			continue
		}
		line := at(f) + ": "
		if f.Name != "" {
			line += f.Name + " = " + shownValue(f) + ", "
		}
		bad = append(bad, line+f.Error)
		if f.Line > 0 {
			c.Fix = append(c.Fix, fmt.Sprintf("sed -i '%ds/^/#/' %s", f.Line, quote(f.File)))
			c.Undo = append(c.Undo, fmt.Sprintf("sed -i '%ds/^#//' %s", f.Line, quote(f.File)))
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
	e := s.Server.Exam
	won := winners(s)
	waiting := map[string]bool{}
	for _, set := range e.Settings {
		if set.Pending {
			waiting[set.Name] = true
		}
	}
	for name, f := range won {
		if f.NeedsRestart || blocked(s, f) {
			waiting[name] = true
		}
	}
	if len(waiting) == 0 {
		c.Status, c.Found = OK, "pending_restart is set for no setting"
		return c
	}
	var all []string
	p, managed := providerOf(s)
	for _, name := range sortedNames(waiting) {
		set, known := e.Setting(name)
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
			c.Undo = append(c.Undo, p.set(set.Name, set.Value)...)
		default:
			c.Undo = append(c.Undo, psql(fmt.Sprintf("ALTER SYSTEM SET %s = %s", ident(set.Name), literal(set.Value))))
		}
	}
	c.Status, c.Found, c.Takes = Warn, listed(all), TakesRestart
	c.Fix = restartServer(s)
	if !managed {
		c.Undo = append(c.Undo, psql("SELECT pg_reload_conf()"))
	}
	return c
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

// ownSource tells whether our own session has the value from its database or role.
func ownSource(source string) bool {
	return source == "database" || source == "user" || source == "database user"
}

// checkSettingsAlterSystem is "settings_alter_system": lines that ALTER SYSTEM has
// put out of effect.
func checkSettingsAlterSystem(s *Snapshot) Check {
	c := Check{ID: "settings_alter_system", Title: "Lines that ALTER SYSTEM overrides", Sources: []string{"pg_file_settings: " + autoConf},
		Expected: "one place for each setting",
		Why:      "postgresql.auto.conf, which ALTER SYSTEM writes, is read last: a change of the same setting in postgresql.conf has no effect, and says nothing."}
	if needFiles(s, &c) {
		return c
	}
	auto := map[string]probes.FileSetting{}
	for _, f := range s.Server.Exam.Files {
		if strings.HasSuffix(f.File, autoConf) {
			auto[strings.ToLower(f.Name)] = f
		}
	}
	lost := map[string]probes.FileSetting{}
	for _, f := range s.Server.Exam.Files {
		name := strings.ToLower(f.Name)
		if winner, ok := auto[name]; ok && !strings.HasSuffix(f.File, autoConf) && !f.Secret && onPurpose(s, f) && !sameLine(s, f, winner) {
			lost[name] = f
		}
	}
	if len(lost) == 0 {
		c.Status, c.Found = OK, fmt.Sprintf("%d settings by ALTER SYSTEM, none against a line that somebody wrote elsewhere", len(auto))
		return c
	}
	var all []string
	for _, name := range sortedNames(lost) {
		f, w := lost[name], auto[name]
		all = append(all, fmt.Sprintf("%s = %s in %s overrides %s in %s", name, shownValue(w), at(w), shownValue(f), at(f)))
		c.Fix = append(c.Fix, psql("ALTER SYSTEM RESET "+ident(name)))
		c.Undo = append(c.Undo, psql(fmt.Sprintf("ALTER SYSTEM SET %s = %s", ident(name), literal(w.Value))))
	}
	c.Status, c.Found, c.Takes = Warn, listed(all), TakesReload
	for name := range lost {
		if set, ok := s.Server.Exam.Setting(name); ok && set.Context == "postmaster" {
			c.Takes = TakesRestart
		}
	}
	reload := psql("SELECT pg_reload_conf()")
	c.Fix, c.Undo = append(c.Fix, reload), append(c.Undo, reload)
	return c
}

// onPurpose tells whether a line says something else than the built-in value:
// initdb writes some of those into every postgresql.conf.
func onPurpose(s *Snapshot, f probes.FileSetting) bool {
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
	for _, f := range s.Server.Exam.Files {
		w := last[place{f.File, strings.ToLower(f.Name)}]
		if f.Name == "" || f.Line == w.Line || f.Secret || sameLine(s, f, w) || strings.HasSuffix(f.File, autoConf) {
			continue
		}
		all = append(all, fmt.Sprintf("%s = %s in %s is overridden by %s in line %d", f.Name, shownValue(f), at(f), shownValue(w), w.Line))
		c.Fix = append(c.Fix, fmt.Sprintf("sed -i '%ds/^/#/' %s", f.Line, quote(f.File)))
		c.Undo = append(c.Undo, fmt.Sprintf("sed -i '%ds/^#//' %s", f.Line, quote(f.File)))
	}
	if len(all) == 0 {
		c.Status, c.Found = OK, "no setting is in one file twice with different values"
		return c
	}
	c.Status, c.Found, c.Takes = Warn, listed(all), TakesNothing
	return c
}

// memoryNames are settings that change what a session takes.
func memoryNames() []string {
	return []string{"work_mem", "hash_mem_multiplier", "maintenance_work_mem", "temp_buffers"}
}

// checkSettingsOverrides is "settings_overrides": databases and roles with values
// of their own.
func checkSettingsOverrides(s *Snapshot) Check {
	c := Check{ID: "settings_overrides", Title: "Settings of databases and roles", Sources: []string{"pg_db_role_setting", "pg_settings"},
		Expected: "known to whoever sizes memory and compares measurements",
		Why:      "ALTER DATABASE and ALTER ROLE override the server's value in new sessions: SHOW in your session is not what the application's sessions have. huge_pages and shared_buffers cannot be overridden."}
	if noServer(s, &c) {
		return c
	}
	var all, memory []string
	for _, o := range sortedOverrides(s) {
		value, known, same := serverValue(s, o)
		if same {
			continue
		}
		whose, target := o.words()
		text := fmt.Sprintf("%s has %s = '%s'", whose, o.Name, o.Value)
		if known {
			text += " (the server " + value + ")"
		} else {
			text += " (the server's is not visible)"
		}
		all = append(all, text)
		if slices.Contains(memoryNames(), o.Name) {
			memory = append(memory, text)
			c.Fix = append(c.Fix, psql(fmt.Sprintf("ALTER %s RESET %s", target, ident(o.Name))))
			c.Undo = append(c.Undo, psql(fmt.Sprintf("ALTER %s SET %s = %s", target, ident(o.Name), literal(o.Value))))
		}
	}
	switch {
	case len(all) == 0:
		c.Status, c.Found = OK, fmt.Sprintf("no database and no role has another value than the server (overrides: %d)", len(s.Server.Exam.Overrides))
	case len(memory) == 0:
		c.Status, c.Found = OK, listed(all)
	default:
		c.Status, c.Found, c.Takes = Warn, listed(all), TakesSession
	}
	return c
}

func sortedOverrides(s *Snapshot) []override {
	var out []override
	for _, o := range s.Server.Exam.Overrides {
		out = append(out, override{o})
	}
	slices.SortStableFunc(out, func(a, b override) int { return byWeight(a.Name, b.Name) })
	return out
}

// override is a setting of a database or role with its words.
type override struct{ probes.Override }

// words are whose setting it is, and the object of ALTER.
func (o override) words() (whose, target string) {
	switch {
	case o.Database != "" && o.Role != "":
		return fmt.Sprintf("the role %s in the database %s", o.Role, o.Database), fmt.Sprintf("ROLE %s IN DATABASE %s", ident(o.Role), ident(o.Database))
	case o.Database != "":
		return "the database " + o.Database, "DATABASE " + ident(o.Database)
	case o.Role != "":
		return "the role " + o.Role, "ROLE " + ident(o.Role)
	}
	return "every role", "ROLE ALL"
}

// serverValue is the value that the server has without an override. Our own
// session may have one; the files tell then, where they are seen.
func serverValue(s *Snapshot, o override) (value string, known, same bool) {
	set, ok := s.Server.Exam.Setting(o.Name)
	if !ok {
		return "", false, false
	}
	if !ownSource(set.Source) {
		return set.Value, true, sameValue(set, set.Setting, o.Value)
	}
	if s.Server.Exam.FilesUnknown != "" {
		return "", false, false
	}
	if f, ok := winners(s)[strings.ToLower(o.Name)]; ok && !f.Secret {
		return "'" + f.Value + "' in " + at(f), true, sameLine(s, f, probes.FileSetting{Name: o.Name, Value: o.Value})
	}
	return set.Boot + set.Unit + " by default", true, sameValue(set, set.Boot, o.Value)
}

// crowded is the share of max_connections from which on new sessions are close to
// being refused.
const crowded = 0.9

// checkConnections is "connections": how many of max_connections are taken.
func checkConnections(s *Snapshot) Check {
	c := Check{ID: "connections", Title: "Sessions and max_connections", Sources: []string{"pg_stat_activity", "pg_settings: max_connections, superuser_reserved_connections, reserved_connections"},
		Expected: fmt.Sprintf("less than %.0f %% taken", crowded*100),
		Why:      "Every session has a page table of its own: with 4 kB pages its size is the shared memory that the session has touched, /512. When all are taken new ones get \"too many clients already\"."}
	set, ok := serverSetting(s, &c, "max_connections")
	if !ok {
		return c
	}
	most, _ := settingNumber(s, "max_connections")
	reserved, _ := settingNumber(s, "superuser_reserved_connections")
	more, _ := settingNumber(s, "reserved_connections")
	n := 0
	var roles []string
	for _, r := range s.Server.Exam.Sessions {
		n += r.Sessions
		if len(roles) < 5 {
			roles = append(roles, fmt.Sprintf("%s %d", r.Role, r.Sessions))
		}
	}
	free := most - reserved - more
	c.Found = fmt.Sprintf("%d sessions besides ours; max_connections is %d, of which %d are reserved", n, most, reserved+more)
	if len(roles) > 0 {
		c.Found += "; by role: " + strings.Join(roles, ", ")
	}
	c.Status = OK
	if free > 0 && float64(n) >= crowded*float64(free) {
		c.Status = Warn
		c.Fix, c.Undo, c.Takes = alter(s, set, fmt.Sprint(most*3/2))
		c.Fix = append([]string{"# a connection pooler is the better way; more sessions take more page tables:"}, c.Fix...)
	}
	return c
}

// checkWorkMemory is "work_memory": what sessions may come to take beside shared
// memory.
func checkWorkMemory(s *Snapshot) Check {
	c := Check{ID: "work_memory", Title: "Memory of sessions (work_mem)", Sources: []string{"pg_settings: work_mem, hash_mem_multiplier, max_connections, shared_memory_size", "/proc/meminfo MemTotal"},
		Why: "One query may take work_mem for each sort and work_mem × hash_mem_multiplier for each hash, in each of its processes. " +
			"What the huge page pool holds is not there for them. The figure is one of either in each session, not the most that is possible."}
	set, ok := serverSetting(s, &c, "work_mem")
	if !ok {
		return c
	}
	const processes = 3
	most, _ := settingNumber(s, "max_connections")
	each := parallelHashKB(s) / processes
	all := uint64(most) * each
	shared := s.Server.Info.SharedMemoryKB
	if shared == 0 {
		shared = s.Server.Info.SharedBuffersKB
	}
	now := 0
	for _, r := range s.Server.Exam.Sessions {
		now += r.Sessions
	}
	c.Found = fmt.Sprintf("work_mem × hash_mem_multiplier is %s: %s for the %d sessions of now, %s at max_connections (%d), beside %s of shared memory",
		memory(each), memory(uint64(now)*each), now, memory(all), most, memory(shared))
	m := s.Pages.Memory
	if s.HostUnknown != "" || m.TotalKB == 0 {
		c.Status = Unknown
		c.Found += "; the memory of the server's machine is not known here"
		return c
	}
	total, whose := m.TotalKB, "the machine has"
	held := max(shared, s.poolsKB())
	if l := s.Pages.Cgroup.tightest(0, 0); l != nil && uint64(l.Max)>>10 < total {
		total, whose, held = uint64(l.Max)>>10, l.File+" allows", shared
	}
	room := total - min(held, total)
	c.Found += fmt.Sprintf("; %s %s, %s without it", whose, memory(total), memory(room))
	c.Expected = "at max_connections at most " + memory(room)
	c.Status = OK
	if all <= room {
		return c
	}
	c.Status = Warn
	work, _ := settingNumber(s, "work_mem")
	fits := int64(float64(room) / float64(most) * float64(work) / float64(each))
	if fits >= 1024 { // below 1 MB another number of sessions is the way
		c.Fix, c.Undo, c.Takes = alter(s, set, fmt.Sprintf("%dMB", fits/1024))
	}
	return c
}
