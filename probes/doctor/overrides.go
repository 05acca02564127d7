package doctor

import (
	"fmt"
	"slices"

	"pgtlb/probes"
)

// checkSettingsOverrides is "settings_overrides": databases and roles with values
// of their own. It only informs: a work_mem for each role is good practice.
func checkSettingsOverrides(s *Snapshot) Check {
	c := Check{ID: "settings_overrides", Title: "Settings of databases and roles", Sources: []string{"pg_db_role_setting", "pg_settings"},
		Why: "ALTER DATABASE and ALTER ROLE override the server's value in new sessions: SHOW in your session is not what the application's sessions have. huge_pages and shared_buffers cannot be overridden."}
	if noServer(s, &c) {
		return c
	}
	var all []string
	for _, o := range sortedOverrides(s) {
		value, known, same := serverValue(s, o)
		if same {
			continue
		}
		text := fmt.Sprintf("%s has %s = '%s'", o.whose(), o.Name, o.Value)
		if known {
			text += " (the server " + value + ")"
		} else {
			text += " (the server's is not visible)"
		}
		all = append(all, text)
	}
	c.Status, c.Found = OK, listed(all)
	if len(all) == 0 {
		c.Found = fmt.Sprintf("no database and no role has another value than the server (overrides: %d)", len(s.Server.Exam.Overrides))
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

// whose says in words whose setting it is.
func (o override) whose() string {
	switch {
	case o.Database != "" && o.Role != "":
		return fmt.Sprintf("the role %s in the database %s", o.Role, o.Database)
	case o.Database != "":
		return "the database " + o.Database
	case o.Role != "":
		return "the role " + o.Role
	}
	return "every role"
}

// serverValue is the value that the server has without an override.
func serverValue(s *Snapshot, o override) (value string, known, same bool) {
	set, ok := theServers(s, o.Name)
	if !ok || set.Secret {
		return "", false, false
	}
	return set.Value, true, sameValue(set, set.Setting, o.Value)
}
