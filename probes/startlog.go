package probes

import (
	"errors"
	"io"
	"os"
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

// MaxTail bounds what is read of a server's log, in bytes.
const MaxTail = 64 << 10

// LogTail reads a server's log from offset on, the last 64 kB of it at most, in lines.
func LogTail(path string, offset int64) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable(path, err, "")
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, unreadable(path, err, "")
	}
	from := max(offset, size-MaxTail)
	b := make([]byte, max(size-from, 0))
	n, err := f.ReadAt(b, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, unreadable(path, err, "")
	}
	text := string(b[:n])
	if from > offset { // cut in the middle of a line
		_, text, _ = strings.Cut(text, "\n")
	}
	if text = strings.TrimRight(text, "\n"); text == "" {
		return nil, nil
	}
	return strings.Split(text, "\n"), nil
}

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
