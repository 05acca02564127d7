package doctor

import (
	"fmt"
	"slices"
	"strings"

	"pgtlb/probes"
)

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
