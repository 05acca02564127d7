package trial

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgtlb/probes"
)

// listed makes runs of no experiment with these TPS and a latency of 1000/TPS.
func listed(name string, tps []float64, change ...func(*Meta)) ArmRuns {
	arm := ArmRuns{Name: name}
	for i, v := range tps {
		arm.Runs = append(arm.Runs, handRun(name+"-"+string(rune('a'+i)), map[string]float64{probes.TPS: v, probes.LatencyMean: 1000 / v}, change...))
	}
	return arm
}

func TestUnderAGivenRateLatencyIsTheQuestion(t *testing.T) {
	rate := func(m *Meta) { m.Loads[0].Rate = 100 }
	a, b := []float64{100, 101, 102, 103}, []float64{110, 111, 112, 113}
	if c := mustCompare(t, listed("a", a, rate), listed("b", b, rate)); !rowOf(t, c, probes.LatencyMean).Primary || rowOf(t, c, probes.TPS).Primary {
		t.Error(c.Sentence)
	}
	if c := mustCompare(t, listed("a", a), listed("b", b)); !rowOf(t, c, probes.TPS).Primary {
		t.Error(c.Sentence)
	}
}

// The load of a run that failed counts for nothing, also where nothing is paired.
func TestFailedLoadsAreLeftOut(t *testing.T) {
	a, b := listed("a", []float64{100, 101, 102, 103, 5}), listed("b", []float64{110, 111, 112, 113})
	a.Runs[4].End = &End{Reason: "load failed: the server is gone"}
	c := mustCompare(t, a, b)
	r := rowOf(t, c, probes.TPS)
	if *r.Base.Center != 101.5 || r.N != 4 || !strings.Contains(strings.Join(c.Warnings, "\n"), "the load failed in a-e of a: left out") {
		t.Errorf("%v, %q", *r.Base.Center, c.Warnings)
	}
	near(t, "noise floor", *r.NoiseFloorPct, 100*3/101.5)
}

// What holds for one candidate alone is no verdict where two were asked about.
func TestVerdictsHoldForAllCandidates(t *testing.T) {
	base := listed("a", []float64{100, 101, 102, 103})
	good, same := listed("b", []float64{110, 111, 112, 113}), listed("c", []float64{100.1, 101.1, 101.9, 102.9})
	alone := mustCompare(t, base, good)
	if alone.Verdict != Better || strings.Contains(alone.Sentence, "adjusted") {
		t.Error(alone.Sentence)
	}
	both, err := CompareArms(base, []ArmRuns{good, same}, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// 2/70 is 0.029, twice that 0.057.
	if both.Verdict != TooFewRuns || !strings.Contains(both.Sentence, "p 0.029, 0.057 adjusted for 2 candidates") {
		t.Errorf("%s: %s", both.Verdict, both.Sentence)
	}
}

// Where runs have 0 there is no ratio: difference and interval are the amounts that they
// are, and no share of the base. Of the 36 differences 19 are below 0, the 18th and the
// 19th are 1/30 and 0.5/30.
func TestDifferencesOfRunsWithZeroAreAmounts(t *testing.T) {
	var base, cand ArmRuns
	base.Name, cand.Name = "a", "b"
	for i, v := range []float64{0, 1, 20, 0, 2, 30} {
		base.Runs = append(base.Runs, handRun("a"+string(rune('0'+i)), map[string]float64{probes.TPS: 100, probes.PageFaultsMajor: v}))
		cand.Runs = append(cand.Runs, handRun("b"+string(rune('0'+i)), map[string]float64{probes.TPS: 100, probes.PageFaultsMajor: v / 2}))
	}
	if r := rowOf(t, mustCompare(t, base, cand), probes.PageFaultsMajor); r.Interval != "−0.667/s … +0.333/s" || r.Difference != "−0.025/s" {
		t.Errorf("%s, %s", r.Difference, r.Interval)
	}
}

// Runs of two experiments have blocks of the same number.
func TestDotsJoinPairsOfOneExperiment(t *testing.T) {
	d := Dots{Title: "TPS", Arms: []string{"a", "b"}}
	for _, e := range []string{"one", "two"} {
		d.Points = append(d.Points, Dot{Run: e, Arm: 0, Value: 1, Block: 1, Experiment: e}, Dot{Run: e, Arm: 1, Value: 2, Block: 1, Experiment: e})
	}
	if n := strings.Count(string(dotSVG(d)), `class="pair"`); n != 2 {
		t.Errorf("%d lines", n)
	}
}

// Files of one name in two directories are two runs, and one file twice is one.
func TestFilesOfOneNameAreNotOneRun(t *testing.T) {
	a, b := listed("run", []float64{100}), listed("run", []float64{100})
	b.Runs[0].Meta.Created = b.Runs[0].Meta.Created.Add(time.Hour)
	if _, err := unlike([]ArmRuns{a, b}); err != nil {
		t.Error(err)
	}
	if _, err := unlike([]ArmRuns{a, a}); err == nil {
		t.Error("a run was held against itself")
	}
}

// Steps of the wall clock survive, though the monotonic clock knows nothing of them.
func TestDeltaKeepsTheWallClock(t *testing.T) {
	now := time.Now()
	first := probes.Sample{Seq: 1, T: time.Second, At: now}
	second := probes.Sample{Seq: 2, T: 2 * time.Second, At: now.Add(time.Second)}
	// A step of the clock: the wall says a minute more, the monotonic clock a second.
	wall := second.At.Round(0).Add(time.Minute)
	first.At = first.At.Round(0)
	second.At = wall
	run, _ := rerecord(t, Meta{Schema: Schema, Name: "clock"}, []probes.Sample{first, second})
	if got := run.Samples[1].At; !got.Equal(wall) {
		t.Errorf("%v, want %v", got, wall)
	}
	live := []probes.Sample{{Seq: 1, T: time.Second, At: time.Now()}, {Seq: 2, T: 2 * time.Second, At: time.Now().Add(time.Second)}}
	run, _ = rerecord(t, Meta{Schema: Schema, Name: "live"}, live)
	if got := run.Samples[1].At; !got.Equal(live[1].At.Round(0)) {
		t.Errorf("%v, want %v", got, live[1].At.Round(0))
	}
}

// A new file never replaces another, and leaves nothing beside it.
func TestWriteNew(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run")
	if err := writeNew(path, []byte("one")); err != nil {
		t.Fatal(err)
	}
	if err := writeNew(path, []byte("two")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v", err)
	}
	text, err := os.ReadFile(path)
	entries, _ := os.ReadDir(dir)
	if err != nil || string(text) != "one" || len(entries) != 1 {
		t.Errorf("%v, %q, %v", err, text, entries)
	}
}

// A line that is too long is not left out of an export in silence.
func TestExportTellsOfALongLine(t *testing.T) {
	if testing.Short() {
		t.Skip("need: more time than -short leaves")
	}
	run, err := Create(t.TempDir(), Meta{Schema: Schema, Name: "long"})
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Close(End{Reason: "finished"}); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(run.Path(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(strings.Repeat("y", longestLine+1) + "\n")
	if err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	if err := ExportRun(&strings.Builder{}, run.Path(), false); err == nil || !strings.Contains(err.Error(), "is longer than") {
		t.Errorf("%v", err)
	}
}
