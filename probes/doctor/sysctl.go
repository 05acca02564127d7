package doctor

import (
	"path"
	"slices"
	"strings"
)

// sysctlLine is a line of the files that set kernel settings at a boot.
type sysctlLine struct {
	file    string
	line    int
	key     string // with dots: vm.nr_hugepages
	value   string
	text    string
	ignored string // why it does nothing; empty where it does
}

// sysctlDirs are where settings of the kernel are looked for, the strongest
// first: a file masks one of the same name in a later directory.
func sysctlDirs() []string {
	return []string{"/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d"}
}

// readSysctl reads the lines in the order in which they take effect: all files
// by name, whatever their directory (sysctl.d(5)). /etc/sysctl.conf is read by
// systemd only where a link in a directory leads to it, as 99-sysctl.conf does on
// many systems; the sysctl of procps, which other init systems run, reads it last.
func readSysctl(f files) []sysctlLine {
	const conf = "/etc/sysctl.conf"
	from := map[string]string{}
	var names []string
	for _, dir := range sysctlDirs() {
		for _, name := range f.names(dir) {
			if _, masked := from[name]; masked || !strings.HasSuffix(name, ".conf") {
				continue
			}
			from[name] = path.Join(dir, name)
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var out []sysctlLine
	confRead := false
	confReal := f.sameFile(conf)
	for _, name := range names {
		file := from[name]
		if confReal != "" && f.sameFile(file) == confReal {
			file, confRead = conf, true
		}
		text, ok := f.text(file)
		if !ok {
			continue // masked by a link to /dev/null too
		}
		out = append(out, parseSysctl(file, text)...)
	}
	if confRead {
		return out
	}
	text, ok := f.text(conf)
	if !ok {
		return out
	}
	last := parseSysctl(conf, text)
	if f.exists("/run/systemd/system") || f.exists("/usr/lib/systemd/system") || f.exists("/lib/systemd/system") {
		for i := range last {
			last[i].ignored = "systemd reads " + conf + " only through a link in /etc/sysctl.d, and there is none"
		}
	}
	return append(out, last...)
}

// parseSysctl reads a file of kernel settings: "vm.nr_hugepages = 512", with
// slashes for dots if one likes, and a minus before what may fail.
func parseSysctl(file, text string) []sysctlLine {
	var out []sysctlLine
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.ContainsAny(line[:1], "#;") {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		key = strings.TrimSpace(strings.TrimPrefix(key, "-"))
		// The first separator decides: with slashes, dots are part of a name.
		if s := strings.IndexAny(key, "./"); s >= 0 && key[s] == '/' {
			key = strings.NewReplacer("/", ".", ".", "/").Replace(key)
		}
		out = append(out, sysctlLine{file: file, line: i + 1, key: key, value: strings.TrimSpace(value), text: line})
	}
	return out
}
