package trial

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"pgtlb/probes"
)

// formatted are runs of every kind: of an experiment, with a miss, entered by hand.
func formatted(t *testing.T) []*Run {
	t.Helper()
	a, b := published4kB(), published2MB()
	a.misses = []probes.Miss{{ID: probes.ServerTPS, Reason: "the server, \"db1\", does not answer"}}
	b.meta.Step = &StepMeta{Experiment: "pages in march", Factor: "huge_pages", Arm: "2MB", Block: 3}
	hand, err := Read(importedFile(t))
	if err != nil {
		t.Fatal(err)
	}
	return []*Run{a.run(), b.run(), hand}
}

func importedFile(t *testing.T) string {
	t.Helper()
	s := store(t)
	if _, err := s.Import("testdata/byhand/published-4kB.json"); err != nil {
		t.Fatal(err)
	}
	return s.path("published-4kB")
}

func TestCSV(t *testing.T) {
	var out bytes.Buffer
	if err := WriteCSV(&out, formatted(t)); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	col := map[string]int{}
	for i, name := range rows[0] {
		col[name] = i
	}
	sums, missing, byHand := map[string]float64{}, 0, 0
	for _, r := range rows[1:] {
		get := func(name string) string { return r[col[name]] }
		m, ok := probes.Lookup(get("metric"))
		if !ok || get("unit") != rateUnit(m) {
			t.Fatalf("row %q is of no metric", r)
		}
		if (get("value") == "") != (get("missing") != "") {
			t.Fatalf("row %q has a value and a reason why there is none, or neither", r)
		}
		switch {
		case get("missing") == `the server, "db1", does not answer`:
			missing++
		case get("sample") == "":
			byHand++
			if m.ID == probes.PageFaults && (get("growth") != "1397551" || get("covers_s") != "25") {
				t.Errorf("entered by hand: %q", r)
			}
		case get("in_load") == "1" && m.ID == probes.Transactions && get("label") == "point-select":
			v, err := strconv.ParseFloat(get("growth"), 64)
			if err != nil {
				t.Error(err)
			}
			sums[get("run")+" "+get("arm")+" "+get("block")] += v
		}
	}
	near(t, "transactions of the first run", sums["20261130-134512-point-select-4kB  "], 54263*25)
	near(t, "transactions of the second run", sums["20261130-134512-point-select-2MB 2MB 3"], 58564*25)
	if missing == 0 || byHand != 7 {
		t.Errorf("%d rows without a value, %d rows entered by hand", missing, byHand)
	}
}

// A spreadsheet must not take a name for a formula.
func TestCSVHoldsNoFormulas(t *testing.T) {
	for in, want := range map[string]string{"=1+1": "'=1+1", "-x": "'-x", "point-select": "point-select", "": "", "a\x1bb": probes.Clean("a\x1bb")} {
		if got := cleanCell(in); got != want {
			t.Errorf("%q is written as %q, want %q", in, got, want)
		}
	}
}

// The grammar of a line of the OpenMetrics text form, version 1.0.
var (
	omMeta  = regexp.MustCompile(`^# (TYPE|UNIT|HELP) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)$`)
	omPoint = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)\{(.*)\} (\S+) (\d+\.\d+)$`)
	omLabel = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)`)
	omUnit  = regexp.MustCompile(`^[a-zA-Z0-9_:]+$`)
	omText  = regexp.MustCompile(`^(?:[^\\\n]|\\[\\n"])*$`)
)

func TestOpenMetrics(t *testing.T) {
	var out bytes.Buffer
	if err := WriteOpenMetrics(&out, formatted(t)); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(out.String(), "\n# EOF\n") || strings.Count(out.String(), "# EOF") != 1 {
		t.Errorf("it does not end with the one # EOF: …%q", out.String()[max(0, out.Len()-60):])
	}
	family, seen, last := "", map[string]bool{}, map[string]float64{}
	lines := bufio.NewScanner(strings.NewReader(strings.TrimSuffix(out.String(), "# EOF\n")))
	for lines.Scan() {
		text := lines.Text()
		if m := omMeta.FindStringSubmatch(text); m != nil {
			if m[2] != family {
				if seen[m[2]] {
					t.Fatalf("family %s comes twice", m[2])
				}
				family, seen[m[2]] = m[2], true
			}
			switch m[1] {
			case "TYPE":
				if m[3] != "gauge" {
					t.Errorf("%s", text)
				}
			case "UNIT":
				if !omUnit.MatchString(m[3]) || !strings.HasSuffix(family, "_"+m[3]) {
					t.Errorf("unit %q does not end the name %s", m[3], family)
				}
			case "HELP":
				if !omText.MatchString(m[3]) {
					t.Errorf("%s", text)
				}
			}
			continue
		}
		m := omPoint.FindStringSubmatch(text)
		if m == nil || m[1] != family {
			t.Fatalf("line %q is no sample of %s", text, family)
		}
		for rest := m[2]; rest != ""; {
			l := omLabel.FindStringSubmatch(rest)
			if l == nil {
				t.Fatalf("labels %q", m[2])
			}
			rest = rest[len(l[0]):]
		}
		v, err := strconv.ParseFloat(m[3], 64)
		at, errAt := strconv.ParseFloat(m[4], 64)
		if err != nil || errAt != nil || math.IsNaN(v) {
			t.Fatalf("%q: %v, %v", text, err, errAt)
		}
		series := m[1] + m[2]
		if at <= last[series] {
			t.Errorf("%s goes from %v to %v", series, last[series], at)
		}
		last[series] = at
	}
	for line, want := range map[string]float64{
		`pgtlb_page_tables_bytes{arm="2MB",experiment="pages in march",pages="2MB",run="20261130-134512-point-select-2MB",scenario="point-select"}`: 2970 * 1024,
		`pgtlb_dtlb_miss_ratio{pages="4kB",run="published-4kB",scenario="point-select"}`:                                                            0.0273,
		`pgtlb_page_faults_per_second{pages="4kB",run="published-4kB",scenario="point-select"}`:                                                     1397551. / 25,
		`pgtlb_tps{label="point-select",pages="4kB",run="20261130-134512-point-select-4kB",scenario="point-select"}`:                                54263,
	} {
		i := strings.LastIndex(out.String(), line+" ")
		if i < 0 {
			t.Errorf("there is no %s", line)
			continue
		}
		var v float64
		if _, err := fmt.Sscan(out.String()[i+len(line):], &v); err != nil {
			t.Error(err)
		}
		near(t, line, v, want)
	}
}

func TestOpenMetricsNames(t *testing.T) {
	seen := map[string]string{}
	for _, m := range probes.Catalogue() {
		n := openMetricsName(m)
		if !regexp.MustCompile(`^pgtlb_[a-z0-9_]+$`).MatchString(n.name) {
			t.Errorf("%s is named %q", m.ID, n.name)
		}
		if other, twice := seen[n.name]; twice {
			t.Errorf("%s and %s are both named %s", m.ID, other, n.name)
		}
		seen[n.name] = m.ID
	}
}

func TestBenchstat(t *testing.T) {
	var out bytes.Buffer
	if err := WriteBenchstat(&out, formatted(t)); err != nil {
		t.Fatal(err)
	}
	r := benchfmt.NewReader(&out, "runs.txt")
	var got []string
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Error(rec)
		case *benchfmt.Result:
			tps, ok := rec.Value("txn/s")
			if !ok || rec.Iters != 1 {
				t.Errorf("%s has no TPS", rec.Name)
			}
			seen := map[string]bool{}
			for _, v := range rec.Values {
				if seen[v.Unit] {
					t.Errorf("%s has unit %s twice", rec.Name, v.Unit)
				}
				seen[v.Unit] = true
			}
			got = append(got, fmt.Sprintf("%s %.0f %s %s", rec.Name, tps, rec.GetConfig("cpus"), rec.GetConfig("experiment")))
		}
	}
	want := []string{"PointSelect/pages=4kB/clients=8 54263 8 ", "PointSelect/huge_pages=2MB/clients=8 58564 8 pages in march", "PointSelect/pages=4kB/clients=8 54263  "}
	if r.Err() != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("read back as %q, want %q; %v", got, want, r.Err())
	}
	units := r.Units()
	for unit, better := range map[string]string{"txn/s": "higher", "latency-mean-sec": "lower", "page-faults/s": "lower"} {
		if m := units.Get(unit, "better"); m == nil || m.Value != better {
			t.Errorf("unit %s: %+v, want better=%s", unit, m, better)
		}
	}
}
