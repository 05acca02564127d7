package lab

import (
	"fmt"
	"math"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// Setting is one server setting of a lab and why it has its value.
type Setting struct{ Name, Value, Why string }

// MaxConnections is max_connections of a lab unless --set says otherwise. A place
// for a connection costs about 50 kB of shared memory (measured with PostgreSQL 15).
const MaxConnections = 1100

// DefaultSettings are what every lab starts with, besides shared_buffers and the page size. --set overrides them.
func DefaultSettings() []Setting {
	return []Setting{
		{"fsync", "off", "a lab is thrown away; waiting for disks would hide what memory does"},
		{"synchronous_commit", "off", "as above"},
		{"full_page_writes", "off", "as above"},
		{"wal_level", "minimal", "loading and index builds write no WAL that nobody will read"},
		{"max_wal_senders", "0", "wal_level minimal asks for it"},
		{"max_wal_size", "'4GB'", "no checkpoint for the size of the WAL in the middle of a run"},
		{"checkpoint_timeout", "'30min'", "no timed checkpoint in the middle of a run"},
		{"max_connections", strconv.Itoa(MaxConnections), "1,000 clients of one scenario fit, with room for others and for the watching sessions"},
		{"jit", "off", "compiling queries costs time and private memory that has nothing to do with pages"},
		{"restart_after_crash", "off", "a backend that died (SIGBUS of a huge page that is not there) must be seen, not papered over by a cold restart"},
		{"log_line_prefix", "'%m [%p] '", "time and backend in every line"},
	}
}

// Durable gives settings of a lab in which commits wait for the disk, which those of
// DefaultSettings do not; what is set already stays.
func Durable(settings map[string]string) map[string]string {
	out := map[string]string{"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
	for name, value := range settings {
		out[strings.ToLower(name)] = value
	}
	return out
}

// AboutFlush tells of settings whose effect is on the flush of the WAL.
func AboutFlush(setting string) bool {
	switch setting {
	case "fsync", "synchronous_commit", "full_page_writes", "wal_sync_method", "commit_delay", "commit_siblings", "wal_writer_delay", "wal_writer_flush_after":
		return true
	}
	return false
}

// own are the settings that keep a lab private; --set may not change them.
var ownSettings = map[string]bool{
	"listen_addresses": true, "unix_socket_directories": true, "unix_socket_permissions": true, "unix_socket_group": true,
	"port": true, "data_directory": true, "config_file": true, "hba_file": true, "ident_file": true, "external_pid_file": true,
	"logging_collector": true, "log_destination": true,
}

var settingName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)?$`)

// checkSettings gives the settings with lower-case names, or says which one a lab cannot take. Whether the server
// knows a setting and takes its value is the server's to say.
func checkSettings(in map[string]string) (map[string]string, error) {
	out := make(map[string]string, len(in))
	for name, value := range in {
		low := strings.ToLower(name)
		switch {
		case !settingName.MatchString(name):
			return nil, fmt.Errorf("setting %q: that is not the name of a server setting", name)
		case strings.ContainsAny(value, "\n\r\x00"):
			return nil, fmt.Errorf("setting %s: the value has a line break in it", name)
		case ownSettings[low]:
			return nil, fmt.Errorf("setting %s: a lab sets it itself, its server is reached by its own socket only", name)
		}
		out[low] = value
	}
	return out, nil
}

// quoteSetting writes a value for postgresql.conf.
func quoteSetting(v string) string {
	return "'" + strings.NewReplacer(`'`, `''`, `\`, `\\`).Replace(v) + "'"
}

// pageSettings ask for the page size p and for nothing else: on, never try, because a lab that silently fell back would
// measure the wrong thing. huge_page_size exists from 14; 13 takes only the machine's default size.
func pageSettings(p Pages, major int, defaultKB int) (map[string]string, error) {
	if p == Pages4kB {
		return map[string]string{"huge_pages": "off"}, nil
	}
	if major >= 14 {
		return map[string]string{"huge_pages": "on", "huge_page_size": p.String()}, nil
	}
	if p.KB() != defaultKB {
		return nil, fmt.Errorf("%s pages: PostgreSQL %d takes only the machine's default huge page size, which is %s", p, major, formatBytes(int64(defaultKB)<<10))
	}
	return map[string]string{"huge_pages": "on"}, nil
}

// configText is the lab's own configuration file. Later lines win, which is how layers override each other.
func configText(socketDir string, layers ...map[string]string) string {
	var b strings.Builder
	b.WriteString("# written by pgtlb at every start of this lab; changes are lost\n")
	for _, s := range DefaultSettings() {
		fmt.Fprintf(&b, "%s = %s\n", s.Name, s.Value)
	}
	for _, layer := range layers {
		names := make([]string, 0, len(layer))
		for name := range layer {
			names = append(names, name)
		}
		sort.Strings(names)
		for _, name := range names {
			fmt.Fprintf(&b, "%s = %s\n", name, quoteSetting(layer[name]))
		}
	}
	fmt.Fprintf(&b, "listen_addresses = ''\nport = %d\nunix_socket_directories = %s\nunix_socket_permissions = 0700\n", labPort, quoteSetting(socketDir))
	b.WriteString("logging_collector = off\nlog_destination = 'stderr'\n")
	return b.String()
}

// labPort only names the socket file.
const labPort = 5432

var sizeText = regexp.MustCompile(`^\s*([0-9]+(?:\.[0-9]+)?)\s*(B|kB|MB|GB|TB)?\s*$`)

// ParseSize reads a memory size as the server does for shared_buffers: a number of 8 kB blocks, or with a unit B, kB, MB,
// GB or TB. The result is in bytes.
func ParseSize(s string) (int64, error) {
	m := sizeText.FindStringSubmatch(s)
	if m == nil {
		return 0, fmt.Errorf("size %q: write a number and a unit, kB, MB, GB or TB, for example 512MB", s)
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, fmt.Errorf("size %q: %w", s, err)
	}
	unit := map[string]float64{"": 8192, "B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}[m[2]]
	if v *= unit; v > math.MaxInt64/2 {
		return 0, fmt.Errorf("size %q: that is more than any machine has", s)
	}
	return int64(v), nil
}

// formatBytes gives a size to a person, in the binary units PostgreSQL uses.
func formatBytes(n int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	v, i := float64(n), 0
	for ; v >= 1024 && i < len(units)-1; i++ {
		v /= 1024
	}
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) + " " + units[i]
}
