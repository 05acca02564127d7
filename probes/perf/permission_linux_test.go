package perf

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const nobody = 65534

// serverUser stands for the operating system's user of a server.
const serverUser = 65533

// needRoot skips where the test cannot become another user.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("need: root, to open events as another user")
	}
}

// setParanoid sets kernel.perf_event_paranoid for the rest of a test. The lock keeps others who do the same out.
func setParanoid(t *testing.T, level int) {
	t.Helper()
	const path = "/proc/sys/kernel/perf_event_paranoid"
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Skipf("need: the right to set kernel.perf_event_paranoid: %v", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	was, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(os.WriteFile(path, was, 0), f.Close()); err != nil {
			t.Errorf("restoring kernel.perf_event_paranoid: %v", err)
		}
	})
	if err := os.WriteFile(path, []byte(strconv.Itoa(level)), 0); err != nil {
		t.Skipf("need: the right to set kernel.perf_event_paranoid: %v", err)
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

// distributionLevel tells whether the kernel is one of those that give paranoid level 3 a meaning of their own.
func distributionLevel(t *testing.T) bool {
	t.Helper()
	b, err := os.ReadFile("/proc/version")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(b), "Debian") || strings.Contains(string(b), "Ubuntu")
}

// TestPermissionStates opens a server's events and the machine's as root, as the server's user and as nobody, at both
// levels that are usual.
func TestPermissionStates(t *testing.T) {
	needRoot(t)
	server := exec.Command("sleep", "600")
	server.Dir = "/"
	server.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: serverUser, Gid: serverUser}}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	tree := strconv.Itoa(server.Process.Pid)
	for _, level := range []int{2, 3} {
		t.Run(fmt.Sprintf("paranoid %d", level), func(t *testing.T) {
			setParanoid(t, level)
			system := answer{reason: fmt.Sprintf("counting system wide needs CAP_PERFMON while kernel.perf_event_paranoid is %d", level),
				remedy: "setcap cap_perfmon+ep /usr/bin/pgtlb, or sysctl kernel.perf_event_paranoid=0"}
			kernel := answer{reason: fmt.Sprintf("counting in the kernel needs CAP_PERFMON while kernel.perf_event_paranoid is %d", level),
				remedy: "setcap cap_perfmon+ep /usr/bin/pgtlb, or sysctl kernel.perf_event_paranoid=1 for processes of the own user"}
			other := answer{reason: "the server runs as another user (uid 65533, ours is 65534)",
				remedy: "setcap cap_perfmon+ep /usr/bin/pgtlb, or run as the server's user with sysctl kernel.perf_event_paranoid=1"}
			if level == 3 && distributionLevel(t) {
				all := answer{reason: "kernel.perf_event_paranoid is 3: this distribution's kernel then wants CAP_SYS_ADMIN for every event",
					remedy: "sysctl kernel.perf_event_paranoid=2 and setcap cap_perfmon+ep /usr/bin/pgtlb, or run as root"}
				system, kernel, other = all, all, all
			}
			for _, c := range []struct {
				who  string
				uid  uint32
				tree string
				want answer
			}{
				{"root, system wide", 0, "", answer{}},
				{"root, the server", 0, tree, answer{}},
				{"the server's user, system wide", serverUser, "", system},
				{"the server's user, the server", serverUser, tree, kernel},
				{"nobody, system wide", nobody, "", system},
				{"nobody, the server", nobody, tree, other},
				{"nobody, its own processes", nobody, "0", kernel},
			} {
				c.want.check(t, c.who, openAs(t, "open", c.uid, c.tree))
			}
		})
	}
}

// answer is what a user is told about page faults; empty where they open.
type answer struct{ reason, remedy string }

func (a answer) check(t *testing.T, who string, got opened) {
	t.Helper()
	if a.reason == "" {
		if !slices.Contains(got.Events, PageFaults) {
			t.Errorf("%s: page faults do not open: %+v", who, got.Missing)
		}
		return
	}
	m := find(t, got.Missing, PageFaults)
	if m.State != NoPermission || m.Reason != a.reason || m.Remedy != a.remedy {
		t.Errorf("%s: %s: %q, %q; want %q, %q", who, m.State, m.Reason, m.Remedy, a.reason, a.remedy)
	}
	if len(got.Events) == 0 && (!strings.Contains(got.Err, m.Reason) || !strings.Contains(got.Err, m.Remedy)) {
		t.Errorf("%s: the error does not say it: %q", who, got.Err)
	}
	// Hardware events of a machine without counters are not there, whoever asks; where this user may count nothing at
	// all, nothing is known of them.
	if m := got.Missing[slices.IndexFunc(got.Missing, func(m Missing) bool { return m.ID == Instructions })]; m.State == NotCounted {
		t.Errorf("%s: instructions: %+v", who, m)
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
