package probes

import (
	"regexp"
	"strconv"
	"strings"
)

// mapFailed is the message of a server that got no memory for its shared memory
// mapping, and mapHint the place of its HINT that has the size.
const (
	mapFailed = "could not map anonymous shared memory: Cannot allocate memory"
	mapHint   = `\(currently ([0-9]+) bytes\)`
)

// MapFailure is the size in bytes of the shared memory that a server could not
// map, from the lines of its log; ok is false where they do not say so. Of
// several failures it takes the last.
func MapFailure(log []string) (bytes int64, ok bool) {
	size := regexp.MustCompile(mapHint)
	failed := false
	for _, line := range log {
		if strings.Contains(line, mapFailed) {
			failed, ok = true, false
		}
		m := size.FindStringSubmatch(line)
		if !failed || m == nil {
			continue
		}
		if n, err := strconv.ParseInt(m[1], 10, 64); err == nil && n > 0 {
			bytes, ok, failed = n, true, false
		}
	}
	return bytes, ok
}

// BusError tells whether text of a server or of initdb says that a process died
// of a bus error: it touched a huge page that its cgroup does not allow it.
func BusError(text string) bool {
	text = strings.ToLower(text)
	for _, sign := range []string{"bus error", "terminated by signal 7:", "terminated by signal 7\n", "exited with exit code 135"} {
		if strings.Contains(text+"\n", sign) {
			return true
		}
	}
	return false
}
