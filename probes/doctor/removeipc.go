package doctor

import (
	"fmt"
	"path"
	"slices"
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

// Account is the account of the postmaster.
type Account struct {
	Name string `json:"name,omitempty"` // empty where it is not known
	UID  int    `json:"uid"`
	// SystemMax is the highest uid of a system account.
	SystemMax int `json:"system_max"`
}

// logindDirs are where systemd looks for logind.conf, the strongest first.
func logindDirs() []string {
	return []string{"/etc/systemd", "/run/systemd", "/usr/local/lib/systemd", "/usr/lib/systemd", "/lib/systemd"}
}

func lookAtLogind(f files) Logind {
	d := Logind{Systemd: f.exists("/run/systemd/system")}
	for _, dir := range logindDirs() {
		text, ok := f.text(dir + "/logind.conf")
		if !ok {
			continue
		}
		d.Default, _ = unitSetting(strings.ReplaceAll(text, "\n#", "\n"), "Login", "RemoveIPC")
		if v, ok := unitSetting(text, "Login", "RemoveIPC"); ok {
			d.RemoveIPC, d.File = v, dir+"/logind.conf"
		}
		break
	}
	var dropped []string
	for _, dir := range logindDirs() {
		for _, name := range f.names(dir + "/logind.conf.d") {
			dropped = append(dropped, dir+"/logind.conf.d/"+name)
		}
	}
	// By name, whatever the directory; of one name the strongest directory's.
	slices.SortStableFunc(dropped, func(a, b string) int { return strings.Compare(path.Base(a), path.Base(b)) })
	dropped = slices.CompactFunc(dropped, func(a, b string) bool { return path.Base(a) == path.Base(b) })
	for _, file := range dropped {
		text, ok := f.text(file)
		if v, set := unitSetting(text, "Login", "RemoveIPC"); ok && set && path.Ext(file) == ".conf" {
			d.RemoveIPC, d.File = v, file
		}
	}
	return d
}

// defaultSystemMax is the highest uid of a system account where login.defs does
// not say it.
const defaultSystemMax = 999

func lookAtAccount(f files, postmaster *Process) Account {
	a := Account{UID: -1, SystemMax: defaultSystemMax}
	defs, _ := f.text("/etc/login.defs")
	for line := range strings.Lines(defs) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "SYS_UID_MAX" {
			continue
		}
		if n, err := strconv.Atoi(fields[1]); err == nil {
			a.SystemMax = n
		}
	}
	if postmaster == nil {
		return a
	}
	a.UID = postmaster.UID
	passwd, _ := f.text("/etc/passwd")
	for line := range strings.Lines(passwd) {
		fields := strings.Split(line, ":")
		if len(fields) > 2 && fields[2] == strconv.Itoa(a.UID) {
			a.Name = probes.Clean(fields[0])
			break
		}
	}
	return a
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
	d, a := s.System.Logind, s.System.Account
	if !d.Systemd {
		c.Status, c.Found = NotHere, "no systemd runs here, so no systemd-logind"
		return c
	}
	name := a.Name
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
	const file = "/etc/systemd/logind.conf.d/90-pgtlb.conf"
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
