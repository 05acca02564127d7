package doctor

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// readFile returns a file's content as text.
func readFile(path string) (string, error) {
	b, err := os.ReadFile(path)
	return string(b), err
}

// readNumber is the number in a file; 0 where there is none.
func readNumber(path string) int {
	text, err := readFile(path)
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return 0
	}
	return n
}

// counters reads lines of a name and a number, as in /proc/vmstat.
func counters(text string, wanted ...string) map[string]uint64 {
	out := map[string]uint64{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !slices.Contains(wanted, name) {
			continue
		}
		if n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64); err == nil {
			out[name] = n
		}
	}
	return out
}

// iniValue is the last value of a key in text of systemd's form; commented out
// lines count where asked for. Sections are not told apart: the keys asked for
// have one each.
func iniValue(text, key string, comments bool) (string, bool) {
	value, found := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if comments {
			line = strings.TrimSpace(strings.TrimPrefix(line, "#"))
		}
		if v, ok := strings.CutPrefix(line, key); ok {
			if v, ok = strings.CutPrefix(strings.TrimSpace(v), "="); ok {
				value, found = strings.TrimSpace(v), true
			}
		}
	}
	return value, found
}

// dropIns lists the files *.conf of a directory of that name below each of the
// folders, in the order in which systemd reads them: by name, the first folder
// winning for one name.
func (l looker) dropIns(folders []string, dir string) []string {
	byName := map[string]string{}
	for _, folder := range folders {
		entries, err := os.ReadDir(l.tree.Path(folder, dir))
		if err != nil {
			continue // most of them are not there
		}
		for _, e := range entries {
			if _, known := byName[e.Name()]; !known && filepath.Ext(e.Name()) == ".conf" {
				byName[e.Name()] = l.tree.Path(folder, dir, e.Name())
			}
		}
	}
	names := make([]string, 0, len(byName))
	for n := range byName {
		names = append(names, n)
	}
	slices.Sort(names)
	paths := make([]string, len(names))
	for i, n := range names {
		paths[i] = byName[n]
	}
	return paths
}

func isFile(path string) bool {
	i, err := os.Stat(path)
	return err == nil && i.Mode().IsRegular()
}

func isDir(path string) bool {
	i, err := os.Stat(path)
	return err == nil && i.IsDir()
}
