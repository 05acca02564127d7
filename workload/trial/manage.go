package trial

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"pgtlb/workload/experiment"
)

// errBusy says that another program writes to a run.
var errBusy = errors.New("it is being recorded; wait for its end")

// own finds a run of this store, not a file elsewhere.
func (s *Store) own(what string) (name, path string, err error) {
	if path, err = s.resolve(what); err != nil {
		return "", "", err
	}
	if filepath.Clean(filepath.Dir(path)) != filepath.Clean(s.dir) {
		return "", "", fmt.Errorf("%s is a file outside of %s, where the recorded runs are: no run of theirs", what, s.dir)
	}
	return strings.TrimSuffix(filepath.Base(path), Extension), path, nil
}

// Own finds runs of this store that a person named, each of them once.
func (s *Store) Own(names []string) ([]RunInfo, error) {
	baseline, _ := s.Baseline()
	var out []RunInfo
	for _, what := range names {
		name, path, err := s.own(what)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(r RunInfo) bool { return r.Name == name }) {
			continue
		}
		info := Info(path)
		info.Baseline = name == baseline
		out = append(out, info)
	}
	return out, nil
}

// locked opens a run's file for a change and locks it. Nobody else changes it until
// it is closed. It is opened for writing: NFS locks no other file for one alone.
func locked(name, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", name, reason(err))
	}
	if err := experiment.Lock(f); err != nil {
		if errors.Is(err, experiment.ErrBusy) {
			err = errBusy
		}
		return nil, errors.Join(fmt.Errorf("run %s: %w", name, err), f.Close())
	}
	return f, nil
}

// CheckName tells whether a person may give a run this name.
func CheckName(name string) error {
	if name == "last" || name == "baseline" {
		return fmt.Errorf("%s cannot be a name: it stands for a run already", name)
	}
	return experiment.CheckName(name)
}

// Rename gives a run another name, which no other may have, and returns the one it
// had. The baseline stays the baseline, and Resolve still finds it by the name in its
// header, so that journals of experiments need not be written anew.
func (s *Store) Rename(what, name string) (was string, err error) {
	was, path, err := s.own(what)
	if err != nil {
		return "", err
	}
	if err := CheckName(name); err != nil {
		return "", err
	}
	if was == name {
		return "", fmt.Errorf("run %s has that name already", name)
	}
	f, err := locked(was, path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err := s.place(path, name); err != nil {
		return "", err
	}
	if base, err := s.pointer(); err == nil && base == was {
		if err := s.SetBaseline(name); err != nil {
			return "", fmt.Errorf("the run is named %s now, but it is no longer the baseline: %w", name, err)
		}
	}
	return was, nil
}

// place moves a file to where the run of that name belongs, unless there is one. The
// name is taken first, so that of two programs only one gets it.
func (s *Store) place(path, name string) error {
	f, err := os.OpenFile(s.path(name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("there is a run named %s already", name)
	}
	if err != nil {
		return fmt.Errorf("naming run %s: %w", name, reason(err))
	}
	if err := errors.Join(f.Close(), os.Rename(path, s.path(name))); err != nil {
		return errors.Join(fmt.Errorf("naming run %s: %w", name, err), os.Remove(s.path(name)))
	}
	return nil
}

// Remove deletes a run and tells whether it was the baseline; then there is none.
func (s *Store) Remove(what string) (wasBaseline bool, err error) {
	name, path, err := s.own(what)
	if err != nil {
		return false, err
	}
	f, err := locked(name, path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	base, _ := s.pointer()
	if err := os.Remove(path); err != nil {
		return false, fmt.Errorf("removing run %s: %w", name, reason(err))
	}
	if base == name {
		return true, s.SetBaseline("")
	}
	return false, nil
}

// CheckTag tells whether a person may tag a run so.
func CheckTag(tag string) error {
	const longest = 50
	if tag == "" || len(tag) > longest || strings.IndexFunc(tag, func(r rune) bool {
		return r <= ' ' || r == 0x7f || r == ',' || r > 0x7f && !unicode.IsLetter(r)
	}) >= 0 {
		return fmt.Errorf("tag %q: a tag is one word of at most %d bytes, without commas", tag, longest)
	}
	return nil
}

// Tag adds tags to a run and takes others away; tags are the ones it has then.
//
// The tags are a line at the end of the run's own file and not a file beside it: no
// rename, copy or removal by anyone can part the two, the write is one append, and
// an export has them as they are. The last such line counts.
func (s *Store) Tag(what string, add, drop []string) (name string, tags []string, err error) {
	name, path, err := s.own(what)
	if err != nil {
		return "", nil, err
	}
	for _, t := range slices.Concat(add, drop) {
		if err := CheckTag(t); err != nil {
			return "", nil, err
		}
	}
	f, err := locked(name, path)
	if err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info := Info(path)
	if info.Problem != "" {
		return "", nil, fmt.Errorf("run %s: %s", name, info.Problem)
	}
	tags = slices.Compact(slices.Sorted(slices.Values(slices.Concat(info.Tags, add))))
	for _, t := range drop {
		if !slices.Contains(info.Tags, t) {
			return "", nil, fmt.Errorf("run %s has no tag %s", name, t)
		}
		tags = slices.DeleteFunc(tags, func(has string) bool { return has == t })
	}
	if slices.Equal(tags, info.Tags) {
		return name, tags, nil
	}
	if err := appendTags(f, info.Bytes, tags); err != nil {
		return "", nil, fmt.Errorf("tagging run %s: %w", name, reason(err))
	}
	return name, tags, nil
}

// appendTags writes a line of tags behind the size bytes of a file, or leaves the
// file as it was.
func appendTags(f *os.File, size int64, tags []string) error {
	if tags == nil {
		tags = []string{}
	}
	text, err := appendJSON(nil, line{Tags: &tags})
	if err != nil {
		return err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, size-1); err == nil && last[0] != '\n' {
		text = append([]byte("\n"), text...) // behind a line that was cut
	}
	if _, err := f.Seek(size, io.SeekStart); err != nil {
		return err
	}
	if _, err := f.Write(append(text, '\n')); err != nil {
		return errors.Join(err, f.Truncate(size))
	}
	return f.Sync()
}
