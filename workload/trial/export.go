package trial

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"pgtlb/workload/experiment"
)

// ExportAll writes a report as name.md, name.html and name.json into dir, which
// it makes where it is missing, and returns their paths. The files are readable
// by their owner only, and each is there as a whole or not at all.
func ExportAll(dir, name string, r Report) ([]string, error) {
	var paths []string
	for _, ext := range []string{".md", ".html", ".json"} {
		path := filepath.Join(dir, experiment.SafeName(name)+ext)
		if err := WriteReport(path, r); err != nil {
			return paths, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// WriteReport writes a report to one file, in the format that its name ends with:
// .md, .html or .json.
func WriteReport(path string, r Report) error {
	write, err := writerFor(path)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := write(&b, r); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("making the directory for reports: %w", err)
	}
	if err := writeFile(path, b.Bytes()); err != nil {
		return fmt.Errorf("writing report %s: %w", path, reason(err))
	}
	return nil
}

func writerFor(path string) (func(io.Writer, Report) error, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".md", ".markdown":
		return WriteMarkdown, nil
	case ".html", ".htm":
		return WriteHTML, nil
	case ".json":
		return WriteJSON, nil
	}
	return nil, fmt.Errorf("report %s: the name must end in .md, .html or .json", path)
}
