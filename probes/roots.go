package probes

import "path/filepath"

// Roots are the mount points that everything of the kernel is read below, so
// that tests and saved snapshots of other machines can stand in for the real
// ones. The zero value is the running system.
type Roots struct {
	Proc string // normally /proc
	Sys  string // normally /sys
}

const systemProc, systemSys = "/proc", "/sys"

// SystemRoots returns the mount points of the running system.
func SystemRoots() Roots { return Roots{Proc: systemProc, Sys: systemSys} }

// ProcPath is the path of a file below proc.
func (r Roots) ProcPath(elem ...string) string { return below(r.Proc, systemProc, elem) }

// SysPath is the path of a file below sys.
func (r Roots) SysPath(elem ...string) string { return below(r.Sys, systemSys, elem) }

func below(root, normal string, elem []string) string {
	if root == "" {
		root = normal
	}
	return filepath.Join(append([]string{root}, elem...)...)
}

// areSystem tells whether these are the mount points of the running system.
func (r Roots) areSystem() bool {
	return r.ProcPath() == systemProc && r.SysPath() == systemSys
}
