package doctor

import (
	"fmt"
	"net"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"pgtlb/probes"
)

// Program is the program of the running postmaster, with what starts it.
type Program struct {
	// Dir is the directory of postgres and pg_ctl; empty where it is not seen.
	Dir string `json:"dir,omitempty"`
	// Owner is the account that the postmaster runs as: its name, else its uid.
	Owner string `json:"owner,omitempty"`
	// CtlCluster tells that the machine has Debian's pg_ctlcluster.
	CtlCluster bool `json:"ctl_cluster,omitempty"`
}

func lookAtProgram(f files, postmaster int) *Program {
	if postmaster == 0 {
		return nil
	}
	proc := "/proc/" + strconv.Itoa(postmaster)
	p := &Program{CtlCluster: f.exists("/usr/bin/pg_ctlcluster")}
	if exe, err := os.Readlink(f.tree.Path(proc, "exe")); err == nil {
		p.Dir = path.Dir(probes.Clean(strings.TrimSuffix(exe, " (deleted)")))
	} else if line, ok := f.text(proc + "/cmdline"); ok {
		if first, _, _ := strings.Cut(line, "\x00"); path.IsAbs(first) {
			first, _, _ = strings.Cut(first, " ")
			p.Dir = path.Dir(probes.Clean(first))
		}
	}
	status, _ := f.text(proc + "/status")
	for line := range strings.Lines(status) {
		uids, ok := strings.CutPrefix(line, "Uid:")
		if u := strings.Fields(uids); ok && len(u) > 1 { // real, effective, …
			passwd, _ := f.text("/etc/passwd")
			p.Owner = accountName(passwd, u[1])
		}
	}
	return p
}

// accountName is the name of an account in /etc/passwd; sudo takes "#26" for one
// that has none there.
func accountName(passwd, uid string) string {
	for line := range strings.Lines(passwd) {
		if f := strings.Split(line, ":"); len(f) > 2 && f[2] == uid {
			return probes.Clean(f[0])
		}
	}
	return "#" + probes.Clean(uid)
}

// wrongLines are the lines of the configuration files with which the server would
// not start.
func wrongLines(s *Snapshot) []probes.FileSetting {
	if s.Server == nil {
		return nil
	}
	var out []probes.FileSetting
	for _, f := range s.Server.Exam.Files {
		if f.Error != "" && !f.NeedsRestart {
			out = append(out, f)
		}
	}
	return out
}

// mendFirst heads every fix with a restart while a line is wrong.
const mendFirst = "# first mend the wrong lines (see settings_errors): with them the server would not start again"

// printed makes the commands of a check what a shell takes as it stands: psql goes
// to the server that was examined, and no restart is advised that would fail.
func (s *Snapshot) printed(c Check) Check {
	restarts := restartServer(s)
	isRestart := func(line string) bool { return slices.Contains(restarts, line) }
	if len(wrongLines(s)) > 0 && (c.Takes == TakesRestart || slices.ContainsFunc(c.Fix, isRestart)) && len(c.Fix) > 0 {
		fix := []string{mendFirst}
		for _, line := range c.Fix {
			if isRestart(line) && !strings.HasPrefix(line, "#") {
				line = "# then: " + line
			}
			fix = append(fix, line)
		}
		c.Fix = fix
	}
	c.Fix, c.Undo = s.connected(c.Fix), s.connected(c.Undo)
	return c
}

// connected are lines with the connection in those that run psql.
func (s *Snapshot) connected(lines []string) []string {
	out := []string{} // an array, never null, in JSON
	told := s.Server == nil || s.Server.Exam.Role.Superuser
	for _, line := range lines {
		if rest, ok := strings.CutPrefix(line, "psql "); ok && s.Server != nil {
			if !told {
				out = append(out, "# as a superuser, who is seldom called other than postgres:")
				told = true
			}
			line = "psql " + s.connection() + rest
		}
		out = append(out, line)
	}
	return out
}

// connection are the options of psql for the examined server, with a blank at the
// end where there are any.
func (s *Snapshot) connection() string {
	i := s.Server.Info
	host, port, err := net.SplitHostPort(i.Where)
	if socket, ok := strings.CutPrefix(i.Where, "socket "); ok {
		at := strings.LastIndex(socket, ":")
		if at < 0 {
			return ""
		}
		host, port, err = socket[:at], socket[at+1:], nil
	}
	if err != nil {
		return ""
	}
	user := i.User
	if !s.Server.Exam.Role.Superuser {
		user = "postgres"
	}
	text := fmt.Sprintf("-h %s -p %s ", quote(host), quote(port))
	if user != "" {
		text += "-U " + quote(user) + " "
	}
	if i.Database != "" {
		text += "-d " + quote(i.Database) + " "
	}
	return text
}

// runsUnder is the systemd unit that a restart of the server goes through; empty
// where it runs in none of its own, as one started by hand in a login session.
func (s *Snapshot) runsUnder() string {
	u := s.Pages.Unit
	if u == nil || strings.HasPrefix(u.Name, "user@") {
		return ""
	}
	return u.Name
}

// debianCluster is the version and name of a cluster of Debian's kind, "15 main",
// by where its configuration is.
func (s *Snapshot) debianCluster() string {
	if p := s.Pages.Program; p == nil || !p.CtlCluster {
		return ""
	}
	set, _ := s.Server.Exam.Setting("config_file")
	f := strings.Split(strings.TrimPrefix(set.Value, "/etc/postgresql/"), "/")
	if !strings.HasPrefix(set.Value, "/etc/postgresql/") || len(f) != 3 {
		return ""
	}
	return quote(f[0]) + " " + quote(f[1])
}

// restart is the command that starts the server anew, through what runs it and
// never as root.
func (s *Snapshot) restart() []string {
	if s.Server == nil {
		return nil
	}
	unit, cluster := s.runsUnder(), s.debianCluster()
	dir := s.Server.Info.DataDir
	switch {
	case s.inPod():
		return []string{"# delete the server's pod, so that it starts anew"}
	case unit != "":
		return []string{"systemctl restart " + quote(unit)}
	case cluster != "":
		return []string{"pg_ctlcluster " + cluster + " restart"}
	case s.inContainer():
		return []string{"# restart the server's container"}
	case dir != "" && s.HostUnknown != "":
		return []string{"# on the server's machine, as the account that owns the data directory: pg_ctl restart -D " + quote(dir)}
	case dir != "":
		return []string{s.asOwner() + s.program("pg_ctl") + " restart -D " + quote(dir)}
	}
	return []string{"# restart the server"}
}

// asOwner makes a command run as the account of the server; empty where that is
// not known.
func (s *Snapshot) asOwner() string {
	if p := s.Pages.Program; p != nil && p.Owner != "" {
		return "sudo -u " + quote(p.Owner) + " "
	}
	return ""
}

// program is a program of the server with its path where that is known.
func (s *Snapshot) program(name string) string {
	if p := s.Pages.Program; p != nil && p.Dir != "" {
		return quote(path.Join(p.Dir, name))
	}
	return name
}
