package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// MinMajor and MaxMajor bound the server versions pgtlb knows.
const (
	MinMajor = 13
	MaxMajor = 18
)

// ErrNoServer says that no usable server programs were found anywhere; installing them helps (Install, FetchPortable).
var ErrNoServer = errors.New("no PostgreSQL server programs found")

// Server is one set of server programs.
type Server struct {
	Bindir  string // absolute, holds initdb and postgres
	Version string // "15.18"
	Major   int    // 15
	Origin  string // the rule that found it: "--pg-bindir", "pg_config --bindir", "PATH", a path pattern, "portable"
}

// String names the server for a person: "PostgreSQL 15.18 in /usr/lib/postgresql/15/bin".
func (s Server) String() string { return fmt.Sprintf("PostgreSQL %s in %s", s.Version, s.Bindir) }

func (s Server) program(name string) string { return filepath.Join(s.Bindir, name) }

// serverPatterns are where packages of the known systems put server programs, in the order of preference among equal
// versions: Debian and Ubuntu, the packages of the PostgreSQL project for Red Hat, a build from source, SUSE, Alpine.
var serverPatterns = []string{
	"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin", "/usr/lib/postgresql*/bin", "/usr/libexec/postgresql*",
}

// Finder looks for server programs. The zero value looks nowhere but under Root; NewFinder looks at this machine.
type Finder struct {
	Path     string   // a PATH list, for pg_config and postgres
	Root     string   // put before the path patterns; "" for this machine
	Portable []string // folders that hold portable servers, one folder a major version
}

// NewFinder gives the Finder for this machine.
func NewFinder() Finder {
	return Finder{Path: os.Getenv("PATH"), Portable: PortableDirs()}
}

// Find looks for server programs on this machine. A bindir that is not empty is the only place looked in. Otherwise the
// newest version from MinMajor to MaxMajor wins. The error is ErrNoServer when there is none.
func Find(ctx context.Context, bindir string) (Server, error) { return NewFinder().Find(ctx, bindir) }

// Find is the function Find with the places of f.
func (f Finder) Find(ctx context.Context, bindir string) (Server, error) {
	if bindir != "" {
		return f.only(ctx, bindir)
	}
	all, passed, err := f.All(ctx)
	if err != nil {
		return Server{}, err
	}
	if len(all) > 0 {
		return all[0], nil
	}
	if len(passed) > 0 {
		return Server{}, fmt.Errorf("%w: what is there cannot be used (%s); run `pgtlb setup`", ErrNoServer, strings.Join(passed, "; "))
	}
	return Server{}, fmt.Errorf("%w: looked at pg_config, PATH, %s and the portable servers; run `pgtlb setup`, or name their folder with --pg-bindir",
		ErrNoServer, strings.Join(serverPatterns[:3], ", "))
}

// only takes the one folder a person named.
func (f Finder) only(ctx context.Context, bindir string) (Server, error) {
	abs, err := filepath.Abs(bindir)
	if err != nil {
		return Server{}, fmt.Errorf("looking in --pg-bindir: %w", err)
	}
	s, err := inspect(ctx, abs, "--pg-bindir")
	if err != nil {
		if ctx.Err() != nil {
			return Server{}, err
		}
		return Server{}, fmt.Errorf("--pg-bindir %s: %w; name the folder that holds initdb and postgres of PostgreSQL %d to %d, or leave it out",
			bindir, err, MinMajor, MaxMajor)
	}
	return s, nil
}

// All gives every usable server found, the newest first, and in words the ones that were passed over.
func (f Finder) All(ctx context.Context) (found []Server, passed []string, err error) {
	seen := map[string]bool{}
	for _, place := range f.places(ctx) {
		dir := place.dir
		if real, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres")); err == nil {
			dir = filepath.Dir(real)
		}
		if seen[dir] {
			continue
		}
		seen[dir] = true
		if _, err := os.Stat(filepath.Join(dir, "postgres")); err != nil {
			continue // not a server's folder at all
		}
		s, err := inspect(ctx, dir, place.origin)
		if ctx.Err() != nil {
			return nil, nil, fmt.Errorf("looking for server programs: %w", context.Cause(ctx))
		}
		if err != nil {
			passed = append(passed, fmt.Sprintf("%s: %v", dir, err))
			continue
		}
		found = append(found, s)
	}
	sort.SliceStable(found, func(i, j int) bool { return newer(found[i].Version, found[j].Version) })
	return found, passed, nil
}

type place struct{ dir, origin string }

func (f Finder) places(ctx context.Context) []place {
	var all []place
	path := filepath.SplitList(f.Path)
	for _, dir := range path {
		prog := filepath.Join(dir, "pg_config")
		if executable(prog) != nil {
			continue
		}
		if out, err := run(ctx, command{path: prog, args: []string{"--bindir"}}); err == nil {
			all = append(all, place{strings.TrimSpace(out), "pg_config --bindir"})
		}
		break
	}
	for _, dir := range path {
		if filepath.IsAbs(dir) {
			all = append(all, place{dir, "PATH"})
		}
	}
	for _, pattern := range serverPatterns {
		dirs, _ := filepath.Glob(f.Root + pattern) // the only error is a bad pattern, and these are constants
		for _, dir := range dirs {
			all = append(all, place{dir, pattern})
		}
	}
	for _, dir := range f.Portable {
		dirs, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "*", "bin"))
		for _, d := range dirs {
			if !strings.HasPrefix(filepath.Base(filepath.Dir(d)), ".") { // half-made ones start with a dot
				all = append(all, place{d, "portable"})
			}
		}
	}
	return all
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(s)
}

// inspect checks that dir holds a server pgtlb can use.
func inspect(ctx context.Context, dir, origin string) (Server, error) {
	if _, err := os.Stat(dir); err != nil {
		return Server{}, errors.New("there is no such folder")
	}
	for _, name := range []string{"initdb", "postgres"} {
		if err := executable(filepath.Join(dir, name)); err != nil {
			return Server{}, fmt.Errorf("%s %w", name, err)
		}
	}
	out, err := run(ctx, command{path: filepath.Join(dir, "postgres"), args: []string{"--version"}})
	if err != nil {
		return Server{}, err
	}
	version, major, err := parseVersion(out)
	if err != nil {
		return Server{}, err
	}
	if major < MinMajor || major > MaxMajor {
		return Server{}, fmt.Errorf("it is PostgreSQL %s and pgtlb knows %d to %d", version, MinMajor, MaxMajor)
	}
	return Server{Bindir: dir, Version: version, Major: major, Origin: origin}, nil
}

func executable(path string) error {
	fi, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return errors.New("is not in it")
	case err != nil:
		return err
	case fi.IsDir() || fi.Mode()&0o111 == 0:
		return errors.New("is not executable")
	}
	return nil
}

// parseVersion reads what `postgres --version` prints: "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)".
func parseVersion(out string) (version string, major int, err error) {
	_, rest, ok := strings.Cut(out, "(PostgreSQL) ")
	if !ok {
		return "", 0, fmt.Errorf("postgres --version says %q, which is not PostgreSQL", strings.TrimSpace(out))
	}
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return "", 0, errors.New("postgres --version names no version")
	}
	version = fields[0]
	if major, err = strconv.Atoi(leadingDigits(version)); err != nil {
		return "", 0, fmt.Errorf("postgres --version names the version %q", version)
	}
	return version, major, nil
}

func leadingDigits(s string) string {
	for i, r := range s {
		if r < '0' || r > '9' {
			return s[:i]
		}
	}
	return s
}

// newer compares two versions number by number; "18.4.0-beta.17" is newer than "18.4.0-beta.9".
func newer(a, b string) bool {
	x, y := numbers(a), numbers(b)
	for i := 0; i < len(x) && i < len(y); i++ {
		if x[i] != y[i] {
			return x[i] > y[i]
		}
	}
	return len(x) > len(y)
}

func numbers(s string) []int {
	var out []int
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return r < '0' || r > '9' }) {
		n, err := strconv.Atoi(part)
		if err != nil {
			n = 0 // longer than an int: no version is
		}
		out = append(out, n)
	}
	return out
}
