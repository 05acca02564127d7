package probes

import (
	"slices"
	"strings"
)

// listSettings are the settings whose value is a list of names that ALTER SYSTEM
// quotes one by one (GUC_LIST_QUOTE in PostgreSQL 13 to 18; no extension may add one).
func listSettings() []string {
	return []string{"local_preload_libraries", "search_path", "session_preload_libraries", "shared_preload_libraries",
		"temp_tablespaces", "unix_socket_directories"}
}

// SettingLiteral is a value of a setting, as a file or pg_settings has it, as ALTER
// SYSTEM SET, ALTER DATABASE SET and ALTER ROLE SET take it behind the "=". A list of
// names becomes one literal for each name: as one literal the server would store it
// as one name, and not start with it. False means that no such command gives the
// value: the list is empty, or it is none.
func SettingLiteral(name, value string) (string, bool) {
	name = strings.ToLower(name)
	if !slices.Contains(listSettings(), name) {
		return SQLLiteral(value), true
	}
	names, ok := splitNames(value, name == "search_path" || name == "temp_tablespaces")
	if !ok || len(names) == 0 {
		return "", false
	}
	for i, n := range names {
		names[i] = SQLLiteral(n)
	}
	return strings.Join(names, ", "), true
}

// SQLLiteral quotes a text so that it is the same whatever standard_conforming_strings
// is.
func SQLLiteral(s string) string {
	quoted := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.Contains(s, `\`) {
		return "E" + strings.ReplaceAll(quoted, `\`, `\\`)
	}
	return quoted
}

// splitNames takes a list apart as the server does: commas between names, double
// quotes around a name that needs them, two for one inside. Identifiers that are not
// quoted are in lower case. False is a list that the server refuses.
func splitNames(list string, identifiers bool) ([]string, bool) {
	var out []string
	rest := strings.TrimSpace(list)
	if rest == "" {
		return nil, true
	}
	for {
		var name string
		if quoted, ok := strings.CutPrefix(rest, `"`); ok {
			if name, rest, ok = quotedName(quoted); !ok {
				return nil, false
			}
		} else {
			end := strings.IndexByte(rest, ',')
			if end < 0 {
				end = len(rest)
			}
			name, rest = strings.TrimSpace(rest[:end]), rest[end:]
			if identifiers {
				name = strings.ToLower(name)
			}
		}
		if name == "" {
			return nil, false
		}
		out = append(out, name)
		rest = strings.TrimSpace(rest)
		if rest == "" {
			return out, true
		}
		var more bool
		if rest, more = strings.CutPrefix(rest, ","); !more {
			return nil, false
		}
		rest = strings.TrimSpace(rest)
	}
}

// quotedName reads a name up to its closing quote; the opening one is gone.
func quotedName(s string) (name, rest string, ok bool) {
	for {
		before, after, found := strings.Cut(s, `"`)
		if !found {
			return "", "", false
		}
		name += before
		if s, ok = strings.CutPrefix(after, `"`); !ok {
			return name, after, true
		}
		name += `"`
	}
}
