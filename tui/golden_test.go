package tui

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

var update = flag.Bool("update", false, "write the golden screens anew")

// onTerminal draws a screen on an emulated terminal of its size and returns what
// stands in the cells, without the blanks at line ends.
func onTerminal(t *testing.T, screen string, w, h int) string {
	t.Helper()
	term := vt.NewEmulator(w, h)
	defer term.Close()
	if _, err := term.WriteString(strings.ReplaceAll(screen, "\n", "\r\n")); err != nil {
		t.Fatal(err)
	}
	if n := term.ScrollbackLen(); n != 0 {
		t.Errorf("the frame scrolled the screen by %d lines", n)
	}
	var b strings.Builder
	for y := range h {
		line := ""
		for x := 0; x < w; x++ {
			c := term.CellAt(x, y)
			if c == nil || c.Content == "" {
				line += " "
				continue
			}
			line += c.Content
			x += max(0, c.Width-1)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// golden is a screen after keys.
type golden struct {
	name string
	st   trial.State
	opts Options
	keys []string
}

// goldens are the screens that are compared with testdata.
func goldens() []golden {
	run := demo{seconds: 90, loads: 1}.state()
	compare := demo{seconds: 100, loads: 1, pmu: true, compare: true}.state()
	two := demo{seconds: 90, loads: 2, pmu: true, huge: true}.state()
	narrowed := demo{seconds: 60, pmu: true, mode: trial.Watching}.state()
	narrowed.Counting = probes.CountingScope{Scope: "postmaster 41370 and its children",
		Why: "not system wide: counting system wide needs CAP_PERFMON while kernel.perf_event_paranoid is 1 (setcap cap_perfmon+ep /usr/bin/pgtlb, or sysctl kernel.perf_event_paranoid=0)"}
	for _, id := range []string{probes.CyclesUser, probes.CyclesKernel} {
		m := probes.MustLookup(id)
		m.Scope = narrowed.Counting.Scope
		narrowed.Metrics = append(narrowed.Metrics, m)
	}
	three := demo{seconds: 90, loads: 3}.state()
	five := demo{seconds: 90, loads: 5}.state()
	faulty := run
	faulty.Loads = demoLoads(1, 84*time.Second)
	faulty.Loads[13].Fault = []string{`/home/dba/pay.sql:2:12: unexpected end of expression in command "set"`, `\set x 1 + `, `           ^ error found here`}
	faulty.Loads[12].Status, faulty.Loads[12].Detail = trial.LoadFailed, "connecting: FATAL: sorry, too many clients already"
	allowed := demo{seconds: 30, mode: trial.Watching}.state()
	idle := demo{seconds: 30, mode: trial.Watching}.state()
	idle.Loads = nil
	differ := compare
	base := *compare.Baseline
	base.Differs = []string{"rows 6,000,000 against 1,000,000"}
	differ.Baseline = &base
	question := run
	question.Question = &trial.Question{ID: 1, Text: "Reserve 586 huge pages of 2 MB for the lab server?",
		Detail: []string{"The pool has 512 pages and the server needs 1,098.", "They are given back when pgtlb ends."},
		Yes:    "reserve 586 pages", No: "stay with 4 kB pages"}
	told := run
	told.Notices = []trial.Notice{{At: epoch, Text: "report written to point-select.html"}, {At: epoch, Text: "the pool is 44 pages short", Error: true}}
	changing := run
	changing.Phase, changing.Steps = trial.Changing, preparing().Steps
	replay := demo{seconds: 60, loads: 1, mode: trial.Replaying}.state()
	replay.Replay = &trial.ReplayState{Name: "point-select-4kB", Pos: 60, Total: 120}
	inspected := run
	inspected.Inspected = &trial.Inspected{Pid: 41384, Start: 41384, At: epoch, Took: 12_400_000, Pss: 190_000, Rss: 1_470_000, Private: 3400, Shared: 1_466_600}
	passing, passed, denied, held := inspected, inspected, run, run
	passing.Pass = demoPass(run, 5)
	passed.Pass = demoPass(run, 12)
	denied.Pass = &trial.Pass{Total: 12, Began: epoch, Ended: epoch,
		Denied: "permission denied on /proc/40012/smaps_rollup, which only the process's own user may read (run pgtlb as root or as the server's OS user)"}
	held.Holders = demoHolders()
	return []golden{
		{"load", run, Options{}, nil},
		{"compare", compare, Options{}, nil},
		{"differs", differ, Options{}, nil},
		{"two-loads", two, Options{}, nil},
		{"three-loads", three, Options{}, nil},
		{"five-loads", five, Options{}, nil},
		{"watch-allowed", allowed, Options{}, nil},
		{"watch-idle", idle, Options{}, nil},
		{"replay", replay, Options{}, nil},
		{"ascii", compare, Options{ASCII: true}, nil},
		{"preparing", preparing(), Options{}, nil},
		{"failed", failed(), Options{}, nil},
		{"changing", changing, Options{}, nil},
		{"question", question, Options{}, nil},
		{"notices", told, Options{}, nil},
		{"lost", lostState(), Options{}, nil},
		{"lost-closed", lostState(), Options{}, []string{"esc"}},
		{"frozen", run, Options{}, []string{"space"}},
		{"help", run, Options{}, []string{"?"}},
		{"values", compare, Options{}, []string{"v"}},
		{"scenarios", run, Options{}, []string{"l"}},
		{"scenarios-three", three, Options{}, []string{"l", "down", "down"}},
		{"scenarios-parameters", three, Options{}, []string{"l", "end", "up", "up", "e", "down"}},
		{"scenarios-typing", run, Options{}, []string{"l", "down", "e", "enter", "backspace", "backspace", "5"}},
		{"scenarios-script", run, Options{}, []string{"l", "end", "enter", "/", "t", "m", "p", "/", "a", ".", "s", "q", "l", "@", "3"}},
		{"scenarios-fault", faulty, Options{}, []string{"l", "end"}},
		{"scenarios-failed", faulty, Options{}, []string{"l", "end", "up"}},
		{"pages", run, Options{}, []string{"h", "down"}},
		{"quit", run, Options{}, []string{"q"}},
		{"filter", run, Options{}, []string{"/", "c", "h", "e", "c", "k"}},
		{"zoom-tps", compare, Options{}, []string{"tab", "enter"}},
		{"zoom-walks", two, Options{}, []string{"tab", "tab", "tab", "enter"}},
		{"zoom-narrowed", narrowed, Options{}, []string{"tab", "tab", "tab", "tab", "tab", "enter"}},
		{"zoom-unavailable", run, Options{}, []string{"tab", "tab", "tab", "enter"}},
		{"zoom-table", inspected, Options{}, []string{"enter"}},
		{"zoom-tables", held, Options{}, []string{"shift+tab", "enter"}},
		{"zoom-tables-down", held, Options{}, []string{"shift+tab", "enter", "end"}},
		{"pass", passing, Options{}, []string{"enter"}},
		{"pass-done", passed, Options{}, []string{"enter"}},
		{"pass-denied", denied, Options{}, []string{"enter"}},
		{"connection-cost", run, Options{}, []string{"C"}},
	}
}

func TestGoldenScreens(t *testing.T) {
	for _, g := range slices.Concat(goldens(), experimentGoldens(), doctorGoldens()) {
		for _, size := range [][2]int{{120, 40}, {80, 24}} {
			w, h := size[0], size[1]
			name := fmt.Sprintf("%s-%dx%d", g.name, w, h)
			t.Run(name, func(t *testing.T) {
				got := onTerminal(t, Snapshot(g.st, g.opts, w, h, g.keys...), w, h)
				path := filepath.Join("testdata", name+".txt")
				if *update {
					if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if got != string(want) {
					t.Errorf("the screen differs from %s (go test ./tui -update accepts it):\n%s", path, got)
				}
			})
		}
	}
}
