package trial

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"pgtlb/workload/experiment"
)

// Store is a directory of run files.
type Store struct{ dir string }

// baselineFile holds the name of the run that is the baseline. The dot keeps it
// out of the way of globs over runs.
const baselineFile = ".baseline"

// DefaultDir is where runs are kept: $XDG_STATE_HOME/pgtlb/runs, or
// ~/.local/state/pgtlb/runs.
func DefaultDir() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "pgtlb", "runs"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return "", errors.New("no place for runs: neither XDG_STATE_HOME nor HOME is set")
	}
	return filepath.Join(home, ".local", "state", "pgtlb", "runs"), nil
}

// OpenStore opens the store in dir, or in DefaultDir when dir is empty, for
// reading: it makes nothing, and a directory that is not there holds no runs.
func OpenStore(dir string) (*Store, error) {
	if dir == "" {
		var err error
		if dir, err = DefaultDir(); err != nil {
			return nil, err
		}
	}
	return &Store{dir: dir}, nil
}

// MakeWritable makes the directory where it is missing (0700) and finds out
// whether runs can be written there, before a load is driven in vain.
func (s *Store) MakeWritable() error {
	err := os.MkdirAll(s.dir, 0o700)
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(s.dir, ".writable-"); err == nil {
			err = errors.Join(f.Close(), os.Remove(f.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("runs cannot be kept in %s: %w", s.dir, reason(err))
	}
	return nil
}

// reason takes the path out of a file error where the sentence names it already.
func reason(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

// Dir is the store's directory.
func (s *Store) Dir() string { return s.dir }

// Load resolves what a person named and reads that run.
func (s *Store) Load(what string) (*Run, error) {
	path, err := s.Resolve(what)
	if err != nil {
		return nil, err
	}
	return Read(path)
}

// List returns the runs of the store, newest first. It reads the head and the
// tail of each file only; a file that is no readable run says so in Problem.
func (s *Store) List() ([]RunInfo, error) {
	entries, err := s.entries()
	if err != nil {
		return nil, fmt.Errorf("listing runs: %w", err)
	}
	baseline, _ := s.Baseline()
	var out []RunInfo
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasSuffix(e.Name(), Extension) && !strings.HasPrefix(e.Name(), ".") {
			info := Info(filepath.Join(s.dir, e.Name()))
			info.Baseline = info.Name == baseline
			out = append(out, info)
		}
	}
	slices.SortStableFunc(out, func(a, b RunInfo) int {
		if c := b.Created.Compare(a.Created); c != 0 {
			return c
		}
		return strings.Compare(b.Name, a.Name)
	})
	return out, nil
}

// entries reads the directory; nothing is in one that is not there.
func (s *Store) entries() ([]os.DirEntry, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	return entries, err
}

// Resolve finds the run file that a person or an experiment's journal means: a path,
// "baseline", "last" (the newest run), a name, the beginning of exactly one name, or
// the name under which a run was recorded that has another one now.
func (s *Store) Resolve(what string) (string, error) {
	path, err := s.resolve(what)
	if err != nil && what != "" && what == filepath.Base(what) {
		if renamed := s.recordedAs(what); renamed != "" {
			return renamed, nil
		}
	}
	return path, err
}

// recordedAs finds the one run whose header has this name; empty where there is none.
func (s *Store) recordedAs(name string) string {
	list, err := s.List()
	if err != nil {
		return ""
	}
	found := ""
	for _, r := range list {
		if r.Recorded == name {
			if found != "" {
				return ""
			}
			found = r.Path
		}
	}
	return found
}

// resolve is Resolve for names that runs have now.
func (s *Store) resolve(what string) (string, error) {
	switch what {
	case "":
		return "", errors.New("no run is named")
	case "baseline":
		name, err := s.Baseline()
		if err != nil {
			return "", err
		}
		return s.path(name), nil
	case "last":
		return s.newest()
	}
	if isFile(what) {
		return what, nil
	}
	if strings.ContainsRune(what, filepath.Separator) {
		return "", fmt.Errorf("there is no run file %s", what)
	}
	name := strings.TrimSuffix(what, Extension)
	if isFile(s.path(name)) {
		return s.path(name), nil
	}
	return s.byPrefix(name)
}

func (s *Store) newest() (string, error) {
	runs, err := s.List()
	if err != nil {
		return "", err
	}
	for _, r := range runs {
		if r.Problem == "" {
			return r.Path, nil
		}
	}
	return "", fmt.Errorf("there are no runs in %s yet", s.dir)
}

func (s *Store) byPrefix(prefix string) (string, error) {
	entries, err := s.entries()
	if err != nil {
		return "", fmt.Errorf("looking for run %s: %w", prefix, err)
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), Extension); ok {
			names = append(names, name)
		}
	}
	name, err := experiment.Beginning(names, prefix, "runs")
	switch {
	case err != nil:
		return "", err
	case name == "":
		if _, err := experiment.Exact(s.dir, prefix); err == nil {
			return "", fmt.Errorf("%s is an experiment and no run: pgtlb compare %s and pgtlb report %s take it, pgtlb runs lists its runs", prefix, prefix, prefix)
		}
		return "", fmt.Errorf("there is no run named %s in %s", prefix, s.dir)
	}
	return s.path(name), nil
}

func (s *Store) path(name string) string { return filepath.Join(s.dir, name+Extension) }

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

// ErrNoBaseline is returned while no baseline is chosen.
var ErrNoBaseline = errors.New("no baseline is chosen yet")

// Baseline is the name of the run that others are compared with.
func (s *Store) Baseline() (string, error) {
	name, err := s.pointer()
	if err != nil {
		return "", err
	}
	if !isFile(s.path(name)) {
		return "", fmt.Errorf("the baseline %s is no longer there: %w", name, ErrNoBaseline)
	}
	return name, nil
}

// pointer is the name that was chosen as the baseline, whether it is there or not.
func (s *Store) pointer() (string, error) {
	b, err := os.ReadFile(filepath.Join(s.dir, baselineFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", ErrNoBaseline
	}
	if err != nil {
		return "", fmt.Errorf("reading which run is the baseline: %w", err)
	}
	name := strings.TrimSpace(string(b))
	if name == "" || name != filepath.Base(name) {
		return "", ErrNoBaseline
	}
	return name, nil
}

// SetBaseline makes a run of the store the baseline; an empty name takes the
// choice back.
func (s *Store) SetBaseline(name string) error {
	file := filepath.Join(s.dir, baselineFile)
	if name == "" {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("taking back the baseline: %w", err)
		}
		return nil
	}
	if name != filepath.Base(name) || !isFile(s.path(name)) {
		return fmt.Errorf("there is no run named %s in %s", name, s.dir)
	}
	if err := writeFile(file, []byte(name+"\n")); err != nil {
		return fmt.Errorf("choosing the baseline: %w", err)
	}
	return nil
}

// writeFile replaces a file as a whole, readable by its owner only: a reader
// sees the old content or the new one, never half of it.
func writeFile(path string, content []byte) error { return written(path, content, os.Rename) }

// writeNew is writeFile for a file that must not be there yet (fs.ErrExist). Where
// the file system has no hard links, the name is looked at before and taken after.
func writeNew(path string, content []byte) error {
	return written(path, content, func(from, to string) error {
		err := os.Link(from, to)
		switch {
		case err == nil:
			return os.Remove(from)
		case errors.Is(err, fs.ErrExist) || isFile(to):
			return fs.ErrExist
		}
		return os.Rename(from, to)
	})
}

// written writes a file beside its place and has it put there.
func written(path string, content []byte, put func(from, to string) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return put(f.Name(), path)
}
