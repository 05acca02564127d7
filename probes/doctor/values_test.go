package doctor

import (
	"math"
	"strings"
	"testing"

	"pgtlb/probes"
)

// TestSameValue has what a file may say against what pg_settings says.
func TestSameValue(t *testing.T) {
	set := func(kind, unit string) probes.ExamSetting { return probes.ExamSetting{Type: kind, Unit: unit} }
	for _, c := range []struct {
		set    probes.ExamSetting
		inUnit string
		text   string
		want   bool
	}{
		{set("integer", "8kB"), "16384", "128MB", true},
		{set("integer", "8kB"), "16384", "16384", true},
		{set("integer", "8kB"), "16384", "131072kB", true},
		{set("integer", "8kB"), "16384", "129MB", false},
		{set("integer", "kB"), "4096", "4MB", true},
		{set("integer", "kB"), "4096", " 4 MB ", true},
		{set("integer", "kB"), "4096", "4194304B", true},
		{set("integer", "kB"), "4096", "4mb", false}, // the server refuses it
		{set("integer", "MB"), "1024", "1GB", true},
		{set("integer", "s"), "300", "5min", true},
		{set("integer", "s"), "300", "300000ms", true},
		{set("integer", "ms"), "-1", "-1", true},
		{set("integer", "ms"), "250", "0.25s", true},
		{set("integer", "min"), "1440", "1d", true},
		{set("integer", ""), "100", "0x64", true},
		{set("integer", ""), "100", "100MB", false},
		{set("integer", ""), "100", "many", false},
		{set("real", ""), "1.1", "1.10", true},
		{set("real", ""), "4", "1.1", false},
		{set("real", "ms"), "2", "2000us", true},
		{set("bool", ""), "on", "true", true},
		{set("bool", ""), "on", "T", true},
		{set("bool", ""), "off", "no", true},
		{set("bool", ""), "off", "1", false},
		{set("bool", ""), "off", "maybe", false},
		{set("enum", ""), "try", "TRY", true},
		{set("enum", ""), "on", "true", true},
		{set("enum", ""), "try", "on", false},
		{set("string", ""), "%m [%p] ", "%m [%p] ", true},
		{set("string", ""), "%m [%p] ", "%m [%p]", false},
	} {
		if got := sameValue(c.set, c.inUnit, c.text); got != c.want {
			t.Errorf("%+v: %q and %q: %v", c.set, c.inUnit, c.text, got)
		}
	}
}

func TestQuoting(t *testing.T) {
	for in, want := range map[string]string{"app": "app", "App": `"App"`, "a-b": `"a-b"`, `a"b`: `"a""b"`, "1a": `"1a"`, "a1_": "a1_", "": `""`, "user": `"user"`} {
		if got := ident(in); got != want {
			t.Errorf("ident(%q) = %s, want %s", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"SELECT 1":      `psql -c "SELECT 1"`,
		"SELECT '$1'":   `psql -c 'SELECT '\''$1'\'''`,
		`ALTER "x" '!'`: `psql -c 'ALTER "x" '\''!'\'''`,
	} {
		if got := psql(in); got != want {
			t.Errorf("psql(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestContainerOf(t *testing.T) {
	for _, c := range []struct {
		group, systemd       string
		docker, podman, kube bool
		want                 string
	}{
		{group: "0::/user.slice\n"},
		{group: "0::/\n", docker: true, want: "docker"},
		{group: "12:pids:/docker/0123\n", want: "docker"},
		{group: "0::/\n", podman: true, want: "podman"},
		{group: "0::/machine.slice/libpod-0123.scope\n", want: "podman"},
		{group: "0::/kubepods.slice/kubepods-burstable.slice/x\n", docker: true, want: "kubernetes"},
		{group: "0::/\n", kube: true, want: "kubernetes"},
		{group: "0::/\n", systemd: "lxc", want: "lxc"},
		{group: "0::/lxc.payload.ct\n", want: "lxc"},
	} {
		if got := containerOf(parseGroups(c.group), c.systemd, c.docker, c.podman, c.kube); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestSemaphoresNeeded has the manual's sum before 18 and the server's own word since.
func TestSemaphoresNeeded(t *testing.T) {
	rows := []probes.ExamSetting{{Name: "max_connections", Setting: "200"}, {Name: "autovacuum_max_workers", Setting: "3"},
		{Name: "max_wal_senders", Setting: "10"}, {Name: "max_worker_processes", Setting: "8"}}
	s := &Snapshot{Server: &Server{Exam: probes.ServerExam{Settings: rows}}}
	if n, _ := semaphoresNeeded(s); n != 228 {
		t.Errorf("%d semaphores", n)
	}
	s.Server.Exam.Settings = append(rows, probes.ExamSetting{Name: "num_os_semaphores", Setting: "177"})
	if n, how := semaphoresNeeded(s); n != 177 || how != "num_os_semaphores" {
		t.Errorf("%d semaphores by %s", n, how)
	}
}

func FuzzParseStatus(f *testing.F) {
	f.Add("Name:\tpostgres\nPid:\t12\nPPid:\t1\nUid:\t26\t26\t26\t26\nVmRSS:\t  100 kB\nVmSwap:\t 0 kB\n")
	f.Add("Name:\t\nPid:\t-1\n")
	f.Add("Uid:\t1\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, ok := parseStatus(text)
		if ok && (p.Pid <= 0 || !strings.Contains(text, "Uid:")) {
			t.Fatalf("%q gives %+v", text, p)
		}
		if probes.Clean(p.Name) != p.Name {
			t.Fatalf("the name %q is not clean", p.Name)
		}
	})
}

func FuzzParseMount(f *testing.F) {
	f.Add("shm /dev/shm tmpfs rw,size=65536k 0 0\n")
	f.Add("tmpfs /dev/shm tmpfs rw,size=9999999999999999999g 0 0\n")
	f.Add("tmpfs /dev/shm tmpfs\n")
	f.Fuzz(func(t *testing.T, text string) {
		m := parseMount(text, "/dev/shm")
		if m != nil && !strings.Contains(text, "/dev/shm") {
			t.Fatalf("%q gives %+v", text, m)
		}
	})
}

func FuzzParseSizeKB(f *testing.F) {
	for s, want := range map[string]uint64{"65536k": 65536, "2g": 2 << 20, "64M": 64 << 10, "1048576": 1024} {
		if got, ok := parseSizeKB(s); !ok || got != want {
			f.Errorf("%q gives %d, %v", s, got, ok)
		}
		f.Add(s)
	}
	f.Add("")
	f.Add("kk")
	f.Fuzz(func(t *testing.T, s string) {
		if kb, ok := parseSizeKB(s); ok && kb > 1<<53 {
			t.Fatalf("%q gives %d kB", s, kb)
		}
	})
}

func FuzzQuantity(f *testing.F) {
	for _, s := range []string{"128MB", "1.5GB", "0x10", "5 min", "-1", "", ".", "1e5kB", "９MB"} {
		f.Add(s, "kB")
	}
	f.Fuzz(func(t *testing.T, text, unit string) {
		v, ok := quantity(text, unit)
		if ok && math.IsNaN(v) {
			t.Fatalf("%q in %q is no number", text, unit)
		}
	})
}
