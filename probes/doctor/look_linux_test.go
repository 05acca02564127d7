package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"pgtlb/probes"
	"pgtlb/workload/lab"
)

// newestServers lists the newest installed server of each major version.
func newestServers(t *testing.T) []lab.Server {
	t.Helper()
	all, _, err := lab.NewFinder().All(t.Context())
	if err != nil && !errors.Is(err, lab.ErrNoServer) {
		t.Fatal(err)
	}
	var out []lab.Server
	for _, s := range all {
		if !slices.ContainsFunc(out, func(o lab.Server) bool { return o.Major == s.Major }) {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		t.Skip("need: PostgreSQL's server programs (pgtlb setup)")
	}
	return out
}

// TestLookAtARealServer examines this machine with servers whose settings were
// spoilt on purpose.
func TestLookAtARealServer(t *testing.T) {
	for i, server := range newestServers(t) {
		t.Run(strconv.Itoa(server.Major), func(t *testing.T) {
			if testing.Short() && i > 0 {
				t.Skip("need: more time than -short leaves, to repeat it with another server version")
			}
			parent, err := os.MkdirTemp("/tmp", "pgtlb-doctor-") // the server's account may not enter t.TempDir
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := os.Remove(parent); err != nil {
					t.Errorf("the lab left something behind: %v", err)
				}
			}()
			if err := os.Chmod(parent, 0o755); err != nil {
				t.Fatal(err)
			}
			c, err := lab.Start(t.Context(), lab.Options{Server: server, Parent: parent, SharedBuffers: "64MB"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := c.Stop(context.Background()); err != nil {
					t.Error(err)
				}
			}()
			s := checkHealthy(t, c)
			checkSpoilt(t, c)
			checkAsOthers(t, c, s)
		})
	}
}

// connect opens a watching session that ends with the test.
func connect(t *testing.T, c *lab.Cluster) *probes.Server {
	t.Helper()
	cfg, err := pgx.ParseConfig(c.DSN())
	if err != nil {
		t.Fatal(err)
	}
	server, err := probes.Connect(t.Context(), cfg, probes.SystemRoots())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close(context.Background()) }) // the server may be gone before it
	return server
}

// byID runs our checks.
func byID(t *testing.T, s *Snapshot) map[string]Check {
	t.Helper()
	out := map[string]Check{}
	for _, check := range ourChecks(s) {
		wellFormed(t, check)
		out[check.ID] = check
	}
	return out
}

// settingsNow runs our checks over what the server says now, without its machine,
// which would take longer.
func settingsNow(t *testing.T, c *lab.Cluster) map[string]Check {
	t.Helper()
	server := connect(t, c)
	info, err := server.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exam, err := server.Exam(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return byID(t, &Snapshot{Server: &Server{Info: info, Exam: exam}, HostUnknown: "not looked at"})
}

// checkHealthy looks at a lab as pgtlb doctor does.
func checkHealthy(t *testing.T, c *lab.Cluster) Snapshot {
	s, err := Look(t.Context(), Wanted{Tree: "/", Server: connect(t, c)})
	if err != nil {
		t.Fatal(err)
	}
	checks := byID(t, &s)
	p := s.System.Processes
	if p.Postmaster == nil || p.Postmaster.Pid != c.Pid() || p.Children.Count < 4 || len(p.First) == 0 || p.Visible < 6 {
		t.Errorf("processes %+v, the postmaster is %d", p, c.Pid())
	}
	if s.System.Account.UID != p.Postmaster.UID || s.System.Account.Name == "" {
		t.Errorf("account %+v", s.System.Account)
	}
	if s.System.Limits == nil || s.System.Limits.OpenFiles == 0 || s.System.Commit == nil || s.System.UptimeS == 0 || len(s.System.Events) == 0 {
		t.Errorf("system %+v", s.System)
	}
	if s.System.Perf == nil || len(s.System.Perf.Answers) != 10 {
		t.Errorf("perf %+v", s.System.Perf)
	}
	for id, want := range map[string]Status{
		"place": OK, "shared_memory_type": OK, "sysv_shared_memory": NotHere, "semaphores": NotHere, "provider": NotHere,
		"settings_visible": OK, "settings_errors": OK, "settings_pending": OK, "settings_reload": OK,
		"settings_alter_system": OK, "settings_overrides": OK, "connections": OK,
	} {
		if got := checks[id]; got.Status != want {
			t.Errorf("%s is %s, want %s: %s", id, got.Status, want, got.Found)
		}
	}
	return s
}

// storedAsNames has the server store a list as it was, not as one name.
func storedAsNames(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	for _, list := range []string{"pg_stat_statements, auto_explain", `"Odd ""name""", plain`} {
		literal, ok := probes.SettingLiteral("shared_preload_libraries", list)
		if !ok {
			t.Fatalf("no literal for %s", list)
		}
		if _, err := conn.Exec(t.Context(), "ALTER SYSTEM SET shared_preload_libraries = "+literal); err != nil {
			t.Fatal(err)
		}
		var stored string
		const lines = "SELECT setting FROM pg_file_settings WHERE name = 'shared_preload_libraries' ORDER BY seqno DESC LIMIT 1"
		if err := conn.QueryRow(t.Context(), lines).Scan(&stored); err != nil || stored != list {
			t.Errorf("%s is stored as %s, %v", list, stored, err)
		}
	}
	if _, err := conn.Exec(t.Context(), "ALTER SYSTEM RESET shared_preload_libraries"); err != nil {
		t.Fatal(err)
	}
}

func checkSpoilt(t *testing.T, c *lab.Cluster) {
	conn, err := pgx.Connect(t.Context(), c.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, sql := range []string{
		"CREATE DATABASE dwh", "CREATE ROLE etl", "ALTER DATABASE dwh SET work_mem = '1GB'", "ALTER ROLE etl SET random_page_cost = 1.5",
		"ALTER SYSTEM SET max_connections = 77", "ALTER SYSTEM SET shared_buffers = '99MB'", "ALTER SYSTEM SET checkpoint_timeout = '17min'",
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	storedAsNames(t, conn)
	conf := filepath.Join(c.Data(), "postgresql.conf")
	old, err := os.ReadFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	addLines := func(lines string) {
		t.Helper()
		if err := os.WriteFile(conf, append(slices.Clone(old), lines...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	addLines("bgwriter_delay = 150\nbgwriter_delay = 170\nwork_mem = 5MB\nwork_mem = 6MB\ncheckpoint_timeout = 22min\n")
	checks := settingsNow(t, c)
	for id, words := range map[string]string{
		"settings_pending":      "shared_buffers is 64MB, '99MB' in " + filepath.Join(c.Data(), autoConf),
		"settings_reload":       "checkpoint_timeout is 30min, '17min' in ",
		"settings_alter_system": "checkpoint_timeout = '17min' in ",
		"settings_duplicates":   "bgwriter_delay = '150' in " + conf,
		"settings_overrides":    "the database dwh has work_mem = '1GB' (the server 4MB)",
	} {
		want := Warn
		if id == "settings_alter_system" || id == "settings_overrides" { // these inform
			want = OK
		}
		if got := checks[id]; got.Status != want || !strings.Contains(got.Found, words) {
			t.Errorf("%s is %s: %s; want %q", id, got.Status, got.Found, words)
		}
	}
	if o := checks["settings_overrides"]; !strings.Contains(o.Found, "the role etl has random_page_cost = '1.5' (the server 4)") {
		t.Errorf("overrides: %s", o.Found)
	}

	addLines("no_such_name = 1\nshared_buffers = 70MB\n")
	checks = settingsNow(t, c)
	errs := checks["settings_errors"]
	if errs.Status != Fail || !strings.Contains(errs.Found, "no_such_name") {
		t.Errorf("errors: %s %s", errs.Status, errs.Found)
	}
	// While the name stands nothing is applied; what waits is found all the same.
	if got := checks["settings_pending"]; got.Status != Warn || !strings.Contains(got.Found, "'99MB'") {
		t.Errorf("pending: %s %s", got.Status, got.Found)
	}
	// The fix, followed to the letter but for the reload, mends it; the undo brings it back.
	for _, step := range []struct {
		lines []string
		want  Status
	}{{errs.Fix, OK}, {errs.Undo, Fail}} {
		for _, l := range step.lines {
			if !strings.HasPrefix(l, "sed ") {
				continue
			}
			if out, err := exec.Command("sh", "-c", l).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v: %s", l, err, out)
			}
		}
		if checks := settingsNow(t, c); checks["settings_errors"].Status != step.want {
			t.Errorf("after %q: %s", step.lines, checks["settings_errors"].Found)
		}
	}
	addLines("")
}

// checkAsOthers asks the kernel as root, as the server's user and as nobody.
func checkAsOthers(t *testing.T, c *lab.Cluster, s Snapshot) {
	if os.Geteuid() != 0 {
		t.Skip("need: root, to ask as another user")
	}
	paranoid, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
	if err != nil || strings.TrimSpace(string(paranoid)) != "2" {
		t.Skipf("need: kernel.perf_event_paranoid = 2 (is %q, %v)", paranoid, err)
	}
	owner := s.System.Processes.Postmaster.UID
	const nobody = 65534
	for _, who := range []struct {
		uid               int
		software, details string
		softwareStatus    Status
		detailsStatus     Status
	}{
		{0, "may count system wide", "is readable", OK, OK},
		{owner, "counting system wide needs CAP_PERFMON while kernel.perf_event_paranoid is 2", "is readable", Warn, OK},
		{nobody, "counting system wide needs CAP_PERFMON while kernel.perf_event_paranoid is 2", "may not read the memory maps", Warn, Warn},
	} {
		s.System.Perf = askAs(t, who.uid, c.Pid())
		if s.System.Perf.UID != who.uid || s.System.Perf.ServerUID != owner {
			t.Errorf("asked as %d of the server of %d: %+v", who.uid, owner, s.System.Perf)
		}
		if got := checkPerfSoftware(&s); got.Status != who.softwareStatus || !strings.Contains(got.Found, who.software) {
			t.Errorf("uid %d: %s %s", who.uid, got.Status, got.Found)
		}
		if got := checkProcessDetails(&s); got.Status != who.detailsStatus || !strings.Contains(got.Found, who.details) {
			t.Errorf("uid %d: %s %s", who.uid, got.Status, got.Found)
		}
	}
}

// askVar makes the test binary ask the kernel about a process and print the answer.
const askVar = "PGTLB_DOCTOR_ASK"

// askAs runs askPerf in another process, as another user.
func askAs(t *testing.T, uid, postmaster int) *Perf {
	t.Helper()
	exe, err := os.Open("/proc/self/exe") // the path may not be reachable for another user
	if err != nil {
		t.Fatal(err)
	}
	defer exe.Close()
	cmd := exec.Command("/proc/self/fd/3", "-test.run=^TestAskForAnother$")
	cmd.ExtraFiles = []*os.File{exe}
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", askVar, postmaster))
	// The group too: the kernel compares both before it shows a memory map.
	gid := uid
	if account, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		if gid, err = strconv.Atoi(account.Gid); err != nil {
			t.Fatal(err)
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("asking as %d: %v: %s", uid, err, stderr.String())
	}
	line, _, _ := strings.Cut(string(out), "\n")
	var p Perf
	if err := json.Unmarshal([]byte(line), &p); err != nil {
		t.Fatalf("asking as %d printed %q: %v", uid, out, err)
	}
	return &p
}

// TestAskForAnother is the other process of askAs; on its own it does nothing.
func TestAskForAnother(t *testing.T) {
	pid, err := strconv.Atoi(os.Getenv(askVar))
	if err != nil {
		return
	}
	var s Snapshot
	if err := json.NewEncoder(os.Stdout).Encode(askPerf(files{&s, "/"}, pid)); err != nil {
		t.Fatal(err)
	}
}
