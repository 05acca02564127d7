package trial

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
)

// Format is a form in which runs are exported.
type Format string

// The formats.
const (
	AsRun         Format = "run" // as it is kept
	AsCSV         Format = "csv"
	AsOpenMetrics Format = "openmetrics"
	AsBenchstat   Format = "benchstat"
)

// Formats are the names of all formats.
func Formats() []string {
	return []string{string(AsRun), string(AsCSV), string(AsOpenMetrics), string(AsBenchstat)}
}

// Exporter finds the runs that a person named and returns what writes them, one
// behind the other, in a format. Only AsRun has the texts of queries, if they are asked
// for.
func (s *Store) Exporter(names []string, as Format, queries bool) (func(io.Writer) error, error) {
	writers := map[Format]func(io.Writer, []*Run) error{AsCSV: WriteCSV, AsOpenMetrics: WriteOpenMetrics, AsBenchstat: WriteBenchstat}
	write, other := writers[as]
	if !other && as != AsRun {
		return nil, fmt.Errorf("--format %s: the formats are %s", as, strings.Join(Formats(), ", "))
	}
	var paths []string
	for _, name := range names {
		path, err := s.Resolve(name)
		if err != nil {
			return nil, err
		}
		if info := Info(path); info.Problem != "" {
			return nil, fmt.Errorf("run %s: %s", info.Name, info.Problem)
		}
		paths = append(paths, path)
	}
	if !other {
		return func(w io.Writer) error {
			for _, path := range paths {
				if err := ExportRun(w, path, queries); err != nil {
					return err
				}
			}
			return nil
		}, nil
	}
	var runs []*Run
	for _, path := range paths {
		run, err := Read(path)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	return func(w io.Writer) error { return write(w, runs) }, nil
}

// WriteFile writes a file as a whole or not at all, readable by its owner only.
func WriteFile(path string, write func(io.Writer) error) error {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return fmt.Errorf("%s is a directory; name a file", path)
	}
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	if err := writeFile(path, b.Bytes()); err != nil {
		return fmt.Errorf("writing %s: %w", path, reason(err))
	}
	return nil
}
