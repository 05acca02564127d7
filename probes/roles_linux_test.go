package probes_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgtlb/probes"
	"pgtlb/workload/lab"
)

// TestEveryProcessHasARole: a server with as many kinds of processes as one
// machine can give it.
func TestEveryProcessHasARole(t *testing.T) {
	for i, s := range servers(t) {
		t.Run(strconv.Itoa(s.Major), func(t *testing.T) {
			if testing.Short() && i > 0 {
				t.Skip("need: more time than -short leaves, to repeat it with another server version")
			}
			checkEveryRole(t, s)
		})
	}
}

func checkEveryRole(t *testing.T, server lab.Server) {
	settings := map[string]string{"wal_level": "logical", "max_wal_senders": "4", "archive_mode": "on", "archive_command": "true",
		"shared_preload_libraries": "pg_prewarm", "cluster_name": "roles: all"}
	want := []string{"postmaster", "checkpointer", "bgwriter", "walwriter", "autovacuum launcher", "logical launcher", "archiver",
		"autoprewarm leader", "walsender", "logical worker", "parallel worker", "client"}
	switch {
	case server.Major >= 18:
		settings["summarize_wal"] = "on"
		want = append(want, "walsummarizer", "io worker")
	case server.Major >= 17:
		settings["summarize_wal"] = "on"
		want = append(want, "walsummarizer")
	case server.Major < 15:
		want = append(want, "stats collector")
	}
	c := startLab(t, lab.Options{Server: server, Settings: settings})
	cfg := config(t, c.DSN())
	admin := client(t, cfg, "roles")
	run(t, admin, "CREATE TABLE told (a int)")
	run(t, admin, "CREATE PUBLICATION told FOR TABLE told")
	run(t, admin, "SELECT pg_create_logical_replication_slot('told', 'pgoutput')")
	run(t, admin, fmt.Sprintf("CREATE SUBSCRIPTION told CONNECTION 'host=%s port=%d user=%s dbname=%s' PUBLICATION told WITH (create_slot = false, slot_name = 'told', copy_data = false)",
		cfg.Host, cfg.Port, cfg.User, cfg.Database))
	force := "force_parallel_mode"
	if server.Major >= 16 {
		force = "debug_parallel_query"
	}
	busy := client(t, cfg, "parallel")
	run(t, busy, "SET "+force+" = on")
	ctx, stop := context.WithCancel(t.Context())
	asleep := make(chan struct{})
	go func() {
		defer close(asleep)
		_, _ = busy.Exec(ctx, "SELECT pg_sleep(60)") // ends by being cancelled
	}()
	defer func() { stop(); <-asleep }()

	p, _ := openBackends(t, watch(t, cfg, probes.SystemRoots()))
	var roles []string
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		roles = nil
		for _, r := range read(t, p).Backends {
			roles = append(roles, r.Role)
		}
		if !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(roles, w) }) {
			break
		}
	}
	for _, w := range want {
		if !slices.Contains(roles, w) {
			t.Errorf("no %s among %v", w, roles)
		}
	}
	b := read(t, p)
	for _, r := range b.Backends {
		if r.Role == "" || r.Role == probes.RoleOther || r.Mem == nil || r.Use == nil {
			t.Errorf("%+v", r)
		}
	}
	checkAllChildren(t, b, c.Pid())
}

// checkAllChildren looks that each child of the postmaster has a row.
func checkAllChildren(t *testing.T, b probes.Batch, postmaster int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", postmaster, postmaster))
	if err != nil {
		t.Skipf("need: a kernel that lists a process's children (%v)", err)
	}
	for _, f := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(b.Backends, func(r probes.Backend) bool { return r.Pid == pid }) {
			title, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if err == nil { // else it has ended
				t.Errorf("process %d (%s) has no row", pid, strings.TrimRight(string(title), "\x00"))
			}
		}
	}
}
