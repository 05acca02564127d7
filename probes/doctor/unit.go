package doctor

import (
	"fmt"
	"path"
	"strings"
)

// Group is the control group of the postmaster.
type Group struct {
	Path string `json:"path,omitempty"` // as /proc/PID/cgroup says it; "/" in a namespace of its own
	V2   bool   `json:"v2,omitempty"`
	// PidsMax is the tightest limit of processes at any level; 0 for none.
	PidsMax   int    `json:"pids_max,omitempty"`
	PidsNow   int    `json:"pids_now,omitempty"`   // at that level
	PidsLevel string `json:"pids_level,omitempty"` // the level's file
	// OOMGroup is the lowest level at which the kernel kills all processes of the
	// group at once; empty for none.
	OOMGroup string `json:"oom_group,omitempty"`
}

// group reads the levels of the postmaster's control group, or of ours where there
// is none.
func (l looker) group(postmaster int) {
	file := l.roots.ProcPath("self/cgroup")
	if postmaster != 0 {
		file = l.pid(postmaster, "cgroup")
	}
	text, ok := l.text(file)
	if !ok {
		return
	}
	g := &l.s.System.Group
	unified, pids := parseCgroup(text)
	g.Path, g.V2 = unified, pids == ""
	base := l.roots.SysPath("fs/cgroup")
	if pids != "" {
		g.Path = pids
		base = l.roots.SysPath("fs/cgroup/pids")
	}
	for level := g.Path; ; level = path.Dir(level) {
		dir := path.Join(base, level)
		if n := readNumber(path.Join(dir, "pids.max")); n > 0 && (g.PidsMax == 0 || n < g.PidsMax) {
			g.PidsMax, g.PidsNow = n, readNumber(path.Join(dir, "pids.current"))
			g.PidsLevel = l.shown(path.Join(dir, "pids.max"))
		}
		if g.V2 && g.OOMGroup == "" && readNumber(path.Join(dir, "memory.oom.group")) == 1 {
			g.OOMGroup = l.shown(path.Join(dir, "memory.oom.group"))
		}
		if level == "/" || level == "." || level == "" {
			return
		}
	}
}

// parseCgroup reads /proc/PID/cgroup: the path in the unified hierarchy, and that
// of the pids controller where it has a hierarchy of its own.
func parseCgroup(text string) (unified, pids string) {
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) < 3 {
			continue
		}
		switch {
		case f[0] == "0" && f[1] == "":
			unified = f[2]
		case strings.Contains(","+f[1]+",", ",pids,"):
			pids = f[2]
		}
	}
	return unified, pids
}

// Unit is the systemd unit that runs the server.
type Unit struct {
	Name string `json:"name,omitempty"` // empty where none runs it
	// OOMScoreAdjust is as the unit's files say it; empty for systemd's default.
	OOMScoreAdjust string `json:"oom_score_adjust,omitempty"`
	OOMFile        string `json:"oom_file,omitempty"` // where it is said
	// ChildrenReset tells that the files set PG_OOM_ADJUST_FILE.
	ChildrenReset bool `json:"children_reset,omitempty"`
}

// unitFolders are where systemd looks for units, the first winning.
func unitFolders() []string {
	return []string{"etc/systemd/system", "run/systemd/system", "usr/local/lib/systemd/system", "usr/lib/systemd/system", "lib/systemd/system"}
}

// unit reads the files of the unit that the postmaster's control group is of.
func (l looker) unit() {
	u := &l.s.System.Unit
	if u.Name = unitOf(l.s.System.Group.Path); u.Name == "" {
		return
	}
	names := []string{u.Name}
	if at := strings.IndexByte(u.Name, '@'); at > 0 {
		names = append(names, u.Name[:at+1]+path.Ext(u.Name)) // the template
	}
	var files []string
main:
	for _, name := range names {
		for _, folder := range unitFolders() {
			if file := l.tree.Path(folder, name); isFile(file) {
				files = append(files, file)
				break main
			}
		}
	}
	for i := len(names) - 1; i >= 0; i-- { // the instance's own win over the template's
		files = append(files, l.dropIns(unitFolders(), names[i]+".d")...)
	}
	for _, file := range files {
		text, ok := l.text(file)
		if !ok {
			continue
		}
		if v, ok := iniValue(text, "OOMScoreAdjust", false); ok {
			u.OOMScoreAdjust, u.OOMFile = v, l.shown(file)
		}
		u.ChildrenReset = u.ChildrenReset || strings.Contains(text, "PG_OOM_ADJUST_FILE=")
	}
}

// unitOf is the service in a control group's path; empty where there is none.
func unitOf(group string) string {
	for p := group; p != "/" && p != "." && p != ""; p = path.Dir(p) {
		if b := path.Base(p); strings.HasSuffix(b, ".service") && !strings.HasPrefix(b, "user@") {
			return strings.ReplaceAll(b, `\x2d`, "-")
		}
	}
	return ""
}

// dropIn are the lines that give the server's unit some settings, and those that
// take them back; what restarts the server is among them.
func (u Unit) dropIn(file string, settings ...string) (fix, undo []string) {
	name := u.Name
	if name == "" {
		name = "postgresql.service"
		fix = append(fix, "# put in the name of the server's unit where it is another:")
	}
	dir := "/etc/systemd/system/" + name + ".d"
	text := `[Service]\n`
	for _, s := range settings {
		text += s + `\n`
	}
	fix = append(fix, "mkdir -p "+dir, fmt.Sprintf("printf '%s' > %s/%s", text, dir, file), "systemctl daemon-reload", "systemctl restart "+name)
	return fix, []string{"rm " + dir + "/" + file, "systemctl daemon-reload", "systemctl restart " + name}
}
