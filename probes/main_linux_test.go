package probes_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// helperVariable names what the test program does in place of its tests, when a
// test runs it again with less rights or in another namespace.
const helperVariable = "PGTLB_TEST_HELPER"

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(helperVariable) {
	case "":
		code := m.Run()
		if err := programs.Remove(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		os.Exit(code)
	case "holders":
		err = printHolders()
	case "server":
		err = printServer()
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// nobody is an account that owns nothing of a test.
const nobody = 65534

// helper is the test program in a directory that every account may enter.
func helper(t *testing.T, do string) *exec.Cmd {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "pgtlb-helper-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	program := filepath.Join(dir, "helper")
	to, err := os.OpenFile(program, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, self); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), helperVariable+"="+do)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	return cmd
}

// asNobody runs the helper as an account without rights and returns what it printed.
func asNobody(t *testing.T, do string, env ...string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("need: root, to change the account")
	}
	cmd := helper(t, do)
	cmd.Env = append(cmd.Env, env...)
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s as nobody: %v\n%s", do, err, out)
	}
	return string(out)
}
