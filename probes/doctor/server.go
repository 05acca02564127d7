package doctor

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"pgtlb/probes"
)

// serverChecks are the checks over Server, in the order in which they are shown.
func serverChecks() []func(*Snapshot) Check {
	return []func(*Snapshot) Check{
		checkProvider, checkSettingsVisible, checkSettingsSources,
		checkSettingsErrors, checkSettingsPending, checkSettingsReload,
		checkSettingsAlterSystem, checkSettingsDuplicates, checkSettingsOverrides,
		checkConnections, checkWorkMemory,
	}
}

// noServer answers a check about a server where none was asked.
func noServer(s *Snapshot, c *Check) bool {
	if s.Server != nil {
		return false
	}
	c.Status, c.Found = NotHere, "no running server is examined: "+s.ServerUnknown
	return true
}

// serverSetting is a setting that a check needs; false, with the check answered,
// where the server does not have it or the role may not see it.
func serverSetting(s *Snapshot, c *Check, name string) (probes.ExamSetting, bool) {
	if noServer(s, c) {
		return probes.ExamSetting{}, false
	}
	set, ok := theServers(s, name)
	own, hidden := s.Server.Exam.Setting(name)
	switch {
	case ok:
	case hidden:
		c.Status, c.Found = Unknown, notVisible(s, own)
	case s.Server.Exam.Role.ReadAllSettings || s.Server.Exam.Role.Superuser:
		c.Status, c.Found = NotHere, fmt.Sprintf("PostgreSQL %s has no %s", s.Server.Info.Version, name)
	default:
		c.Status, c.Found = Unknown, fmt.Sprintf("the role %s does not see %s", s.Server.Exam.Role.Name, name)
		c.Fix, c.Undo = grantSettings(s)
		c.Takes = TakesSession
	}
	return set, ok
}

// theServers is a setting as sessions have it that override nothing. Where our own
// session's role or database overrides it, the value comes from the configuration
// files; false where they are not seen, or the server has no such setting.
func theServers(s *Snapshot, name string) (probes.ExamSetting, bool) {
	set, ok := s.Server.Exam.Setting(name)
	if !ok || !ownSource(set.Source) {
		return set, ok
	}
	if set.Secret || s.Server.Exam.FilesUnknown != "" || len(s.Server.Exam.Files) == 0 {
		return probes.ExamSetting{}, false
	}
	set.Source, set.Value, set.Setting, set.Reset = "default", inUnit(set, set.Boot), set.Boot, set.Boot
	f, ok := winners(s)[strings.ToLower(name)]
	if !ok {
		return set, true
	}
	if f.Secret || !f.Applied {
		return probes.ExamSetting{}, false
	}
	set.Source, set.Value, set.File, set.Line = "configuration file", f.Value, f.File, f.Line
	set.Setting = baseValue(set, f.Value)
	set.Reset = set.Setting
	return set, true
}

// baseValue is a value as the column setting of pg_settings has it: a number in the
// setting's unit.
func baseValue(set probes.ExamSetting, value string) string {
	number, ok := quantity(strings.TrimSpace(value), set.Unit)
	switch {
	case !ok:
	case set.Type == "integer":
		return strconv.FormatFloat(math.Round(number/unitFactor(set.Unit)), 'f', -1, 64)
	case set.Type == "real":
		return strconv.FormatFloat(number/unitFactor(set.Unit), 'g', -1, 64)
	}
	return value
}

// notVisible says that our own session hides the server's value of a setting.
func notVisible(s *Snapshot, own probes.ExamSetting) string {
	return fmt.Sprintf("the server's %s is not visible for the role %s, which has %s of its own (by %s)",
		own.Name, s.Server.Exam.Role.Name, own.Value, own.Source)
}

// inUnit writes a value that is in the unit of its setting: "131072kB", not a number
// of 8 kB blocks.
func inUnit(set probes.ExamSetting, value string) string {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || !strings.HasPrefix(set.Unit, "8") {
		return value + set.Unit
	}
	return fmt.Sprintf("%.0fkB", float64(n)*unitFactor(set.Unit))
}

// has tells whether the server has a setting and shows it.
func has(s *Snapshot, name string) bool {
	if s.Server == nil {
		return false
	}
	_, ok := s.Server.Exam.Setting(name)
	return ok
}

// settingNumber is a setting as a number: memory in kB, time in ms.
func settingNumber(s *Snapshot, name string) (int64, bool) {
	if s.Server == nil {
		return 0, false
	}
	set, ok := theServers(s, name)
	if !ok {
		return 0, false
	}
	v, err := strconv.ParseFloat(set.Setting, 64)
	if err != nil {
		return 0, false
	}
	return int64(v * unitFactor(set.Unit)), true
}

// unitFactor is how many kB or ms one of a unit of pg_settings is; 1 without.
func unitFactor(unit string) float64 {
	digits := 0
	for digits < len(unit) && unit[digits] >= '0' && unit[digits] <= '9' {
		digits++
	}
	n := 1.0
	if digits > 0 {
		n, _ = strconv.ParseFloat(unit[:digits], 64)
	}
	factor, ok := units()[unit[digits:]]
	if !ok {
		return n
	}
	return n * factor
}

// units are those that PostgreSQL knows, in kB and ms.
func units() map[string]float64 {
	const kB, ms = 1, 1
	return map[string]float64{
		"B": kB / 1024.0, "kB": kB, "MB": 1 << 10 * kB, "GB": 1 << 20 * kB, "TB": 1 << 30 * kB,
		"us": ms / 1000.0, "ms": ms, "s": 1000 * ms, "min": 60 * 1000 * ms, "h": 60 * 60 * 1000 * ms, "d": 24 * 60 * 60 * 1000 * ms,
	}
}

// sameValue tells whether a text, as a file or ALTER ... SET has it, means the
// value that a setting has in its own unit.
func sameValue(set probes.ExamSetting, inUnit, text string) bool {
	if set.Type != "string" {
		text = strings.TrimSpace(text)
	}
	switch set.Type {
	case "bool":
		a, okA := boolean(inUnit)
		b, okB := boolean(text)
		return okA && okB && a == b
	case "integer", "real":
		a, okA := quantity(inUnit, set.Unit)
		b, okB := quantity(text, set.Unit)
		if !okA || !okB {
			return inUnit == text
		}
		// The server rounds to its unit.
		step := unitFactor(set.Unit)
		if set.Type == "real" {
			return math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b))
		}
		return math.Abs(a-b) < step/2+1e-9*step
	case "enum":
		if a, ok := boolean(inUnit); ok {
			if b, ok := boolean(text); ok {
				return a == b
			}
		}
		return strings.EqualFold(inUnit, text)
	}
	return inUnit == text
}

// boolean reads a value as the server does.
func boolean(s string) (value, ok bool) {
	s = strings.ToLower(s)
	switch s {
	case "1", "on":
		return true, true
	case "0", "of", "off":
		return false, true
	case "":
		return false, false
	}
	switch {
	case strings.HasPrefix("true", s), strings.HasPrefix("yes", s):
		return true, true
	case strings.HasPrefix("false", s), strings.HasPrefix("no", s):
		return false, true
	}
	return false, false
}

// quantity reads a number with or without a unit of its own, in kB or ms.
func quantity(text, unit string) (float64, bool) {
	end := strings.LastIndexAny(text, "0123456789.") + 1
	own := strings.TrimSpace(text[end:])
	digits := strings.TrimSpace(text[:end])
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		n, err := strconv.ParseInt(digits, 0, 64) // hexadecimal and octal, as the server takes them
		if err != nil {
			return 0, false
		}
		v = float64(n)
	}
	if own == "" {
		return v * unitFactor(unit), true
	}
	factor, ok := units()[own]
	return v * factor, ok && unit != ""
}

// psql is the command that runs SQL as a superuser.
func psql(sql string) string {
	if !strings.ContainsAny(sql, "\"$`\\!") {
		return `psql -c "` + sql + `"`
	}
	return "psql -c '" + strings.ReplaceAll(sql, "'", `'\''`) + "'"
}

// ident quotes a name where it needs it.
func ident(s string) string {
	plain := s != "" && !slices.Contains(reservedWords(), s)
	for i, r := range s {
		plain = plain && (r == '_' || r >= 'a' && r <= 'z' || i > 0 && r >= '0' && r <= '9')
	}
	if plain {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

// reservedWords are no names without quotes (manual, "SQL Key Words").
func reservedWords() []string {
	return strings.Fields(`all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate collation
		column concurrently constraint create cross current_catalog current_date current_role current_schema current_time current_timestamp
		current_user default deferrable desc distinct do else end except false fetch for foreign freeze from full grant group having ilike
		in initially inner intersect into is isnull join lateral leading left like limit localtime localtimestamp natural none not notnull null
		offset on only or order outer overlaps placing primary references returning right select session_user similar some symmetric
		system_user table tablesample then to trailing true union unique user using variadic verbose when where window with`)
}

// autoConf ends the path of the file that ALTER SYSTEM writes.
const autoConf = "postgresql.auto.conf"

// alterSystem is the command that gives the whole server a value; false where ALTER
// SYSTEM cannot give it.
func alterSystem(name, value string) (string, bool) {
	literal, ok := probes.SettingLiteral(name, value)
	return psql(fmt.Sprintf("ALTER SYSTEM SET %s = %s", ident(name), literal)), ok
}

// alterBack is the line that gives a setting back what ALTER SYSTEM has for it now.
func alterBack(s *Snapshot, set probes.ExamSetting) string {
	reset := psql("ALTER SYSTEM RESET " + ident(set.Name))
	value, there := "", false
	if s.Server.Exam.FilesUnknown == "" {
		for _, f := range s.Server.Exam.Files {
			if strings.HasSuffix(f.File, autoConf) && strings.EqualFold(f.Name, set.Name) && !f.Secret {
				value, there = f.Value, true
			}
		}
	}
	switch {
	case there:
	case strings.HasSuffix(set.File, autoConf):
		value = set.Value
	default:
		return reset
	}
	if command, ok := alterSystem(set.Name, value); ok {
		return command
	}
	return reset
}

// alter are the lines that set a setting for the whole server, and those that take
// it back. The value is a word, not a list.
func alter(s *Snapshot, set probes.ExamSetting, value string) (fix, undo []string, takes Takes) {
	takes = TakesReload
	if set.Context == "postmaster" {
		takes = TakesRestart
	}
	if p, ok := providerOf(s); ok {
		return p.set(set.Name, baseValue(set, value)), p.set(set.Name, set.Setting), takes
	}
	then := []string{psql("SELECT pg_reload_conf()")}
	if takes == TakesRestart {
		then = restartServer(s)
	}
	command, _ := alterSystem(set.Name, value)
	return append([]string{command}, then...), append([]string{alterBack(s, set)}, then...), takes
}

// restartServer are the lines that restart the server, whoever runs it.
func restartServer(s *Snapshot) []string {
	if p, ok := providerOf(s); ok {
		return []string{p.Restart}
	}
	return s.restart()
}

// grantSettings are the lines that let our role see every setting.
func grantSettings(s *Snapshot) (fix, undo []string) {
	role := ident(s.Server.Exam.Role.Name)
	return []string{psql("GRANT pg_monitor TO " + role)}, []string{psql("REVOKE pg_monitor FROM " + role)}
}
