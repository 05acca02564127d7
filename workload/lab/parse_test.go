package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgtlb/probes"
)

func TestParsePages(t *testing.T) {
	for in, want := range map[string]Pages{"4kB": Pages4kB, "2MB": Pages2MB, "1GB": Pages1GB, "2 mb": Pages2MB} {
		if got, err := ParsePages(in); err != nil || got != want {
			t.Errorf("%q: %v, %v", in, got, err)
		}
		var back Pages
		if text, err := want.MarshalText(); err != nil || back.UnmarshalText(text) != nil || back != want {
			t.Errorf("%s does not come back", want)
		}
	}
	for _, in := range []string{"", "4", "16MB", "huge"} {
		if got, err := ParsePages(in); err == nil {
			t.Errorf("%q: %v", in, got)
		}
	}
}

func TestParseSize(t *testing.T) {
	for in, want := range map[string]int64{"128MB": 128 << 20, "2GB": 2 << 30, "1.5GB": 3 << 29, "16384": 128 << 20, " 8 kB ": 8192, "1TB": 1 << 40, "8192B": 8192} {
		if got, err := ParseSize(in); err != nil || got != want {
			t.Errorf("%q: %d, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "2gb", "-1MB", "many", "1e9", "99999999999999999999TB"} {
		if got, err := ParseSize(in); err == nil {
			t.Errorf("%q: %d", in, got)
		}
	}
}

func TestPageSettings(t *testing.T) {
	for _, tc := range []struct {
		pages Pages
		major int
		want  string
	}{
		{Pages4kB, 13, "off "}, {Pages4kB, 18, "off "}, {Pages2MB, 13, "on "}, {Pages2MB, 14, "on 2MB"}, {Pages1GB, 18, "on 1GB"},
	} {
		got, err := pageSettings(tc.pages, tc.major, 2048)
		if err != nil || got["huge_pages"]+" "+got["huge_page_size"] != tc.want {
			t.Errorf("%s on %d: %v, %v", tc.pages, tc.major, got, err)
		}
	}
	if got, err := pageSettings(Pages1GB, 13, 2048); err == nil {
		t.Errorf("1 GB on 13: %v", got)
	}
}

func TestInsists(t *testing.T) {
	for _, tc := range []struct {
		user map[string]string
		want Pages
	}{
		{nil, Pages2MB},
		{map[string]string{"huge_pages": "try"}, Pages4kB},
		{map[string]string{"huge_pages": "off"}, Pages4kB},
		{map[string]string{"huge_page_size": "1GB"}, Pages1GB},
		{map[string]string{"huge_page_size": "0"}, Pages2MB},
	} {
		l := layers{page: map[string]string{"huge_pages": "on", "huge_page_size": "2MB"}, user: tc.user}
		if got := l.insists(2048); got != tc.want {
			t.Errorf("%v: %s, want %s", tc.user, got, tc.want)
		}
	}
}

func TestVerify(t *testing.T) {
	if supported() != nil {
		t.Skip("need: procfs")
	}
	r := Roots{Proc: t.TempDir()}
	dir := filepath.Join(r.Proc, "77")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	smaps := "7f10-7f20 rw-s 00000000 00:01 17 %s\nSize: 149504 kB\nKernelPageSize: %d kB\nShmemPmdMapped: %d kB\n"
	for text, want := range map[string]Proof{
		fmt.Sprintf(smaps, "/anon_hugepage (deleted)", 2048, 0): {Pages2MB, 149504, 0, "/anon_hugepage (deleted)", "smaps: KernelPageSize 2048 kB of the shared memory mapping"},
		fmt.Sprintf(smaps, "/dev/zero (deleted)", 4, 4096):      {Pages4kB, 149504, 4096, "/dev/zero (deleted)", "smaps: KernelPageSize 4 kB of the shared memory mapping"},
	} {
		if err := os.WriteFile(filepath.Join(dir, "smaps"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if p, err := Verify(r, 77); err != nil || p != want {
			t.Errorf("%+v, %v; want %+v", p, err, want)
		}
	}
}

func TestReasons(t *testing.T) {
	for name, tc := range map[string]struct{ log, want string }{
		"fatal": {
			"2026-01-01 10:00:00.000 UTC [1] LOG:  starting PostgreSQL 15.18\n2026-01-01 10:00:00.001 UTC [1] FATAL:  could not map anonymous shared memory: Cannot allocate memory\n2026-01-01 10:00:00.002 UTC [1] LOG:  database system is shut down",
			"could not map anonymous shared memory: Cannot allocate memory",
		},
		"configuration file": {
			"LOG:  invalid value for parameter \"x\": \"y\"\nFATAL:  configuration file \"/tmp/z/pgtlb.conf\" contains errors",
			`invalid value for parameter "x": "y"`,
		},
		"no level": {"postgres: error while loading shared libraries: libicu.so", "postgres: error while loading shared libraries: libicu.so"},
		"nothing":  {"", ""},
	} {
		var log []string
		if tc.log != "" {
			log = strings.Split(tc.log, "\n")
		}
		if got := strings.Join(reasons(log), "|"); got != tc.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestMapFailure(t *testing.T) {
	log := []string{
		"2026-11-30 13:43:40.066 UTC [3677] FATAL:  could not map anonymous shared memory: Cannot allocate memory",
		"2026-11-30 13:43:40.066 UTC [3677] HINT:  This error usually means … To reduce the request size (currently 123243331584 bytes), reduce …",
	}
	n, ok := probes.MapFailure(log)
	if !ok || n != 123243331584 || pagesFor(n, Pages2MB) != 58767 {
		t.Errorf("%d, %v, %d pages", n, ok, pagesFor(n, Pages2MB))
	}
	if _, ok := probes.MapFailure(log[1:]); ok {
		t.Error("a hint without its error was taken")
	}
	// A VmPeak of 6490428 kB is 3170 pages, never 3169.
	if got := pagesFor(6490428<<10, Pages2MB); got != 3170 {
		t.Errorf("%d pages", got)
	}
}

func TestInitdbBusError(t *testing.T) {
	for _, e := range map[string]*runError{
		"shell":  {name: "initdb", state: "exit status 1", output: "Bus error (core dumped)\nchild process exited with exit code 135", code: 1},
		"signal": {name: "initdb", state: "exit status 1", output: "child process was terminated by signal 7: Bus error", code: 1},
		"code":   {name: "initdb", state: "exit status 135", code: 135},
	} {
		wantIn(t, explainInitdb(e).Error(), "huge pages", "hugetlb limit")
	}
	other := explainInitdb(&runError{name: "initdb", state: "exit status 1", output: "no space left on device", code: 1}).Error()
	if strings.Contains(other, "huge pages") {
		t.Errorf("any failure is a bus error: %s", other)
	}
}
