package doctor

import (
	"path"
	"slices"
	"strings"
)

// Service is the systemd service that the server runs in.
type Service struct {
	Name string `json:"name"` // postgresql@15-main.service
	// File is the unit file, and DropIns are the files that change it; File is
	// empty where it is not to be found.
	File    string   `json:"file,omitempty"`
	DropIns []string `json:"drop_ins,omitempty"`
	// LimitMEMLOCK is the setting as it is written; empty where there is none.
	LimitMEMLOCK string `json:"limit_memlock,omitempty"`
}

// unitDirs are where systemd looks for units, the strongest first.
func unitDirs() []string {
	return []string{"/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"}
}

// lookAtUnit takes the service's name from the server's cgroup. The last one there
// may be of something that a server was started from, such as user@1000.service or
// cron.service: it is the server's only where its name or what it starts says so.
func lookAtUnit(f files, c Cgroup) *Service {
	name := ""
	for part := range strings.SplitSeq(c.Path, "/") {
		if strings.HasSuffix(part, ".service") {
			name = part
		}
	}
	if name == "" || !c.Server || strings.Contains(c.Path, "/user@") { // those are units of a user's own systemd
		return nil
	}
	u := &Service{Name: name}
	names := unitNames(name)
	for _, n := range names {
		for _, dir := range unitDirs() {
			if file := path.Join(dir, n); u.File == "" && f.exists(file) {
				u.File = file
			}
		}
	}
	u.DropIns = dropIns(f, names)
	start := ""
	for _, file := range append([]string{u.File}, u.DropIns...) {
		if file == "" {
			continue
		}
		text, _ := f.text(file)
		if v, ok := unitSetting(text, "Service", "LimitMEMLOCK"); ok {
			u.LimitMEMLOCK = v
		}
		if v, ok := unitSetting(text, "Service", "ExecStart"); ok {
			start = v
		}
	}
	if !startsServer(name, start) {
		return nil
	}
	return u
}

// startsServer tells whether a unit is one of a PostgreSQL server.
func startsServer(name, start string) bool {
	for _, known := range []string{"postgres", "pgsql", "patroni"} {
		if strings.Contains(strings.ToLower(name), known) {
			return true
		}
	}
	return slices.ContainsFunc(strings.Fields(start), func(word string) bool {
		program := path.Base(strings.Trim(word, `"';-@:+!`))
		return slices.Contains([]string{"postgres", "postmaster", "pg_ctl", "pg_ctlcluster", "patroni"}, program)
	})
}

// unitNames are the unit and the template that it may be made from.
func unitNames(name string) []string {
	prefix, _, ok := strings.Cut(name, "@")
	if !ok {
		return []string{name}
	}
	return []string{name, prefix + "@.service"}
}

// dropIns are the files that change a unit, in the order of their names; a file
// masks one of the same name in a weaker directory.
func dropIns(f files, units []string) []string {
	from := map[string]string{}
	var names []string
	for _, dir := range unitDirs() {
		for _, u := range append(slices.Clone(units), "service") {
			d := path.Join(dir, u+".d")
			for _, name := range f.names(d) {
				if _, masked := from[name]; masked || !strings.HasSuffix(name, ".conf") {
					continue
				}
				from[name] = path.Join(d, name)
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = from[n]
	}
	return out
}

// unitSetting is the last value of a key in a section of a unit file.
func unitSetting(text, section, key string) (value string, ok bool) {
	in := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			in = line == "["+section+"]"
			continue
		}
		k, v, found := strings.Cut(line, "=")
		if in && found && strings.TrimSpace(k) == key {
			value, ok = strings.TrimSpace(v), true
		}
	}
	return value, ok
}
