package perf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// agreement is what agreeHelper writes: the faults it counted and the pages it touched meanwhile.
type agreement struct{ Counted, Touched float64 }

// agreeHelper counts the system's page faults for ten seconds and causes some for about half of that time. It runs
// below perf stat, so perf's window is its own plus the start and end of one process.
func agreeHelper(out io.Writer) error {
	s, _, err := Open(Options{})
	if err != nil {
		return err
	}
	before, _, err := s.Read(nil)
	if err != nil {
		return err
	}
	var res agreement
	for start := time.Now(); time.Since(start) < 10*time.Second; {
		const pages = 2000
		begin := time.Now()
		if err := touchPages(pages); err != nil {
			return err
		}
		res.Touched += pages
		time.Sleep(time.Since(begin))
	}
	after, _, err := s.Read(nil)
	if err != nil {
		return err
	}
	for i, a := range after {
		if a.ID == PageFaults {
			res.Counted, _, _ = Scale(before[i].Per, a.Per)
			return json.NewEncoder(out).Encode(res)
		}
	}
	return fmt.Errorf("no page faults among %d readings", len(after))
}

// TestAgreesWithPerfStat compares with perf stat -a -e page-faults over the same ten seconds: within 1 %.
func TestAgreesWithPerfStat(t *testing.T) {
	if testing.Short() {
		t.Skip("need: ten seconds (not -short)")
	}
	tool, err := exec.LookPath("perf")
	if err != nil {
		t.Skip("need: the perf tool")
	}
	openSoftware(t, Options{})
	cmd := exec.Command(tool, "stat", "-x", ",", "-a", "-e", "page-faults", "/proc/"+strconv.Itoa(os.Getpid())+"/exe")
	cmd.Env = append(os.Environ(), helperVar+"=agree", "LC_ALL=C")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Skipf("need: a perf tool that counts page faults system wide: %v: %s", err, stderr.String())
	}
	var res agreement
	if err := json.Unmarshal(stdout.Bytes(), &res); err != nil {
		t.Fatalf("helper wrote %q: %v", stdout.String(), err)
	}
	text, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), ",")
	theirs, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatalf("perf wrote %q: %v", stderr.String(), err)
	}
	ours := res.Counted
	off := 100 * (ours - theirs) / theirs
	t.Logf("page faults: ours %.0f, perf stat %.0f, off by %.3f %%", ours, theirs, off)
	if ours < res.Touched || math.Abs(off) > 1 {
		t.Errorf("ours %.0f, perf stat %.0f: off by %.3f %%; %.0f pages were touched", ours, theirs, off, res.Touched)
	}
}
