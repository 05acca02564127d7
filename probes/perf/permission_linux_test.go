package perf

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const nobody = 65534

// needRoot skips where the test cannot become another user, or where the kernel lets anybody count.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("need: root, to open events as another user")
	}
	if n, err := readInt("/proc/sys/kernel/perf_event_paranoid"); err != nil || n != 2 {
		t.Skipf("need: kernel.perf_event_paranoid = 2 (is %d, %v)", n, err)
	}
}

func find(t *testing.T, missing []Missing, id string) Missing {
	t.Helper()
	i := slices.IndexFunc(missing, func(m Missing) bool { return m.ID == id })
	if i < 0 {
		t.Fatalf("%s is not among the missing: %+v", id, missing)
	}
	return missing[i]
}

func TestUnprivilegedSystemWide(t *testing.T) {
	needRoot(t)
	got := openAs(t, "open", nobody, "")
	m := find(t, got.Missing, PageFaults)
	if m.State != NoPermission || !strings.Contains(m.Reason, "system wide") ||
		m.Remedy != "setcap cap_perfmon+ep /usr/bin/pgtlb, or sysctl kernel.perf_event_paranoid=0" {
		t.Errorf("page faults: %+v", m)
	}
	if !strings.Contains(got.Err, m.Reason) || !strings.Contains(got.Err, m.Remedy) {
		t.Errorf("the error does not say it: %q", got.Err)
	}
}

func TestUnprivilegedOwnTree(t *testing.T) {
	needRoot(t)
	got := openAs(t, "open", nobody, "0")
	m := find(t, got.Missing, PageFaults)
	if m.State != NoPermission || !strings.Contains(m.Reason, "counting in the kernel") ||
		!strings.Contains(m.Remedy, "sysctl kernel.perf_event_paranoid=1") {
		t.Errorf("page faults: %+v", m)
	}
}

func TestUnprivilegedTreeOfAnother(t *testing.T) {
	needRoot(t)
	got := openAs(t, "open", nobody, fmt.Sprint(os.Getpid()))
	m := find(t, got.Missing, PageFaults)
	if m.State != NoPermission || !strings.Contains(m.Reason, "another user (uid 0, ours is 65534)") {
		t.Errorf("page faults: %+v", m)
	}
}

func TestSeccomp(t *testing.T) {
	got := openAs(t, "seccomp", 0, "")
	m := find(t, got.Missing, PageFaults)
	if m.State != NoPermission || !strings.Contains(m.Reason, "seccomp") || !strings.Contains(got.Err, "seccomp") {
		t.Errorf("page faults: %+v, error %q", m, got.Err)
	}
}

// The facts come from the injected root; only cycles:u and cycles:k ask the running kernel.
func TestFactsOfFixture(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"proc/sys/kernel/perf_event_paranoid": "4\n",
		"proc/sys/kernel/cap_last_cap":        "40\n",
		"proc/self/status":                    "Name:\tpgtlb\nCapEff:\t0000004000000000\nSeccomp:\t2\n",
		"proc/self/uid_map":                   "         0     100000      65536\n",
		"proc/55/status":                      "Name:\tpostgres\nUid:\t26\t27\t26\t26\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	events, _ := catalogue(CPU{})
	f := readFacts(Options{Root: root, Scope: Tree(55)}, events)
	if f.Paranoid != 4 || f.NoSysctl || f.LastCap != 40 || !f.has(capPerfmon) || f.has(capSysAdmin) ||
		f.Seccomp != seccompFilter || !f.UserNS || f.TargetUID != 27 || f.privileged() {
		t.Errorf("facts %+v", f)
	}
	if f.Binary == "" || f.Binary == "pgtlb" {
		t.Errorf("binary %q", f.Binary)
	}
	if f := readFacts(Options{Root: t.TempDir()}, nil); !f.NoSysctl || f.CyclesUser != unix.ENOENT {
		t.Errorf("facts of an empty root: %+v", f)
	}
}
