package doctor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgtlb/probes"
)

// machines are the names of the machines in testdata/trees. Each is one archive of
// the files that are read, in the form of txtar: a line "-- path --" before each.
// These are in it besides: server.json is what the server says,
// links has lines of a symbolic link and its target, planned_kb and log are the
// flags --shared-memory and --log.
func machines(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/trees/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range paths {
		out = append(out, strings.TrimSuffix(filepath.Base(p), ".txtar"))
	}
	if len(out) < 15 {
		t.Fatalf("only %d machines", len(out))
	}
	return out
}

// look gathers the snapshot of a machine in testdata/trees.
func look(t *testing.T, machine string) Snapshot {
	t.Helper()
	archive, err := os.ReadFile(filepath.Join("testdata/trees", machine+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	w := Wanted{Tree: Tree(dir)}
	s := Snapshot{Schema: schema, Taken: time.Unix(1780000000, 0).UTC(), ServerUnknown: "no server was asked"}
	pid := 0
	for _, f := range unpack(string(archive)) {
		path := filepath.Join(dir, f.name)
		switch {
		case f.name == "links":
			symlinks(t, dir, f.text)
			continue
		case f.name == "planned_kb":
			s.PlannedKB, err = strconv.ParseUint(strings.TrimSpace(f.text), 10, 64)
		case f.name == "server.json":
			s.Server, s.ServerUnknown = &Server{}, ""
			err = json.Unmarshal([]byte(f.text), s.Server)
			pid, s.HostUnknown = s.Server.Info.PostmasterPid, s.Server.Info.NoPostmasterWhy
		case f.name == "log":
			w.Log = path
		case filepath.Base(f.name) == "cmdline":
			f.text = strings.TrimSuffix(f.text, "\n")
		}
		if err != nil {
			t.Fatalf("%s: %s: %v", machine, f.name, err)
		}
		write(t, path, f.text)
	}
	if s.HostUnknown != "" {
		return s
	}
	if s.Host, err = probes.ReadHost(w.Tree.Roots()); err != nil {
		t.Fatalf("%s: %v", machine, err)
	}
	lookAtPages(t.Context(), &s, w, pid, 0)
	for i, u := range s.Unread {
		t.Errorf("%s: unread %d: %+v", machine, i, u)
	}
	// The log's path is another one in each run.
	if s.Pages.Start != nil {
		s.Pages.Start.Log = "/var/log/postgresql.log"
	}
	return s
}

// file is one file of an archive.
type file struct{ name, text string }

// unpack takes an archive apart; what stands before the first file is a comment.
func unpack(archive string) []file {
	var out []file
	for line := range strings.Lines(archive) {
		name, ok := strings.CutPrefix(line, "-- ")
		if name, ok2 := strings.CutSuffix(name, " --\n"); ok && ok2 {
			out = append(out, file{name: name})
		} else if len(out) > 0 {
			out[len(out)-1].text += line
		}
	}
	return out
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func symlinks(t *testing.T, dir, lines string) {
	t.Helper()
	for line := range strings.Lines(lines) {
		name, target, _ := strings.Cut(strings.TrimSpace(line), " ")
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
	}
}
