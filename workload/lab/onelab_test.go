package lab

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestOneLab tries on one lab, in this order, what leaves a running server behind; the last part ends it.
func TestOneLab(t *testing.T) {
	c := startLab(t, Options{Settings: map[string]string{"work_mem": "5MB"}})
	for _, part := range []struct {
		name string
		try  func(*testing.T, *Cluster)
	}{
		{"bad setting leaves the server", badSettingLeavesTheServer},
		{"short pool leaves the server", shortPoolLeavesTheServer},
		{"page size the machine lacks", pageSizeTheMachineLacks},
		{"short pool from the server's log", shortPoolFromTheServersLog},
		{"restart keeps data and forgets the arm", restartKeepsDataAndForgetsTheArm},
		{"crashed lab can be restarted", crashedLabCanBeRestarted},
		{"server that dies", serverThatDies},
	} {
		t.Run(part.name, func(t *testing.T) { part.try(t, c) })
	}
}

func badSettingLeavesTheServer(t *testing.T, c *Cluster) {
	pid := c.Pid()
	for name, ch := range map[string]Change{
		"unknown": {Settings: map[string]string{"no_such_setting": "1"}},
		"value":   {Settings: map[string]string{"work_mem": "lots"}},
		"private": {Settings: map[string]string{"listen_addresses": "*"}},
		"memory":  {Settings: map[string]string{"shared_buffers": "100TB"}},
	} {
		if err := c.Restart(t.Context(), ch, nil); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if c.Pid() != pid || show(t, c, "SHOW work_mem") != "5MB" {
		t.Error("the server was touched")
	}
	// This one the server only notices when it starts for good.
	err := c.Restart(t.Context(), Change{Settings: map[string]string{"shared_preload_libraries": "no_such_library"}}, nil)
	if err == nil {
		t.Fatal("a missing library was accepted")
	}
	wantIn(t, err.Error(), "no_such_library")
	if show(t, c, "SHOW shared_preload_libraries") != "" {
		t.Error("the lab does not run as before")
	}
}

func shortPoolLeavesTheServer(t *testing.T, c *Cluster) {
	pid := c.Pid()
	err := c.Restart(t.Context(), Change{Pages: Pages2MB, Settings: map[string]string{"shared_buffers": impossible(t)}}, nil)
	short := (*ShortPool)(nil)
	if !errors.As(err, &short) || c.Pid() != pid {
		t.Errorf("error %v, pid %d was %d", err, c.Pid(), pid)
	}
}

func pageSizeTheMachineLacks(t *testing.T, c *Cluster) {
	if _, err := ReadPool(Roots{}, Pages1GB); !errors.Is(err, ErrNoPool) {
		t.Skip("need: a machine without 1GB huge pages")
	}
	if _, err := c.Preflight(t.Context(), Pages1GB); !errors.Is(err, ErrNoPool) {
		t.Errorf("preflight: %v", err)
	}
	pid := c.Pid()
	if err := c.Restart(t.Context(), Change{Pages: Pages1GB, Reserve: true}, nil); !errors.Is(err, ErrNoPool) || c.Pid() != pid {
		t.Errorf("restart: %v", err)
	}
}

// The server's own words, of a real server that was not stopped from trying.
func shortPoolFromTheServersLog(t *testing.T, c *Cluster) {
	size := impossible(t)
	l := c.layers
	l.pages, l.buffers = Pages2MB, size
	if err := l.resolve(Roots{}, c.server.Major); err != nil {
		t.Fatal(err)
	}
	c.ops.Lock()
	err := c.halt(t.Context(), nil)
	if err == nil {
		err = c.launch(t.Context(), l, nil)
	}
	c.ops.Unlock()
	short, failed := (*ShortPool)(nil), (*StartError)(nil)
	if !errors.As(err, &short) || !errors.As(err, &failed) {
		t.Fatalf("error %v", err)
	}
	if short.NeedBytes == 0 || short.Need != pagesFor(short.NeedBytes, Pages2MB) {
		t.Errorf("%+v", short)
	}
	wantIn(t, err.Error(), "could not map anonymous shared memory")
	if err := c.Restart(t.Context(), Change{}, nil); err != nil {
		t.Fatal(err)
	}
	wantMode(t, c, Pages4kB)
}

func restartKeepsDataAndForgetsTheArm(t *testing.T, c *Cluster) {
	execute(t, c, "CREATE UNLOGGED TABLE kept AS SELECT 42 AS n")
	if err := c.Restart(t.Context(), Change{Settings: map[string]string{"work_mem": "6MB", "max_connections": "50"}}, nil); err != nil {
		t.Fatal(err)
	}
	if got := show(t, c, "SHOW work_mem") + show(t, c, "SHOW max_connections"); got != "6MB50" {
		t.Errorf("with the arm: %s", got)
	}
	if err := c.Restart(t.Context(), Change{}, nil); err != nil {
		t.Fatal(err)
	}
	if got := show(t, c, "SHOW work_mem") + show(t, c, "SHOW max_connections"); got != "5MB1100" {
		t.Errorf("without the arm: %s", got)
	}
	if got := show(t, c, "SELECT n::text FROM kept"); got != "42" {
		t.Errorf("table holds %s", got)
	}
	select {
	case <-c.Done():
		t.Error("Done fired although the server was asked to stop")
	default:
	}
}

func crashedLabCanBeRestarted(t *testing.T, c *Cluster) {
	old := c.Done()
	if err := syscall.Kill(c.Pid(), syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	<-old
	if err := c.Restart(t.Context(), Change{}, nil); err != nil {
		t.Fatal(err)
	}
	if c.Err() != nil || c.Done() == old || show(t, c, "SELECT 'up'") != "up" {
		t.Error("the lab did not come back")
	}
}

func serverThatDies(t *testing.T, c *Cluster) {
	if err := syscall.Kill(c.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.Done():
	case <-time.After(time.Minute):
		t.Fatal("nobody noticed")
	}
	if err := c.Err(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("reason %v", err)
	}
	if c.Pid() != 0 {
		t.Errorf("pid %d", c.Pid())
	}
	shm := c.mark.Residue
	if len(shm.Shm) == 0 || shm.SysV < 0 {
		t.Errorf("nothing noted of what the server holds in the kernel: %+v", shm)
	}
	if err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for path := range shm.Shm {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("left behind: %s", path)
		}
	}
}
