package lab

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
)

// account is the unprivileged OS account the server runs under when pgtlb runs as root.
type account struct {
	Name     string
	UID, GID uint32
}

// fallbackAccounts are tried in this order when root names no account. All but the first exist on practically every
// system and own nothing.
var fallbackAccounts = []string{"postgres", "nobody", "daemon"}

// chooseAccount decides who runs the server. It returns nil when that is the account pgtlb runs under: PostgreSQL
// refuses to run as root, and nobody but root can change the account.
func chooseAccount(name string, euid int) (*account, error) {
	if euid != 0 {
		if name == "" {
			return nil, nil
		}
		a, err := lookupAccount(name)
		if err != nil {
			return nil, err
		}
		if int(a.UID) != euid {
			return nil, fmt.Errorf("choosing the OS user: only root can run the server as %q; leave out --os-user or run pgtlb as root", name)
		}
		return nil, nil
	}
	if name != "" {
		a, err := lookupAccount(name)
		if err != nil {
			return nil, err
		}
		if a.UID == 0 {
			return nil, fmt.Errorf("choosing the OS user: PostgreSQL refuses to run as %q (uid 0); name an unprivileged account with --os-user", name)
		}
		return a, nil
	}
	for _, n := range fallbackAccounts {
		if a, err := lookupAccount(n); err == nil && a.UID != 0 {
			return a, nil
		}
	}
	return nil, fmt.Errorf("choosing the OS user: none of the accounts %v exists; name an unprivileged one with --os-user", fallbackAccounts)
}

func lookupAccount(name string) (*account, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("choosing the OS user: there is no account %q on this machine", name)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("choosing the OS user: uid of %q: %w", name, err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("choosing the OS user: gid of %q: %w", name, err)
	}
	return &account{Name: name, UID: uint32(uid), GID: uint32(gid)}, nil
}

// uid is the uid the server runs under.
func (a *account) uid() int {
	if a == nil {
		return os.Geteuid()
	}
	return int(a.UID)
}
