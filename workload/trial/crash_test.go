//go:build unix

package trial

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"
)

// recordUntilKilled is set in the environment of this test's own program when it is
// to record into that directory until it is killed.
const recordUntilKilled = "PGTLB_TEST_RECORD_UNTIL_KILLED"

func TestKilledInTheMiddleOfAWrite(t *testing.T) {
	if dir := os.Getenv(recordUntilKilled); dir != "" {
		if _, err := recordSynthetic(dir, hour, 30); err != nil {
			t.Fatal(err)
		}
		return
	}
	s := store(t)
	cmd := exec.Command(os.Args[0], "-test.run", "^TestKilledInTheMiddleOfAWrite$")
	cmd.Env = append(os.Environ(), recordUntilKilled+"="+s.Dir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := func() error { return errors.Join(cmd.Process.Kill(), ignoreExit(cmd.Wait())) }
	deadline := time.Now().Add(time.Minute)
	for {
		list, err := s.List()
		if err != nil {
			t.Fatal(errors.Join(err, kill()))
		}
		if len(list) == 1 && list[0].Bytes > 150_000 {
			if !list[0].Recording || list[0].Complete {
				t.Errorf("listed while it is recorded as %+v", list[0])
			}
			_, err := s.Remove(list[0].Name)
			wantError(t, err, "it is being recorded")
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing was recorded within a minute", kill())
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err := kill(); err != nil {
		t.Fatal(err)
	}
	info := mustList(t, s)[0]
	if info.Recording || info.Complete || info.Problem != "" || info.Seconds < 10 {
		t.Errorf("listed after the kill as %+v", info)
	}
	run, err := s.Load("last")
	if err != nil || len(run.Samples) < 10 || len(run.Gaps()) == 0 {
		t.Fatalf("%v, %d samples, gaps %q", err, len(run.Samples), run.Gaps())
	}
	for i := range run.Samples { // nothing but the last tick may be missing
		if run.Samples[i].Seq != uint64(i+1) {
			t.Fatalf("sample %d has number %d", i, run.Samples[i].Seq)
		}
	}
	if _, err := s.Remove("last"); err != nil {
		t.Error(err)
	}
}

// ignoreExit leaves out that a program was killed.
func ignoreExit(err error) error {
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil
	}
	return err
}

func mustList(t *testing.T, s *Store) []RunInfo {
	t.Helper()
	list, err := s.List()
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	return list
}
