package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// ErrNotRoot says that installing needs root; the error's text holds the command to run.
var ErrNotRoot = errors.New("installing needs root")

// InstallCommand is one command of an installation.
type InstallCommand struct {
	Args []string // the program's full path first
	Env  []string // additions to the environment, "NAME=value"
}

// String shows the command as it is typed in a shell.
func (c InstallCommand) String() string {
	args := append([]string{filepath.Base(c.Args[0])}, c.Args[1:]...)
	return strings.Join(append(append([]string{}, c.Env...), args...), " ")
}

// InstallPlan is what Install would do; it is shown and confirmed before anything runs.
type InstallPlan struct {
	Manager  string           // "apt-get"
	Commands []InstallCommand // in order
	Notes    []string         // what the packages do beyond putting programs on disk
}

// packageManager is how one system installs a PostgreSQL server with its contrib modules (pg_prewarm is one).
type packageManager struct {
	name     string
	env      []string
	commands [][]string
	notes    []string
}

// packageManagers in the order they are looked for: the first whose program is there is the system's own.
func packageManagers() []packageManager {
	redhat := [][]string{{"install", "-y", "postgresql-server", "postgresql-contrib"}}
	return []packageManager{
		{
			name: "apt-get", env: []string{"DEBIAN_FRONTEND=noninteractive"},
			commands: [][]string{
				{"-o", "DPkg::Lock::Timeout=120", "update"},
				{"-o", "DPkg::Lock::Timeout=120", "install", "-y", "--no-install-recommends", "postgresql"},
			},
			// Not creating it would need an edit of /etc/postgresql-common/createcluster.conf, which outlives the
			// installation and would surprise whoever installs a server on purpose later.
			notes: []string{"the Debian and Ubuntu package also makes a server cluster called \"main\" on port 5432 and may start it; pgtlb does not use it, and `pg_dropcluster --stop VERSION main` removes it"},
		},
		{name: "dnf", commands: redhat},
		{name: "yum", commands: redhat},
		{name: "apk", commands: [][]string{{"add", "postgresql", "postgresql-contrib"}}},
		{name: "zypper", commands: [][]string{{"--non-interactive", "install", "postgresql-server", "postgresql-contrib"}}},
		{name: "pacman", commands: [][]string{{"-S", "--needed", "--noconfirm", "postgresql"}}},
	}
}

// PlanInstall gives the commands that install PostgreSQL with this system's package manager. It runs nothing.
func PlanInstall() (InstallPlan, error) {
	// Root's programs are not in everybody's PATH.
	return planInstall(os.Getenv("PATH") + string(os.PathListSeparator) + "/usr/sbin:/usr/bin:/sbin:/bin")
}

func planInstall(path string) (InstallPlan, error) {
	for _, m := range packageManagers() {
		prog := lookIn(path, m.name)
		if prog == "" {
			continue
		}
		plan := InstallPlan{Manager: m.name, Notes: m.notes}
		for _, args := range m.commands {
			plan.Commands = append(plan.Commands, InstallCommand{Args: append([]string{prog}, args...), Env: m.env})
		}
		return plan, nil
	}
	var names []string
	for _, m := range packageManagers() {
		names = append(names, m.name)
	}
	return InstallPlan{}, fmt.Errorf("planning the installation: none of the package managers %s is on this system; install PostgreSQL %d to %d and name its folder with --pg-bindir",
		strings.Join(names, ", "), MinMajor, MaxMajor)
}

// lookIn finds an executable in a PATH list; "" when it is not there.
func lookIn(path, name string) string {
	for _, dir := range filepath.SplitList(path) {
		if prog := filepath.Join(dir, name); filepath.IsAbs(prog) && executable(prog) == nil {
			return prog
		}
	}
	return ""
}

// InstallOptions say what Install works on.
type InstallOptions struct {
	Plan   InstallPlan // from PlanInstall, as it was confirmed
	Finder Finder      // looks for a server before and after; NewFinder for this machine
	Root   bool        // whether the commands can be run, os.Geteuid() == 0
}

// Install runs the plan, writing to out what the package manager says, and returns the server found afterwards. When a
// server is there already it says so and runs nothing. When Root is false it runs nothing and returns an error that is
// ErrNotRoot and names the command to type.
func Install(ctx context.Context, o InstallOptions, out io.Writer) (Server, error) {
	have, err := o.Finder.Find(ctx, "")
	if err == nil {
		_, err = fmt.Fprintf(out, "%s is there already, nothing to install\n", have)
		return have, err
	}
	if !errors.Is(err, ErrNoServer) {
		return Server{}, err
	}
	if !o.Root {
		return Server{}, fmt.Errorf("%w; run `%s`, or fetch a private server without root: `pgtlb setup --portable`", ErrNotRoot, o.Plan.asRoot(os.Getenv("PATH")))
	}
	for _, c := range o.Plan.Commands {
		if _, err := fmt.Fprintf(out, "$ %s\n", c); err != nil {
			return Server{}, err
		}
		env := append(os.Environ(), c.Env...)
		if _, err := run(ctx, command{path: c.Args[0], args: c.Args[1:], env: env, out: out}); err != nil {
			return Server{}, fmt.Errorf("installing PostgreSQL with %s: %w", o.Plan.Manager, err)
		}
	}
	s, err := o.Finder.Find(ctx, "")
	if err != nil {
		return Server{}, fmt.Errorf("%s ended well, yet: %w", o.Plan.Manager, err)
	}
	_, err = fmt.Fprintf(out, "installed %s\n", s)
	return s, err
}

// asRoot is the whole plan as one line for a shell, with sudo where sudo is there.
func (p InstallPlan) asRoot(path string) string {
	sudo := ""
	if lookIn(path, "sudo") != "" {
		sudo = "sudo "
	}
	var lines []string
	for _, c := range p.Commands {
		lines = append(lines, sudo+c.String())
	}
	if sudo == "" {
		return "su -c '" + strings.Join(lines, " && ") + "'"
	}
	return strings.Join(lines, " && ")
}
