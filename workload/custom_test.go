package workload

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgtlb/workload/script"
)

func TestCustomNames(t *testing.T) {
	builtin, err := BuiltinScript("select@3")
	if err != nil || builtin.Weight != 3 || builtin.Builtin() != "select-only" {
		t.Fatalf("%+v, %v", builtin, err)
	}
	own := Script{Name: "own.sql", Text: "SELECT :scale;", Weight: 1}
	for _, c := range []struct {
		scripts []Script
		want    string
	}{
		{[]Script{builtin}, "select-only"},
		{[]Script{own}, CustomName},
		{[]Script{builtin, own}, CustomName},
		{[]Script{{Name: builtin.Name, Text: "SELECT 1;", Weight: 1}}, CustomName},
	} {
		sc, err := Custom(Work{Scripts: c.scripts})
		if err != nil || sc.Name != c.want || len(sc.Needs(nil)) != 0 {
			t.Errorf("%v: %q, %v, want %q", c.scripts, sc.Name, err, c.want)
		}
	}
}

func TestCustomRefuses(t *testing.T) {
	var fault *script.Error
	_, err := Custom(Work{Scripts: []Script{{Name: "bad.sql", Text: "SELECT 1;\n\\set x 1 +\n", Weight: 1}}})
	if !errors.As(err, &fault) || fault.File != "bad.sql" || fault.Line != 2 {
		t.Errorf("a script with a fault: %v", err)
	}
	if _, err := Custom(Work{Scripts: []Script{{Name: "never.sql", Text: "SELECT 1;"}}}); err == nil {
		t.Error("scripts without a weight are taken")
	}
	if _, err := Custom(Work{}); err == nil {
		t.Error("no script at all is taken")
	}
}

func TestReadScript(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a@b.sql")
	if err := os.WriteFile(file, []byte("SELECT 1;"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := ReadScript(file+"@5", nil); err != nil || s != (Script{Name: file, Text: "SELECT 1;", Weight: 5}) {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := ReadScript("-@2", strings.NewReader("SELECT 2;")); err != nil || s != (Script{Name: "-", Text: "SELECT 2;", Weight: 2}) {
		t.Errorf("from the standard input: %+v, %v", s, err)
	}
	if _, err := ReadScript(file+".none@1", nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such file: %v", err)
	}
}
