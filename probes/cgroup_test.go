package probes

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Lines of /proc/self/mountinfo: version 2 alone, as systemd mounts it; both versions; a container that sees its own
// part of the hierarchy.
const (
	onlyV2  = "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	both    = "30 24 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n31 24 0:28 / /sys/fs/cgroup/perf_event rw - cgroup cgroup rw,perf_event\n"
	insideA = "700 690 0:28 /docker/4f2a /sys/fs/cgroup/perf_event ro - cgroup cgroup rw,perf_event\n"
)

func TestCgroupDir(t *testing.T) {
	for _, c := range []struct {
		name, mounts, path string
		old                bool
		dir                string
	}{
		{"a service", onlyV2, "/system.slice/postgresql@15-main.service", false, "/sys/fs/cgroup/system.slice/postgresql@15-main.service"},
		{"the root", onlyV2, "/", false, "/sys/fs/cgroup"},
		{"version 1", both, "/docker/4f2a", true, "/sys/fs/cgroup/perf_event/docker/4f2a"},
		{"version 2 beside version 1", both, "/docker/4f2a", false, "/sys/fs/cgroup/unified/docker/4f2a"},
		{"in its container", insideA, "/docker/4f2a/pg", true, "/sys/fs/cgroup/perf_event/pg"},
		{"another container, from inside of one", insideA, "/docker/4f2ab", true, ""},
		{"outside of our namespace", onlyV2, "/../system.slice/postgresql.service", false, ""},
		{"no such hierarchy", onlyV2, "/docker/4f2a", true, ""},
		{"no mounts", "", "/", false, ""},
	} {
		dir, ok := cgroupDir(c.mounts, c.path, c.old)
		if dir != c.dir || ok != (c.dir != "") {
			t.Errorf("%s: %q, %v; want %q", c.name, dir, ok, c.dir)
		}
	}
}

func FuzzCgroupDir(f *testing.F) {
	f.Add(onlyV2, "/a", false)
	f.Fuzz(func(t *testing.T, mounts, path string, old bool) {
		if dir, ok := cgroupDir(mounts, path, old); ok && dir == "" {
			t.Error("found without a directory")
		}
	})
}

func TestFindCgroup(t *testing.T) {
	for _, c := range []struct {
		name, server, own string
		whole, ours       bool
	}{
		{"apart", "0::/system.slice/pg.service\n", "0::/user.slice/session-3.scope\n", false, false},
		{"the same", "0::/user.slice\n", "0::/user.slice\n", false, true},
		{"below the server's", "0::/user.slice\n", "0::/user.slice/session-3.scope\n", false, true},
		{"a name that begins alike", "0::/user\n", "0::/user.slice\n", false, false},
		{"the root", "0::/\n", "0::/user.slice\n", true, true},
		{"version 1", "4:cpu,perf_event:/pg\n0::/\n", "4:cpu,perf_event:/me\n0::/\n", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			roots := Roots{Proc: filepath.Join(t.TempDir(), "proc"), Sys: "/snapshot/sys"}
			mounts := onlyV2
			if c.name == "version 1" {
				mounts = both
			}
			for path, text := range map[string]string{"77/cgroup": c.server, "self/cgroup": c.own, "self/mountinfo": mounts} {
				file := roots.ProcPath(path)
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			got, err := findCgroup(roots, 77)
			if err != nil || got.whole != c.whole || got.ours != c.ours {
				t.Fatalf("%+v, %v", got, err)
			}
			if rel, err := filepath.Rel("/snapshot/sys/fs/cgroup", got.dir); err != nil || rel[0] == '.' && !c.whole {
				t.Errorf("directory %s is not below the injected root", got.dir)
			}
			if hasOwnCgroup(roots, 77) != (!c.whole && !c.ours) {
				t.Error("wrong about a cgroup of its own")
			}
			if _, err := findCgroup(roots, 78); !errors.Is(err, ErrUnavailable) {
				t.Errorf("a process that is not there: %v", err)
			}
		})
	}
}
