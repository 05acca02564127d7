package trial

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"pgtlb/workload/experiment"
)

// ExportRun writes a run as it is kept, with the name that it has now. Runs written
// one behind the other make one file, which Import takes. A line that was cut, or is
// being written, is left out.
func ExportRun(w io.Writer, path string) error {
	name := Info(path).Name
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("exporting run %s: %w", name, reason(err))
	}
	defer f.Close()
	in := newLineReader(f)
	meta, err := readHeader(in)
	if err != nil {
		return fmt.Errorf("exporting run %s: %w", name, err)
	}
	meta.Name = name
	text, err := appendJSON(nil, line{Header: meta})
	for err == nil {
		if _, err = w.Write(append(text, '\n')); err != nil {
			break
		}
		var whole bool
		text, whole, err = in.next()
		if err == nil && text == nil {
			return fmt.Errorf("exporting run %s: line %d is longer than %d bytes, which no run has: the file is damaged", name, in.number, longestLine)
		}
		if err == nil && !whole || errors.Is(err, io.EOF) {
			return nil
		}
	}
	return fmt.Errorf("exporting run %s: %w", name, err)
}

// Imported is what became of a run of an imported file.
type Imported struct {
	Name string `json:"name"`           // in the store
	As   string `json:"name_in_file"`   // differs where another run has that name
	Had  bool   `json:"already_there"`  // the very same run is in the store: nothing was done
	Tags int    `json:"tags,omitempty"` // how many it has
}

// Import puts the runs of a file into the store: a run file, several of them one
// behind the other (ExportRun), or one entered by hand as JSON. All of them are read
// before the first is put there, and where one cannot be put there none is.
func (s *Store) Import(file string) (list []Imported, err error) {
	runs, err := readImport(file)
	if err != nil {
		return nil, fmt.Errorf("importing %s: %w", file, err)
	}
	if err := s.MakeWritable(); err != nil {
		return nil, err
	}
	var made []string
	defer func() {
		if err != nil {
			for _, path := range made {
				err = errors.Join(err, os.Remove(path))
			}
			list = nil
		}
	}()
	for _, r := range runs {
		done, path, err := s.importRun(r)
		if path != "" {
			made = append(made, path)
		}
		if err != nil {
			return nil, fmt.Errorf("importing %s: run %s: %w", file, r.meta.Name, err)
		}
		list = append(list, done)
	}
	return list, nil
}

// runText is a run of an imported file: its header, and the lines behind it.
type runText struct {
	meta  Meta
	lines []byte
	tags  int
}

// text is the run's file under a name.
func (r runText) text(name string) ([]byte, error) {
	m := r.meta
	m.Name = name
	head, err := appendJSON(nil, line{Header: &m})
	if err != nil {
		return nil, err
	}
	return append(append(head, '\n'), r.lines...), nil
}

// importRun puts one run into the store; path is the file that was made, if any.
func (s *Store) importRun(r runText) (done Imported, path string, err error) {
	done = Imported{As: r.meta.Name, Tags: r.tags}
	name := experiment.SafeName(r.meta.Name)
	text, err := r.text(name)
	if err != nil {
		return done, "", err
	}
	if there, err := os.ReadFile(s.path(name)); err == nil && bytes.Equal(there, text) {
		done.Name, done.Had = name, true
		return done, "", nil
	}
	for i := 1; i <= mostAlike; i++ {
		unique := numbered(name, i)
		if isFile(s.path(unique)) {
			continue
		}
		if text, err = r.text(unique); err != nil {
			return done, "", err
		}
		switch err := writeNew(s.path(unique), text); {
		case errors.Is(err, fs.ErrExist):
		case err != nil:
			return done, "", reason(err)
		default:
			done.Name = unique
			return done, s.path(unique), nil
		}
	}
	return done, "", fmt.Errorf("%d files are named %s already", mostAlike, name)
}

// mostImport bounds what an import reads into memory, of which it makes about ten
// times as much: some ten hours of runs.
const mostImport = 256 << 20

// readImport reads what a file holds, and refuses it as a whole where a part of it
// is no run.
func readImport(file string) ([]runText, error) {
	st, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, reason(err)
	case !st.Mode().IsRegular():
		return nil, errors.New("this is not a file")
	case st.Size() > mostImport:
		return nil, fmt.Errorf("the file has %d bytes, more than runs have (at most %d); export fewer runs into one file", st.Size(), int64(mostImport))
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, reason(err)
	}
	if len(bytes.TrimSpace(content)) == 0 {
		return nil, errors.New("the file is empty")
	}
	var first struct {
		Header  json.RawMessage `json:"header"`
		Sample  json.RawMessage `json:"sample"`
		Name    json.RawMessage `json:"name"`
		Metrics json.RawMessage `json:"metrics"`
	}
	// Only the first value counts here: a run file has a line for each.
	err = json.NewDecoder(bytes.NewReader(content)).Decode(&first)
	switch {
	case first.Header != nil:
		return splitRuns(content)
	case bytes.TrimSpace(content)[0] == '{' && (err != nil || first.Sample == nil):
		run, err := ParseByHand(content)
		if err != nil {
			return nil, err
		}
		end, err := appendJSON(nil, line{End: run.End})
		if err != nil {
			return nil, err
		}
		return []runText{{meta: run.Meta, lines: append(end, '\n')}}, nil
	}
	return nil, errors.New(`neither runs of "pgtlb runs export" nor the JSON of a run entered by hand`)
}

// splitRuns finds the runs of a file and reads each of them once, to know that it
// can be read.
func splitRuns(content []byte) ([]runText, error) {
	starts := []int{}
	for at := 0; at < len(content); {
		if bytes.HasPrefix(content[at:], []byte(`{"header":`)) {
			starts = append(starts, at)
		}
		next := bytes.IndexByte(content[at:], '\n')
		if next < 0 {
			break
		}
		at += next + 1
	}
	if len(starts) == 0 || starts[0] != 0 {
		return nil, errors.New("not a pgtlb run: the first line is not the header of one")
	}
	var runs []runText
	for i, from := range starts {
		to := len(content)
		if i+1 < len(starts) {
			to = starts[i+1]
		}
		run, err := parseRun(bytes.NewReader(content[from:to]))
		if err != nil {
			return nil, fmt.Errorf("run %d of %d: %w", i+1, len(starts), err)
		}
		if run.Meta.Name == "" {
			return nil, fmt.Errorf("run %d of %d has no name in its header", i+1, len(starts))
		}
		_, lines, _ := bytes.Cut(content[from:to], []byte("\n"))
		if n := len(lines); n > 0 && lines[n-1] != '\n' {
			lines = lines[:bytes.LastIndexByte(lines, '\n')+1] // cut in the middle, on the way here
		}
		runs = append(runs, runText{meta: run.Meta, lines: lines, tags: len(run.Tags)})
	}
	return runs, nil
}
