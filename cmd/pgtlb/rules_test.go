package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const top = "../.." // of the repository, seen from this package

// allowed lists which of our rooms each room may import. Nothing may import cmd
// or tui; os/exec is for the lab alone.
var allowed = map[string][]string{
	"probes/perf":          {},
	"probes":               {"probes/perf"},
	"probes/doctor":        {"probes", "probes/perf"},
	"workload":             {"probes", "workload/script", "workload/wire"},
	"workload/script":      {},
	"workload/wire":        {"probes"},
	"workload/lab":         {"probes"},
	"workload/lab/labtest": {},
	"workload/verdict":     {},
	"workload/experiment":  {"workload/verdict"},
	"workload/trial":       {"probes", "probes/doctor", "workload/verdict", "workload/experiment", "workload", "workload/script", "workload/lab"},
	"workload/calibrate":   {"probes", "workload", "workload/script", "workload/wire", "workload/lab", "workload/trial"},
	"tui":                  {"probes", "probes/doctor", "workload/experiment", "workload", "workload/trial"},
	"cmd/pgtlb":            {"probes", "probes/doctor", "workload/verdict", "workload/experiment", "workload", "workload/script", "workload/lab", "workload/trial", "workload/calibrate", "tui"},
}

// forbidden lists packages of others that a room must not use.
var forbidden = map[string][]string{
	"tui":                {"os/exec", "net", "net/http", "github.com/jackc/pgx"},
	"probes":             {"os/exec"},
	"probes/perf":        {"os/exec", "github.com/jackc/pgx"},
	"probes/doctor":      {"os/exec", "github.com/jackc/pgx"},
	"workload":           {"os/exec"},
	"workload/script":    {"os/exec", "github.com/jackc/pgx"},
	"workload/wire":      {"os/exec"},
	"workload/trial":     {"os/exec", "net/http"},
	"workload/calibrate": {"os/exec", "net/http"},
	"cmd/pgtlb":          {"os/exec"},
}

// source is a Go file of the project that is no test.
type source struct {
	room string // folder
	path string
	file *ast.File
}

func sources(t *testing.T) []source {
	t.Helper()
	var out []source
	fset := token.NewFileSet()
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != top):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		room, err := filepath.Rel(top, filepath.Dir(path))
		out = append(out, source{filepath.ToSlash(room), path, f})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) == 0 {
		t.Fatal("no source found")
	}
	return out
}

func TestRoomsImportOnlyWhatTheyMay(t *testing.T) {
	for _, s := range sources(t) {
		may, known := allowed[s.room]
		if !known {
			t.Errorf("%s: room %s is not in the list of rooms", s.path, s.room)
			continue
		}
		for _, im := range s.file.Imports {
			name, _ := strconv.Unquote(im.Path.Value)
			if ours, ok := strings.CutPrefix(name, "pgtlb/"); ok && !slices.Contains(may, ours) {
				t.Errorf("%s: room %s must not import %s", s.path, s.room, ours)
			}
			for _, no := range forbidden[s.room] {
				if name == no || strings.HasPrefix(name, no+"/") {
					t.Errorf("%s: room %s must not import %s", s.path, s.room, name)
				}
			}
		}
	}
}

func TestEveryRoomHasItsPackageDoc(t *testing.T) {
	doc := map[string]int{}
	for _, s := range sources(t) {
		doc[s.room] += 0
		if s.file.Doc != nil {
			doc[s.room]++
		}
	}
	for room, n := range doc {
		if n != 1 {
			t.Errorf("room %s has %d package docs, want one", room, n)
		}
	}
	for room := range allowed {
		if _, ok := doc[room]; !ok {
			t.Errorf("room %s is missing", room)
		}
	}
}

func TestNoInitFunctions(t *testing.T) {
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s has an init function", s.path)
			}
		}
	}
}

func TestTopLevelHoldsOnlyTheRooms(t *testing.T) {
	want := []string{"README.md", "cmd", "go.mod", "go.sum", "probes", "screenshots", "tui", "workload"}
	entries, err := os.ReadDir(top)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			got = append(got, e.Name())
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("top level holds %v, want %v", got, want)
	}
}
