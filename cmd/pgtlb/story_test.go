package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgtlb/probes"
	"pgtlb/workload/lab/labtest"
	"pgtlb/workload/trial"
)

// labBindir has the programs of debianBindir, with an initdb that soon ends.
func labBindir(t *testing.T) string {
	t.Helper()
	return programs.Of(t, debianBindir(t))
}

// debianBindir is where the set-up command installs PostgreSQL on Debian.
func debianBindir(t *testing.T) string {
	t.Helper()
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(dirs) == 0 {
		t.Skip("need: PostgreSQL below /usr/lib/postgresql (pgtlb setup -y on Debian)")
	}
	return filepath.Dir(dirs[0])
}

// needPool skips the test where no huge page pool can be had.
func needPool(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("need: root, to reserve huge pages")
	}
	if _, err := os.Stat("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"); err != nil {
		t.Skip("need: a kernel with 2 MB huge pages")
	}
}

func poolSize(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// seconds returns how long the scenario of a key has run, from the header.
func secondsOf(screen string, key int, name string) int {
	m := regexp.MustCompile(`● ` + strconv.Itoa(key) + ` ` + name + ` \d+ clients (\d+):(\d\d)`).FindStringSubmatch(screen)
	if m == nil {
		return -1
	}
	min, _ := strconv.Atoi(m[1])
	sec, _ := strconv.Atoi(m[2])
	return 60*min + sec
}

// runFor waits until the scenario of a key has run for some seconds.
func (s *screen) runFor(key int, name string, seconds int) {
	s.t.Helper()
	s.waitFor(name+" running for "+strconv.Itoa(seconds)+" s", func(text string) bool { return secondsOf(text, key, name) >= seconds })
}

// factor reads the "÷27" that stands behind a title on the screen; 0 without one.
func factor(text, title string) float64 {
	m := regexp.MustCompile(title + `[^÷\n]*÷([\d.,]+)`).FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(m[1], ",", ""), 64)
	if err != nil {
		return 0
	}
	return f
}

// TestStory is the main job, by the keys, on a real server: a run with 4 kB
// pages as the baseline, the same with 2 MB pages, the comparison, the report.
func TestStory(t *testing.T) {
	if testing.Short() {
		t.Skip("need: more time than -short leaves")
	}
	bindir := debianBindir(t)
	needPool(t)
	labtest.Pools(t)
	pool := poolSize(t)
	box := newSandbox(t)
	s := box.open(120, 40, "lab", "--rows", "6000000", "--shared-buffers", "2GB", "--pg-bindir", bindir)

	s.waitText("initdb") // the steps show from the first moment
	s.runFor(1, "point-select", 2)
	text := s.waitText("PostgreSQL 1", "pages 4 kB in use", "postmaster")
	for _, pane := range []string{"TPS", "Latency", "dTLB", "Page faults", "CPU time", "Page tables", "Backends"} {
		if !strings.Contains(text, pane) {
			t.Errorf("no pane %s on the screen:\n%s", pane, text)
		}
	}
	s.press("2")
	s.runFor(2, "join-aggregate", 2)
	s.press("2")
	s.waitText("○ 2 join-aggregate")
	s.press("1")
	s.waitText("○ 1 point-select")
	s.press("1")
	s.runFor(1, "point-select", 8)
	s.press("1")
	s.waitText("○ 1 point-select")
	s.press("b")
	s.waitText("baseline saved")

	s.press("h")
	s.waitText("Pages of shared memory")
	s.press("\x1b[B\r") // one down: 2 MB
	s.waitText("Reserve", "huge pages")
	s.press("y")
	s.waitText("pages 2 MB in use")
	s.waitText("○ 1 point-select")
	s.press("1")
	s.runFor(1, "point-select", 8)
	s.press("c")
	s.waitFor("page faults and the largest page table at least tenfold smaller", func(text string) bool {
		return strings.Contains(text, "compare ON") &&
			factor(text, "Server faults") >= 10 && factor(text, "largest backend") >= 10
	})
	s.press("1")
	s.waitText("○ 1 point-select")
	s.press("e")
	s.waitText("report:")
	s.press("q")
	if code := s.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	box.nothingLeft()
	if got := poolSize(t); got != pool {
		t.Errorf("the pool has %s pages, %s before", got, pool)
	}
	checkReport(t, box)
}

// checkReport reads what e wrote: page tables and page faults must have fallen
// at least tenfold, in the JSON and in the words of the Markdown.
func checkReport(t *testing.T, box *sandbox) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(box.work, "pgtlb-*"))
	if len(files) != 3 {
		t.Fatalf("report files: %v, want md, html and json", files)
	}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", f, info.Mode())
		}
	}
	rows := reportRows(t, box)
	for _, id := range []string{probes.PageTableMaxBackend, probes.ServerPageFaults} {
		r, ok := rows[id]
		if !ok {
			t.Errorf("the report has no row for %s", id)
			continue
		}
		if r.base < 10*r.cand {
			t.Errorf("%s: %v with 4 kB pages, %v with 2 MB: less than tenfold", id, r.base, r.cand)
		}
		t.Logf("%s: %v with 4 kB pages, %v with 2 MB", id, r.base, r.cand)
	}
}

type reportRow struct{ base, cand float64 }

func reportRows(t *testing.T, box *sandbox) map[string]reportRow {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(box.work, "pgtlb-*.json"))
	if len(files) != 1 {
		t.Fatalf("JSON reports: %v", files)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var doc trial.Report
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Comparison == nil {
		t.Fatal("the report compares nothing")
	}
	rows := map[string]reportRow{}
	for _, r := range doc.Comparison.Rows {
		if r.Base.Center != nil && r.Cand.Center != nil {
			rows[r.Metric] = reportRow{*r.Base.Center, *r.Cand.Center}
		}
	}
	return rows
}
