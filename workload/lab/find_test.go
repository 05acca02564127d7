package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// program writes an executable shell script.
func program(t *testing.T, path, script string) {
	t.Helper()
	if supported() != nil {
		t.Skip("need: a system with /bin/sh")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// fakeServer puts initdb and a postgres that tells its version into dir.
func fakeServer(t *testing.T, dir, version string) {
	t.Helper()
	program(t, filepath.Join(dir, "initdb"), "exit 0")
	program(t, filepath.Join(dir, "postgres"), fmt.Sprintf("echo 'postgres (PostgreSQL) %s (Some Linux)'", version))
}

func TestFindTakesTheNewest(t *testing.T) {
	root := t.TempDir()
	f := Finder{Root: root, Path: filepath.Join(root, "bin"), Portable: []string{filepath.Join(root, "portable")}}
	if _, err := f.Find(t.Context(), ""); !errors.Is(err, ErrNoServer) {
		t.Fatalf("in an empty place: %v", err)
	}
	want := func(version, origin string) {
		t.Helper()
		s, err := f.Find(t.Context(), "")
		if err != nil || s.Version != version || s.Origin != origin {
			t.Errorf("found %+v, %v; want %s by %s", s, err, version, origin)
		}
	}
	fakeServer(t, filepath.Join(root, "usr/lib/postgresql/12/bin"), "12.22")
	fakeServer(t, filepath.Join(root, "usr/lib/postgresql/19/bin"), "19devel")
	_, err := f.Find(t.Context(), "")
	if !errors.Is(err, ErrNoServer) {
		t.Fatalf("12 and 19 were taken: %v", err)
	}
	wantIn(t, err.Error(), "12.22", "19devel", "13 to 18", "pgtlb setup")
	fakeServer(t, filepath.Join(root, "usr/pgsql-14/bin"), "14.9")
	want("14.9", "/usr/pgsql-*/bin")
	fakeServer(t, filepath.Join(root, "usr/lib/postgresql/14/bin"), "14.11")
	want("14.11", "/usr/lib/postgresql/*/bin")
	fakeServer(t, filepath.Join(root, "usr/local/pgsql/bin"), "16.1")
	want("16.1", "/usr/local/pgsql/bin")
	fakeServer(t, filepath.Join(root, "opt/pg/bin"), "17.2")
	program(t, filepath.Join(root, "bin/pg_config"), "echo "+filepath.Join(root, "opt/pg/bin"))
	want("17.2", "pg_config --bindir")
	fakeServer(t, filepath.Join(root, "bin"), "18beta1")
	want("18beta1", "PATH")
	fakeServer(t, filepath.Join(root, "portable/18/bin"), "18.4")
	fakeServer(t, filepath.Join(root, "portable/.fetch-1/bin"), "18.9") // half made
	want("18.4", "portable")
}

func TestFindBindir(t *testing.T) {
	root := t.TempDir()
	f := Finder{}
	good := filepath.Join(root, "good")
	fakeServer(t, good, "17.6")
	if s, err := f.Find(t.Context(), good); err != nil || s.Major != 17 || s.Version != "17.6" || s.Bindir != good || s.Origin != "--pg-bindir" {
		t.Errorf("%+v, %v", s, err)
	}
	fakeServer(t, filepath.Join(root, "old"), "9.6.24")
	program(t, filepath.Join(root, "half/postgres"), "exit 1")
	program(t, filepath.Join(root, "broken/postgres"), "echo no library >&2; exit 127")
	program(t, filepath.Join(root, "broken/initdb"), "exit 0")
	fakeServer(t, filepath.Join(root, "noexec"), "17.6")
	if err := os.Chmod(filepath.Join(root, "noexec/initdb"), 0o644); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		"missing": "no such folder", "old": "9.6.24", "half": "initdb is not in it", "broken": "no library", "noexec": "initdb is not executable",
	} {
		_, err := f.Find(t.Context(), filepath.Join(root, dir))
		if err == nil || errors.Is(err, ErrNoServer) {
			t.Errorf("%s: error %v", dir, err)
			continue
		}
		wantIn(t, err.Error(), "--pg-bindir", want, "name the folder")
	}
}

func TestParseVersion(t *testing.T) {
	for in, want := range map[string]string{
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n": "15.18 15", "postgres (PostgreSQL) 18.4\n": "18.4 18",
		"postgres (PostgreSQL) 19devel": "19devel 19", "postgres (PostgreSQL) 17rc1": "17rc1 17",
	} {
		v, m, err := parseVersion(in)
		if got := fmt.Sprint(v, " ", m); err != nil || got != want {
			t.Errorf("%q: %s, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "initdb", "postgres (PostgreSQL) ", "postgres (PostgreSQL) devel"} {
		if v, _, err := parseVersion(in); err == nil {
			t.Errorf("%q: %s", in, v)
		}
	}
}

func TestNewestPackage(t *testing.T) {
	versions := []string{"17.9.0-beta.17", "18.0.0-beta.15", "18.4.0-beta.9", "18.4.0-beta.17", "18.3.0-beta.17", "17.10.0-beta.2"}
	for major, want := range map[int]string{18: "18.4.0-beta.17", 17: "17.10.0-beta.2", 16: ""} {
		if got := newestOf(versions, major); got != want {
			t.Errorf("%d: %s, want %s", major, got, want)
		}
	}
}

func TestInstall(t *testing.T) {
	root := t.TempDir()
	bin := filepath.Join(root, "bin")
	server := filepath.Join(root, "usr/lib/postgresql/17/bin")
	prepared := filepath.Join(root, "prepared")
	fakeServer(t, prepared, "17.6")
	program(t, filepath.Join(bin, "apt-get"), `echo "$@ $DEBIAN_FRONTEND" >> `+root+`/ran
case "$*" in *install*) mkdir -p `+filepath.Dir(server)+` && cp -R `+prepared+` `+server+`;; esac
echo Reading package lists`)
	program(t, filepath.Join(bin, "dnf"), "exit 1") // apt-get comes first
	plan, err := planInstall(bin)
	if err != nil || plan.Manager != "apt-get" || len(plan.Commands) != 2 || len(plan.Notes) == 0 {
		t.Fatalf("%+v, %v", plan, err)
	}
	if got := plan.Commands[1].String(); got != "DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 install -y --no-install-recommends postgresql" {
		t.Errorf("command %q", got)
	}
	o := InstallOptions{Plan: plan, Finder: Finder{Root: root}}
	var out bytes.Buffer
	if _, err := Install(t.Context(), o, &out); !errors.Is(err, ErrNotRoot) {
		t.Fatalf("without root: %v", err)
	} else {
		wantIn(t, err.Error(), "apt-get", "install -y", "--portable")
	}
	if _, err := os.Stat(filepath.Join(root, "ran")); err == nil {
		t.Error("it ran without root")
	}
	o.Root = true
	s, err := Install(t.Context(), o, &out)
	if err != nil || s.Version != "17.6" {
		t.Fatalf("%+v, %v\n%s", s, err, &out)
	}
	wantIn(t, out.String(), "$ DEBIAN_FRONTEND=noninteractive apt-get", "Reading package lists", "installed PostgreSQL 17.6")
	ran, err := os.ReadFile(filepath.Join(root, "ran"))
	if err != nil || strings.Count(string(ran), "noninteractive\n") != 2 {
		t.Errorf("ran %q, %v", ran, err)
	}
	out.Reset()
	if s, err := Install(t.Context(), o, &out); err != nil || s.Version != "17.6" {
		t.Errorf("second time: %+v, %v", s, err)
	}
	wantIn(t, out.String(), "there already")
}

func TestInstallThatFails(t *testing.T) {
	root := t.TempDir()
	program(t, filepath.Join(root, "bin/apk"), "echo 'ERROR: unable to select packages' >&2; exit 3")
	plan, err := planInstall(filepath.Join(root, "bin"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	_, err = Install(t.Context(), InstallOptions{Plan: plan, Finder: Finder{Root: root}, Root: true}, &out)
	if err == nil {
		t.Fatal("no error")
	}
	wantIn(t, err.Error(), "apk", "unable to select packages")
	if _, err := planInstall(filepath.Join(root, "empty")); err == nil {
		t.Error("a plan without a package manager")
	}
}

// A half-made portable server is never left, whatever npm does.
func TestFetchPortableThatFails(t *testing.T) {
	root := t.TempDir()
	t.Setenv("PATH", filepath.Join(root, "bin")+":/usr/bin:/bin")
	if _, err := portablePackage("linux", "riscv64"); err == nil {
		t.Error("a package for riscv64")
	}
	dest := filepath.Join(root, "portable")
	for name, script := range map[string]string{
		"npm fails":   `echo 'npm ERR! network' >&2; exit 1`,
		"no json":     `echo hello`,
		"no version":  `echo '["17.0.0"]'`,
		"no archive":  `case "$1" in view) echo '["18.0.0"]';; esac`,
		"bad archive": `case "$1" in view) echo '["18.0.0"]';; pack) echo rubbish > "$4/x.tgz";; esac`,
	} {
		program(t, filepath.Join(root, "bin/npm"), script)
		if s, err := FetchPortable(t.Context(), "18", dest, &bytes.Buffer{}); err == nil {
			t.Errorf("%s: %v", name, s)
		}
		if left, err := os.ReadDir(dest); err == nil && len(left) != 0 {
			t.Errorf("%s: left %v", name, left)
		}
	}
	if _, err := FetchPortable(t.Context(), "12", dest, &bytes.Buffer{}); err == nil {
		t.Error("version 12 was accepted")
	}
}

// fetchForReal downloads 24 MB; it runs when it is asked for.
const fetchForReal = "PGTLB_TEST_FETCH"

func TestFetchPortable(t *testing.T) {
	if os.Getenv(fetchForReal) == "" {
		t.Skipf("need: the network: set %s=1", fetchForReal)
	}
	dest := filepath.Join(labParent(t), "portable")
	defer os.RemoveAll(dest)
	var out bytes.Buffer
	s, err := FetchPortable(t.Context(), "17", dest, &out)
	if err != nil || s.Major != 17 {
		t.Fatalf("%+v, %v", s, err)
	}
	again, err := FetchPortable(t.Context(), "17", dest, &out)
	if err != nil || again != s {
		t.Errorf("%+v, %v", again, err)
	}
	wantIn(t, out.String(), "there already")
	if left, err := os.ReadDir(dest); err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
	c := startLab(t, Options{Server: s})
	wantIn(t, show(t, c, "SHOW server_version"), s.Version)
}

func TestChooseAccount(t *testing.T) {
	if supported() != nil {
		t.Skip("need: Linux accounts")
	}
	if a, err := chooseAccount("", 1000); err != nil || a != nil {
		t.Errorf("not root: %+v, %v", a, err)
	}
	if a, err := chooseAccount("", 0); err != nil || a == nil || a.UID == 0 {
		t.Errorf("root: %+v, %v", a, err)
	}
	for name, euid := range map[string]int{"root": 0, "no-such-account": 0, "nobody": 1000} {
		if a, err := chooseAccount(name, euid); err == nil {
			t.Errorf("%s for uid %d: %+v", name, euid, a)
		}
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	script := filepath.Join(t.TempDir(), "sleeper")
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan struct{})
	program(t, script, "echo up; sleep 60 & wait")
	go func() { <-started; cancel() }()
	_, err := run(ctx, command{path: script, line: func(string) { close(started) }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
