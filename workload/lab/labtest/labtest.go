// Package labtest spares the tests most of initdb's work: of a server's programs it
// makes a set whose initdb works once, and copies what it made from then on. Only
// tests import it; those that are about making a cluster use the programs as they are.
package labtest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Programs makes such sets for the tests of one package. Its zero value is ready, and
// Remove ends it, which TestMain does after the last test. Its methods may be called
// from any goroutine.
type Programs struct {
	mu   sync.Mutex
	dir  string            // holds all sets; empty before the first
	sets map[string]string // folder of the set by that of the server's own programs
}

// Of gives the folder of the set that stands for the programs in bindir.
func (p *Programs) Of(t testing.TB, bindir string) string {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if set, ok := p.sets[bindir]; ok {
		return set
	}
	set, err := p.add(bindir)
	if err != nil {
		t.Fatalf("making server programs for tests: %v", err)
	}
	p.sets[bindir] = set
	return set
}

func (p *Programs) add(bindir string) (string, error) {
	if p.dir == "" {
		// Below /tmp: the server's account may not enter a test's own directory.
		dir, err := os.MkdirTemp("/tmp", "pgtlb-programs-")
		if err != nil {
			return "", err
		}
		p.dir, p.sets = dir, map[string]string{}
		if err := os.Chmod(dir, 0o755); err != nil {
			return "", err
		}
	}
	set := filepath.Join(p.dir, strconv.Itoa(len(p.sets)), "bin")
	return set, fill(set, bindir)
}

// Remove takes all sets away, and with them the clusters that were kept for copying.
func (p *Programs) Remove() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dir == "" {
		return nil
	}
	dir := p.dir
	p.dir, p.sets = "", nil
	return os.RemoveAll(dir)
}

// fill links the programs of a server into a folder, with an initdb of its own.
func fill(bindir, real string) error {
	kept := filepath.Join(filepath.Dir(bindir), "kept")
	if err := os.MkdirAll(bindir, 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(kept, 0o755); err != nil {
		return err
	}
	if err := os.Chmod(kept, 0o1777); err != nil { // the server's account writes here
		return err
	}
	programs, err := os.ReadDir(real)
	if err != nil {
		return err
	}
	for _, program := range programs {
		if name := program.Name(); name != "initdb" {
			if err := os.Symlink(filepath.Join(real, name), filepath.Join(bindir, name)); err != nil {
				return err
			}
		}
	}
	text := strings.NewReplacer("REAL", quote(filepath.Join(real, "initdb")), "KEPT", quote(kept)).Replace(script)
	return os.WriteFile(filepath.Join(bindir, "initdb"), []byte(text), 0o755)
}

// script is that initdb. What is kept is one account's and of the same arguments; two
// that are the first at the same time both do the work, and one result is kept.
const script = `#!/bin/sh
set -e
PATH=$PATH:/usr/bin:/bin
if [ "$1" != -D ]; then exec REAL "$@"; fi
data=$2
shift 2
kept=KEPT/$(id -u)-$(echo "$@" | cksum | tr ' ' -)
if [ -d "$kept" ]; then exec cp -a "$kept" "$data"; fi
REAL -D "$data" "$@"
cp -a "$data" "$kept.$$"
mv -T "$kept.$$" "$kept" 2>/dev/null || rm -rf "$kept.$$"
`

// quote writes a path for the shell.
func quote(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }
