package lab

import (
	"errors"
	"strings"
	"testing"
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

const smaps4k = `5581d000-5581e000 r--p 00000000 fe:00 393 /usr/lib/postgresql/15/bin/postgres
Size:                  4 kB
KernelPageSize:        4 kB
7f10-7f20 rw-s 00000000 00:01 1029 /dev/zero (deleted)
Size:             148912 kB
KernelPageSize:        4 kB
MMUPageSize:           4 kB
ShmemPmdMapped:     2048 kB
VmFlags: rd wr sh mr mw me ms sd
7f20-7f21 rw-s 00000000 00:19 2 /dev/shm/PostgreSQL.1804289383
Size:            9999999 kB
KernelPageSize:        4 kB
7f21-7f22 rw-s 00000000 00:01 32768 /SYSV0052e2c1 (deleted)
Size:                  4 kB
KernelPageSize:        4 kB
`

const smaps2M = `7f10-7f20 rw-s 00000000 00:0f 17 /anon_hugepage (deleted)
Size:             149504 kB
KernelPageSize:     2048 kB
MMUPageSize:        2048 kB
7f21-7f22 rw-s 00000000 00:01 32768 /SYSV0052e2c1 (deleted)
Size:                  4 kB
KernelPageSize:        4 kB
`

func TestParseSmaps(t *testing.T) {
	p, err := parseSmaps(strings.NewReader(smaps4k))
	if err != nil || p.Mode != Pages4kB || p.SizeKB != 148912 || p.THPKB != 2048 || p.Mapping != "/dev/zero (deleted)" {
		t.Errorf("%+v, %v", p, err)
	}
	p, err = parseSmaps(strings.NewReader(smaps2M))
	if err != nil || p.Mode != Pages2MB || p.SizeKB != 149504 || p.PageText != "smaps: KernelPageSize 2048 kB of the shared memory mapping" {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := parseSmaps(strings.NewReader("")); !errors.Is(err, ErrNoMapping) {
		t.Errorf("%+v, %v", p, err)
	}
}

func FuzzParseSmaps(f *testing.F) {
	f.Add(smaps4k)
	f.Add(smaps2M)
	f.Fuzz(func(t *testing.T, s string) {
		if p, err := parseSmaps(strings.NewReader(s)); err == nil && (p.SizeKB <= 0 || p.Mode <= 0) {
			t.Errorf("a proof of nothing: %+v", p)
		}
	})
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
	n, ok := parseMapFailure(log)
	if !ok || n != 123243331584 || pagesFor(n, Pages2MB) != 58767 {
		t.Errorf("%d, %v, %d pages", n, ok, pagesFor(n, Pages2MB))
	}
	if _, ok := parseMapFailure(log[1:]); ok {
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
