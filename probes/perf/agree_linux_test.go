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

// windows are the page faults of three windows over the same ten seconds, each inside of the next: the helper's, perf
// stat's and that of the test around both.
type windows struct{ inner, theirs, outer, touched float64 }

// TestAgreesWithPerfStat compares with perf stat -a -e page-faults over the same ten seconds: within 1 %. On a busy
// machine the start of perf and of the helper takes long enough for more faults than that to lie between the windows,
// so what is demanded each time is a count between those of our two windows, give or take 1 %.
func TestAgreesWithPerfStat(t *testing.T) {
	if testing.Short() {
		t.Skip("need: ten seconds (not -short)")
	}
	tool, err := exec.LookPath("perf")
	if err != nil {
		t.Skip("need: the perf tool")
	}
	for range 3 {
		w := perfStat(t, tool)
		t.Logf("page faults: ours %.0f to %.0f, perf stat %.0f", w.inner, w.outer, w.theirs)
		if w.inner < w.touched || w.theirs < 0.99*w.inner || w.theirs > 1.01*w.outer {
			t.Fatalf("ours %.0f to %.0f, perf stat %.0f; %.0f pages were touched", w.inner, w.outer, w.theirs, w.touched)
		}
		if math.Abs(w.inner-w.theirs) <= 0.01*w.theirs {
			return
		}
	}
}

func perfStat(t *testing.T, tool string) windows {
	t.Helper()
	around := openSoftware(t, Options{})
	before := systemFaults(t, around)
	cmd := exec.Command(tool, "stat", "-x", ",", "-a", "-e", "page-faults", "/proc/"+strconv.Itoa(os.Getpid())+"/exe")
	cmd.Env = append(os.Environ(), helperVar+"=agree", "LC_ALL=C")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Skipf("need: a perf tool that counts page faults system wide: %v: %s", err, stderr.String())
	}
	w := windows{outer: systemFaults(t, around) - before}
	var res agreement
	if err := json.Unmarshal(stdout.Bytes(), &res); err != nil {
		t.Fatalf("helper wrote %q: %v", stdout.String(), err)
	}
	w.inner, w.touched = res.Counted, res.Touched
	text, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), ",")
	var err error
	if w.theirs, err = strconv.ParseFloat(text, 64); err != nil {
		t.Fatalf("perf wrote %q: %v", stderr.String(), err)
	}
	return w
}

// systemFaults is the count of page faults of all CPUs since the set was opened.
func systemFaults(t *testing.T, s *Set) float64 {
	t.Helper()
	readings, _, err := s.Read(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range readings {
		if r.ID == PageFaults {
			var sum float64
			for _, c := range r.Per {
				sum += float64(c.Value)
			}
			return sum
		}
	}
	t.Fatalf("no page faults among %d readings", len(readings))
	return 0
}
