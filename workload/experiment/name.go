package experiment

import (
	"errors"
	"fmt"
	"strings"
)

// SafeName keeps of the name of a run or an experiment what is safe in every file
// system and shell; "run" where nothing is left.
func SafeName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("+-_.", r):
			return r
		}
		return '-'
	}, s)
	s = strings.TrimLeft(s, ".-")
	const longest = 150 // leaves room below the 255 bytes of file systems
	if len(s) > longest {
		s = s[:longest]
	}
	if s == "" {
		return "run"
	}
	return s
}

// CheckName tells whether a person may give a run or an experiment this name.
func CheckName(name string) error {
	switch {
	case name == "":
		return errors.New("the name is empty")
	case name == last:
		return fmt.Errorf("%s cannot be a name: it stands for the newest already", name)
	case strings.HasSuffix(name, extension):
		return fmt.Errorf("name %s: leave %s out", name, extension)
	case SafeName(name) != name:
		return fmt.Errorf("name %q: a name has up to 150 letters, digits and + - _ . in it, and begins with a letter or a digit", name)
	}
	return nil
}

// last stands for the newest run or experiment.
const last = "last"

// Beginning is the one of some names that begins so; empty where none does. The error
// tells that several do; kind says of what they are the names: "runs".
func Beginning(names []string, prefix, kind string) (string, error) {
	var found []string
	for _, n := range names {
		if strings.HasPrefix(n, prefix) {
			found = append(found, n)
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%s could be any of %d %s: %s …", prefix, len(found), kind, strings.Join(found[:min(3, len(found))], ", "))
}
