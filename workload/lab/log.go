package lab

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"pgtlb/probes"
)

// readTail is the end of the server's log from offset on, in lines. A log that cannot be read explains nothing, like an
// empty one.
func readTail(path string, offset int64) []string {
	lines, err := probes.LogTail(path, offset)
	if err != nil {
		return nil
	}
	return lines
}

// StartError is a server that did not start. Log holds its own words.
type StartError struct {
	State string   // how the process ended: "exit status 1"
	Log   []string // what it wrote during this start, the last lines
}

// Error names the server's own reason, without time stamps.
func (e *StartError) Error() string {
	why := reasons(e.Log)
	if len(why) == 0 {
		return "the server did not start (" + e.State + ") and wrote no reason"
	}
	return "the server did not start: " + strings.Join(why, "; ")
}

var logLine = regexp.MustCompile(`^.*?(FATAL|PANIC|LOG|HINT|DETAIL|ERROR|WARNING): {1,2}(.*)$`)

// reasons picks the lines that explain a failed start: the FATAL or PANIC ones, and the LOG lines in front of a FATAL
// that only says that the configuration file has errors, each with its HINT: the values that a setting can have.
func reasons(log []string) []string {
	var fatal, before []string
	for _, line := range log {
		m := logLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		switch m[1] {
		case "FATAL", "PANIC":
			if strings.HasPrefix(m[2], "configuration file ") {
				fatal = append(fatal, before...)
				continue
			}
			fatal = append(fatal, m[2])
		case "LOG":
			before = append(before, m[2])
		case "HINT":
			if n := len(before); n > 0 {
				before[n-1] += "; " + m[2]
			}
		}
	}
	if len(fatal) == 0 && len(log) > 0 {
		return []string{lastLines(strings.Join(log, "\n"), 3)}
	}
	return fatal
}

// ShortPool is a server that did not start, or would not, because the huge page pool is too small.
type ShortPool struct {
	Size      Pages
	NeedBytes int64 // shared memory, rounded up to whole pages
	Need      int   // pages needed
	Have      int   // pages available to it (free less reserved)
	Total     int   // pages in the pool now
}

// Short is how many pages are missing.
func (e *ShortPool) Short() int { return max(e.Need-e.Have, 0) }

// Error says what is needed, what is there, and the command that helps.
func (e *ShortPool) Error() string {
	return fmt.Sprintf("huge pages: %d pages of %s are needed (%s), %d are available, %d short; as root: `%s`",
		e.Need, e.Size, formatBytes(e.NeedBytes), e.Have, e.Short(), growCommand(e.Size, e.Total+e.Short()))
}

func growCommand(size Pages, n int) string {
	return fmt.Sprintf("echo %d > /sys/kernel/mm/hugepages/hugepages-%dkB/nr_hugepages", n, size.KB())
}

// explainStart turns the log of a failed start into the error that helps most. size is the page size that was asked for.
func explainStart(r Roots, state string, log []string, size Pages) error {
	plain := &StartError{State: state, Log: log}
	bytes, ok := probes.MapFailure(log)
	if !ok || size == Pages4kB {
		return plain
	}
	pool, err := ReadPool(r, size)
	if err != nil {
		return errors.Join(plain, err)
	}
	short := &ShortPool{Size: size, NeedBytes: bytes, Need: pagesFor(bytes, size), Have: pool.Available(), Total: pool.Total}
	return fmt.Errorf("%w (%w)", short, plain)
}

// pagesFor rounds up: a pool that is rounded to the nearest is one page short half of the time.
func pagesFor(bytes int64, size Pages) int {
	return int((bytes + size.Bytes() - 1) / size.Bytes())
}
