package doctor

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pgtlb/probes"
)

// maxFile bounds what is read of a file of settings, in bytes.
const maxFile = 1 << 20

// files reads files by the paths that they have on the machine, below a tree.
// One that may not be read is noted in the snapshot; one that is not there is
// not: its absence is an answer.
type files struct {
	s    *Snapshot
	tree Tree
}

// text is the content of a file; false where it cannot be had.
func (f files) text(path string) (string, bool) {
	b, err := readSome(f.real(path))
	switch {
	case err == nil:
		return string(b), true
	case !errors.Is(err, fs.ErrNotExist):
		f.deny(path, err)
	}
	return "", false
}

// readSome reads a file up to maxFile.
func readSome(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxFile))
}

// deny notes a file that is there and cannot be read.
func (f files) deny(path string, err error) {
	if !errors.Is(err, fs.ErrPermission) {
		f.s.unread(path, err)
		return
	}
	f.s.unread(path, &probes.Unavailable{What: path, Reason: "permission denied on " + path, Remedy: "run pgtlb as root"})
}

// real is where a file is below the tree. A symbolic link to an absolute path
// means that path below the tree.
func (f files) real(path string) string {
	p := f.tree.Path(path)
	for range 8 { // links to links
		to, err := os.Readlink(p)
		if err != nil || !filepath.IsAbs(to) {
			return p
		}
		p = f.tree.Path(to)
	}
	return p
}

// number is a file that holds one whole number; false where it is not there or
// is a word, as "max".
func (f files) number(path string) (int64, bool) {
	s, ok := f.text(path)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	return n, err == nil
}

// names are the names in a directory, sorted; none where it is not there.
func (f files) names(dir string) []string {
	entries, err := os.ReadDir(f.tree.Path(dir))
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			f.deny(dir, err)
		}
		return nil
	}
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = e.Name()
	}
	slices.Sort(out)
	return out
}

// exists tells whether there is such a file or directory.
func (f files) exists(path string) bool {
	_, err := os.Stat(f.real(path))
	return err == nil
}

// sameFile is where a file really is once every link is followed; empty where
// it is not there.
func (f files) sameFile(path string) string {
	p, err := filepath.EvalSymlinks(f.real(path))
	if err != nil {
		return ""
	}
	return p
}
