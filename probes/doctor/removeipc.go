package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"pgtlb/probes"
)

// Logind is what systemd-logind does to the shared memory of accounts.
type Logind struct {
	Systemd bool `json:"systemd"` // systemd runs this machine
	// RemoveIPC is as its files say it; empty where they do not. Default is what
	// the commented line of the distribution's own file says.
	RemoveIPC string `json:"remove_ipc,omitempty"`
	File      string `json:"file,omitempty"`
	Default   string `json:"default,omitempty"`
}

// Accounts are the account of the postmaster and the limit of system accounts.
type Accounts struct {
	Server    string `json:"server,omitempty"` // name; empty where it is not known
	UID       int    `json:"uid"`
	SystemMax int    `json:"system_max"` // the highest uid of a system account
}

func (l looker) logind() {
	d := &l.s.System.Logind
	d.Systemd = isDir(l.tree.Path("run/systemd/system"))
	folders := []string{"etc/systemd", "run/systemd", "usr/local/lib/systemd", "usr/lib/systemd", "lib/systemd"}
	var files []string
	for _, f := range folders {
		if p := l.tree.Path(f, "logind.conf"); isFile(p) {
			files = append(files, p)
			break
		}
	}
	for i, file := range append(files, l.dropIns(folders, "logind.conf.d")...) {
		text, ok := l.text(file)
		if !ok {
			continue
		}
		if v, ok := iniValue(text, "RemoveIPC", true); ok && i == 0 {
			d.Default = v
		}
		if v, ok := iniValue(text, "RemoveIPC", false); ok {
			d.RemoveIPC, d.File = v, l.shown(file)
		}
	}
}

// defaultSystemMax is the highest uid of a system account where login.defs does
// not say it.
const defaultSystemMax = 999

func (l looker) accounts() {
	a := &l.s.System.Accounts
	a.UID, a.SystemMax = -1, defaultSystemMax
	if text, ok := l.text(l.tree.Path("etc/login.defs")); ok {
		for line := range strings.Lines(text) {
			f := strings.Fields(line)
			if len(f) < 2 || f[0] != "SYS_UID_MAX" {
				continue
			}
			if n, err := strconv.Atoi(f[1]); err == nil {
				a.SystemMax = n
			}
		}
	}
	p := l.s.System.Processes.Postmaster
	if p == nil {
		return
	}
	a.UID = p.UID
	if text, ok := l.text(l.tree.Path("etc/passwd")); ok {
		for line := range strings.Lines(text) {
			f := strings.Split(line, ":")
			if len(f) > 2 && f[2] == strconv.Itoa(p.UID) {
				a.Server = probes.Clean(f[0])
				return
			}
		}
	}
}

// checkRemoveIPC is "remove_ipc": whether a log-out takes the server's shared memory.
func checkRemoveIPC(s *Snapshot) Check {
	c := Check{ID: "remove_ipc", Title: "Shared memory after a log-out (RemoveIPC)",
		Sources: []string{"/etc/systemd/logind.conf and logind.conf.d", "/etc/login.defs SYS_UID_MAX", "/etc/passwd"},
		Why: "When the last session of an ordinary account ends, systemd-logind removes its shared memory and semaphores: a log-out of the server's account, " +
			"or the end of a cron job under it, takes what parallel queries share below /dev/shm from under them (\"could not open shared memory segment\"), and the server's System V semaphores where it has such. " +
			"System accounts are spared."}
	if noPostmaster(s, &c) {
		return c
	}
	d, a := s.System.Logind, s.System.Accounts
	if !d.Systemd {
		c.Status, c.Found = NotHere, "no systemd runs here, so no systemd-logind"
		return c
	}
	name := a.Server
	if name == "" {
		name = "unnamed"
	}
	kind := fmt.Sprintf("the account %s has uid %d, above the system accounts (up to %d)", name, a.UID, a.SystemMax)
	if a.UID <= a.SystemMax {
		kind = fmt.Sprintf("the account %s has uid %d, a system account (up to %d)", name, a.UID, a.SystemMax)
	}
	remove, said := d.RemoveIPC, fmt.Sprintf("RemoveIPC=%s in %s", d.RemoveIPC, d.File)
	switch {
	case remove != "":
	case d.Default != "":
		remove, said = d.Default, "RemoveIPC is not set; the default here is "+d.Default
	default:
		remove, said = "yes", "RemoveIPC is not set; systemd's default is yes"
	}
	c.Found = said + "; " + kind
	c.Expected = "RemoveIPC=no, or a system account"
	c.Status = OK
	if a.UID <= a.SystemMax || isNo(remove) {
		return c
	}
	c.Status = Warn
	const file = "/etc/systemd/logind.conf.d/90-postgresql.conf"
	c.Fix = []string{"mkdir -p /etc/systemd/logind.conf.d", `printf '[Login]\nRemoveIPC=no\n' > ` + file, "systemctl restart systemd-logind"}
	c.Undo = []string{"rm " + file, "systemctl restart systemd-logind"}
	c.Takes = TakesNothing
	return c
}

// isNo reads systemd's booleans.
func isNo(v string) bool {
	switch strings.ToLower(v) {
	case "no", "n", "false", "f", "off", "0":
		return true
	}
	return false
}
